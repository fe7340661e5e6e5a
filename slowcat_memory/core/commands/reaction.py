"""Recognises corrections and confirmations of a reply: by rule, precision first.

"No, I meant the other Anna" right after a reply means that the memories recalled for it were wrong.
Only the beginning of an utterance is matched, literally: "no idea", "no, thanks" and "I said hello
to her" are no reactions. Voice commands ("no, it's Anna not Hannah") belong to ``core.commands``.
"""

import re
from typing import Literal

from msgspec import Struct

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.data import lazy_pattern
from slowcat_memory.core.language.table import ReactionWords

Verdict = Literal["wrong", "right"]
MOST_WORDS = 40  # of an utterance; longer ones have other subjects as well
MOST_RIGHT = 6  # words of a confirmation
_WORD = lazy_pattern(r"[^\W_]+(?:'[^\W_]+)*")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'"})


class Reaction(Struct, frozen=True):
    """A correction ("wrong") or confirmation ("right") of a reply.

    ``instead`` is the correction, in lower case without punctuation, or "".
    """

    verdict: Verdict
    instead: str = ""


class _Compiled(Struct, frozen=True):
    wrong: re.Pattern[str]
    right: re.Pattern[str]


def _compiled(table: ReactionWords) -> _Compiled:
    lead, no = f"(?:(?:{table.lead}) )*", f"(?:(?:{table.no}) )+"
    wrong, denied = "|".join(table.wrong), "|".join(table.denied)
    also = f"(?:(?:{table.lead}) )*"
    return _Compiled(
        lazy_pattern(f"{lead}(?:(?:{no}{also})?(?:{wrong})|{no}{also}(?:{denied}))(?: (?P<x>.+))?"),
        lazy_pattern(f"{lead}(?:{'|'.join(table.right)})(?: (?:{_THANKS}))?"),
    )


_THANKS = "|".join(one.reactions.thanks for one in LANGUAGES)
TABLES = tuple(_compiled(one.reactions) for one in LANGUAGES)


def reaction(text: str) -> Reaction | None:
    """Return the reaction in an utterance to the previous reply, or None.

    The tables of all languages are tried: none of them matches words of another language.
    """
    if text.rstrip(" \"'”“»«").endswith("?"):
        return None
    words = _WORD.findall(text.translate(_QUOTES).lower())
    if not words or len(words) > MOST_WORDS:
        return None
    line = " ".join(words)
    for table in TABLES:
        if found := table.wrong.fullmatch(line):
            return Reaction("wrong", found["x"] or "")
        if len(words) <= MOST_RIGHT and table.right.fullmatch(line):
            return Reaction("right")
    return None
