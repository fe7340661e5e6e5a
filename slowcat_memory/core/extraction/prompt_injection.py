"""Detects prompt injections: text that users read aloud, paste or repeat may contain instructions.

Errs on the safe side: no fact is extracted from a turn with a match. The turn stays in the log and
can be recalled as a quote of its speaker.
"""

import re

from slowcat_memory.core.language import LANGUAGES

_INJECTED = re.compile(
    "|".join(
        (
            *(pattern for language in LANGUAGES for pattern in language.injection),
            # chat template tokens, role headers, fences, answers in JSON
            r"\[/?(?:inst|system|sys|user|assistant)\]",
            r"<\|?\s*/?(?:im_|system|inst|end|start|s>|user|assistant)",
            r"‹[¦|]?\s*/?(?:im_|system|inst|end|start|user|assistant)",
            r"(?:^|\n|\s)#{2,}\s*\w+|={3,}|\bBEGIN\b.{0,20}\bEND\b",
            r"(?:^|\s)(?:system|assistant|developer|instructions?|tool|function)\s*[:>]",
            r"\{\s*\"(?:facts|role|name|tool|function|content|turn)\"",
            # French and Spanish, which have no other tables
            r"\b(?:ignorez?|oubliez?|ignora|olvida)\b.{0,40}\b"
            r"(?:instructions?|instrucciones|règles|reglas|consignes|todo|tout)\b",
            r"\bdésormais\b|\bà partir de maintenant\b|\ba partir de ahora\b",
            r"\b(?:tu es|vous êtes|eres) (?:maintenant|désormais|ahora)\b",
            r"\b(?:réponds?|répondez|responde) (?:toujours|siempre|seulement|solo|uniquement)\b",
        )
    ),
    re.IGNORECASE,
)


def injected(text: str) -> bool:
    """Return whether a text contains an apparent instruction to an LLM.

    False is no guarantee; therefore stored text is never used as an instruction.
    """
    return bool(_INJECTED.search(text)) if text else False
