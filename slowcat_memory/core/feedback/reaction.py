"""Recognises reactions to a reply: the user corrects or confirms it. By rule, precision first.

"No, I meant the other Anna" right after a reply means that the memories recalled for it missed. Only
the beginning of an utterance is matched, literally: "no idea", "no, thanks" and "I said hello to her"
say nothing about a reply. Voice commands ("no, it's Anna not Hannah") belong to ``core.commands``.
"""

import re
from typing import Literal

from msgspec import Struct

Verdict = Literal["wrong", "right"]
MOST_WORDS = 40  # of an utterance; a longer one goes on to other things
MOST_RIGHT = 6  # words of one that confirms
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'"})


class Reaction(Struct, frozen=True):
    """A reaction to a reply.

    Attributes:
        verdict: "wrong" or "right".
        instead: The correction, in lower case without punctuation; "" if there is none.
    """

    verdict: Verdict
    instead: str = ""


class ReactionWords(Struct, frozen=True, kw_only=True):
    """A language's table: patterns over words in lower case, parted by single spaces.

    Attributes:
        lead: Words in front that say nothing by themselves.
        wrong: Beginnings that correct whatever follows, which is what is right.
        denied: Beginnings that correct only behind one of ``no``.
        no: Words that deny.
        right: Whole utterances that confirm.
    """

    lead: str
    wrong: tuple[str, ...]
    denied: tuple[str, ...]
    no: str
    right: tuple[str, ...]


ENGLISH = ReactionWords(
    lead="oh|um|uh|er|erm|hm|hmm|well|wait|sorry|actually|hang on|hold on|hey|but|okay|ok",
    no="no|nope|nah",
    wrong=(
        "(?:that's|thats|that is|that was) not what i (?:meant|said|asked(?: for| about| you)?|was asking(?: for| about)?)",
        "(?:that|this) (?:isn't|wasn't) what i (?:meant|said|asked(?: for| about| you)?|was asking(?: for| about)?)",
        "you(?:'ve| have)? (?:misunderstood|misheard)(?: me)?",
        "you(?:'re| are) (?:mixing|confusing) (?:that|this|it|them|him|her)(?: up)?(?: with (?:something|someone|somebody) else)?",
        "you(?:'re| are) thinking of (?:something|someone|somebody|another|a different|the wrong)",
        "i didn't (?:mean|say|ask(?: for| about)?) that",
        "not that one",
        "wrong (?:one|person|day|time|place|year)",
    ),
    denied=(
        "that's wrong|thats wrong|that is wrong|wrong",
        "i (?:said|meant|mean(?! (?:it|that|i|you|no|yes)\\b|(?: \\S+'))|was talking about|am talking about|was asking about|asked about|asked)",
        "i'm (?:talking|asking) about",
        "(?:it|that) (?:was|is)(?! (?:fine|okay|ok|good|great|all|alright|not necessary|enough|nothing)\\b)",
        "(?:it's|its|that's|thats)(?! (?:fine|okay|ok|good|great|all|alright|not necessary|enough|nothing|a joke)\\b)",
        "not (?:that|him|her|them|this|those)",
        "(?:the|my) other (?:one|\\S+)",
        "you(?:'re| are) wrong",
    ),
    right=(
        "(?:yes|yeah|yep|yup)? ?(?:exactly|precisely|correct|that's (?:it|right|correct|the one)|thats (?:it|right|the one)|that is (?:it|right|correct))",
        "(?:yes|yeah|yep|yup) that one",
        "(?:that's|thats|that is) (?:exactly )?what i meant",
        "you(?:'re| are) right",
    ),
)

GERMAN = ReactionWords(
    lead="oh|ach|äh|ähm|hm|naja|moment|warte|sorry|entschuldigung|aber|okay|ok|also",
    no="nein|nee|ne|nö",
    wrong=(
        "(?:das|so) (?:habe|hab|hatte) ich nicht (?:gemeint|gesagt|gefragt)",
        "das (?:meine|meinte) ich nicht",
        "das war nicht meine frage",
        "(?:danach|das) (?:habe|hab|hatte) ich nicht gefragt",
        "du (?:hast mich|hast das) (?:falsch|missverstanden)(?: verstanden)?",
        "du verwechselst (?:das|die|ihn|sie|da)",
        "falsche[rs]? (?:person|tag|ort|jahr|zeit)",
    ),
    denied=(
        "das (?:ist|war) falsch|das stimmt nicht|falsch",
        "ich (?:meine|meinte|sagte|sprach von|fragte nach)",
        "ich (?:habe|hab|hatte)(?! (?:keine?|kein|nichts)\\b)",
        "(?:es|das) war(?! (?:gut|okay|ok|alles|nichts|schön|schon gut|nicht nötig)\\b)",
        "(?:es|das) ist(?! (?:gut|okay|ok|alles|nichts|schön|schon gut|nicht nötig)\\b)",
        "nicht (?:der|die|das|den|ihn|sie)",
        "(?:der|die|das|den) andere[nrs]?",
    ),
    right=(
        "(?:ja )?(?:genau|richtig|stimmt|korrekt|das stimmt|so ist es|das ist richtig)(?: genau)?",
        "(?:ja )?(?:genau )?(?:das|den|die) (?:meinte|meine) ich",
        "du hast recht",
    ),
)


class _Compiled(Struct, frozen=True):
    wrong: re.Pattern[str]
    right: re.Pattern[str]


def _compiled(table: ReactionWords) -> _Compiled:
    lead, no = f"(?:(?:{table.lead}) )*", f"(?:(?:{table.no}) )+"
    wrong, denied = "|".join(table.wrong), "|".join(table.denied)
    also = f"(?:(?:{table.lead}) )*"
    return _Compiled(
        re.compile(f"{lead}(?:(?:{no}{also})?(?:{wrong})|{no}{also}(?:{denied}))(?: (?P<x>.+))?"),
        re.compile(f"{lead}(?:{'|'.join(table.right)})(?: (?:thanks|thank you|danke))?"),
    )


TABLES = tuple(map(_compiled, (ENGLISH, GERMAN)))


def reaction(text: str) -> Reaction | None:
    """Return how an utterance reacts to the reply before it, None if it does not.

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
