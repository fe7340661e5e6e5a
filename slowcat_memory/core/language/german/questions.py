"""German questions without a mark: an asking word, or a verb before its subject."""

import re

ASKS = re.compile(
    r"(?:und|ach|du|sag mal|sag|also|äh|hey)?,?\s*(?:"
    r"(?:wer|wem|wen|wessen|wo|wohin|woher|wann|wie|wieso|weshalb|warum|welche[rnsm]?|worüber|womit|"
    r"wovon|wofür)\b"
    r"|was (?:hab|hat|war|ist|wei|steht|gibt|gab|mach|wollt|soll|kann|weiß|mein|sag|isst|mag|wird)"
    r"|(?:hab|habe|hast|hat|hatte|hatten|haben|bin|bist|ist|sind|war|waren|weißt|kennst|kannst|"
    r"könntest|könnten|können|erinnerst|gibt|gab|wird|wollte|muss|soll)\s+(?:ich|du|er|sie|es|wir|"
    r"ihr|man|mein|meine|unser|unsere|die|der|das)\b)",
    re.IGNORECASE,
)
