"""German patterns of the recall gate; its lists are in ``words.toml``."""

import re

from slowcat_memory.core.language.data import read_words
from slowcat_memory.core.language.gate import any_of, gate_words

GATE = gate_words(
    read_words(__package__)["gate"],
    about_now=any_of(
        r"\b(?:heute|morgen|übermorgen|diese[nrs]? (?:woche|wochenende|monat|jahr)|"
        r"nächste[nrs]? (?:woche|wochenende|monat|jahr)|wie lange\b.*\b(?:her|noch|seit|bis)|"
        r"wie viele (?:stunden|tage|wochen|monate|jahre)\b.*\b(?:bis|noch|her|seit))\b"
    ),
    memory=any_of(
        r"\b(?:erinnerst|entsinnst) du dich\b|\bkannst du dich erinnern\b|\bdich (?:noch "
        r")?erinnern\b",
        r"\bweisst du (?:noch|wie|wo|was|wer|wann|welche\w*|ob|etwas über)?\b.*"
        r"\b(?:ich|mein\w*|wir|unser\w*|mir|mich)\b",
        r"\bweisst du noch\b",
        r"\bkennst du (?:mein\w*|mich|unser\w*)\b",
        r"\b(?:habe?|hatte|haben|hatten) (?:ich|wir)\b",
        r"\b(?:ich|wir|du) .*(?:erzählt|gesagt|erwähnt|besprochen|gesprochen|empfohlen|"
        r"vorgeschlagen|versprochen|gemeint)\b",
        r"\bhast du .*(?:gesagt|erzählt|erwähnt|empfohlen|vorgeschlagen|versprochen|gemeint)\b",
        r"\b(?:war|waren|bin|wollte|wollten|sollte|ging|fuhr|mag|esse|trinke|wohne|arbeite|heisse"
        r"|nehme) (?:ich|wir)\b",
        r"\b(?:ist|war|sind|waren|heisst|heissen|hat|hatte|wohnt|arbeitet|mag|kommt|wird|heute"
        r"|von|mit|über) (?:mein|unser)(?:e|er|em|en|es|s)?\b",
        r"\b(?:letztes mal|beim letzten mal|letzte\w* (?:woche|mal|monat|jahr|nacht|sommer|winter|"
        r"wochenende|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)|früher|vorhin|"
        r"neulich|gestern|vorgestern|damals|vor \w+ (?:tag\w*|woche\w*|monat\w*|jahr\w*))\b",
        r"\büber mich\b|\bvon mir\b|\bwer bin ich\b|\bmein name\b",
    ),
    advice=any_of(
        r"(?:wie|was|wo|wann|wen|wem|womit|welche\w*)?(?: \w+){0,2} ?\b(?:kann|könnte|soll|sollte|"
        r"muss|müsste|darf|dürfte) (?:ich|wir|man)\b(?! (?:dir|dich))",
        r"(?:kannst|könntest|würdest) du (?:mir |uns |bitte )*(?:helfen|ein\w*|etwas|sagen wie "
        r"man)\b",
    ),
    general=any_of(
        r"\bwie (?:hoch|weit|gross|tief|schwer|schnell|heiss|lang|viele menschen) (?:ist|sind|"
        r"war)\b",
        r"\b(?:hauptstadt|einwohner|präsident\w*|kanzler\w*|könig\w*|währung|wetter|entfernung|"
        r"bedeutung|definition|höhe|fläche|mehrzahl|quadratwurzel|wechselkurs|nachrichten) (?:von|"
        r"in|der|des|zwischen|für|aus)\b",
        r"\bwer (?:hat|ist|war)\b.*\b(?:geschrieben|erfunden|gemalt|komponiert|entdeckt|gegründet|"
        r"gebaut|gewonnen|kanzler\w*|präsident\w*|könig\w*|papst)\b",
        r"\bwas (?:bedeutet|heisst)\b|\bwie sagt man\b|\bübersetz",
        r"\b(?:erzähl\w*|sing\w*|lies) (?:mir |uns )?(?:einen?|noch einen?|ein) (?:witz|märchen|"
        r"geschichte|lied)",
        r"\b(?:wetter|nachrichten)\b",
    ),
    named=re.compile(
        r"(?i:\b(?:hat|hatte|ist|war|wird|wurde|will|wollte|kann|konnte|mag|heißt|wohnt|arbeitet|"
        r"macht|kommt|geht|ging|kam|sagte|isst|trinkt|findet|"
        r"fand)\s+)(?=[^\W\d_a-zäöüß]\w*(?:['’]?s)?\b(?!\s+(?:von|in|der|des)\b))"
    ),
)
