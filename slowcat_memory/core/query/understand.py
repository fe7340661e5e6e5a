"""Parses a query before a search: named speakers, times, and the turns that a follow-up refers to.

All by rules, in some tens of microseconds. In a language without rules a query is only its words.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Annotated

from msgspec import Meta, Struct

from slowcat_memory.core.language.english.vocabulary import PRONOUNS
from slowcat_memory.core.query.speakers import speakers_named, without_names
from slowcat_memory.core.query.substance import asks_about_talk
from slowcat_memory.core.text.normalize import ASKING, WORD, asking, content_words
from slowcat_memory.core.text.phonetics import MisheardWord
from slowcat_memory.core.time.expressions import Interval, WhenOptions, asked_about, times

CONTEXT_WORDS = 8  # words that a follow-up takes from the dialogue
CONTEXT_S = 600.0  # age from which follow-ups no longer refer to a turn
_LEANS = re.compile(  # beginnings of a follow-up
    r"(?:so |okay |ok |oh |hm+ |yes |no )?(?:and|or|but|what about|how about|why not|which one|"
    r"what else|who else|where else|anything else|tell me more|more about)\b",
    re.IGNORECASE,
)
_JOINS = ("and", "or", "but")
_CAPITAL = re.compile(r"[^\W\d_a-z]")


class AskOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a query is parsed.

    Attributes:
        names: Find speakers' names: the named speaker's own words count more (``rank.named``), and
            the query's vector is made without the name.
        sounds: Search also for names that a word may be misheard for: a word that was never said in
            the namespace and sounds like one of its names.
        sounds_weight: Weight of such a name, as a share of a spoken name's; lower it for a better
            STT. From 0.5 to 1 misheard questions improve (LoCoMo, R@10: 66.2 to 68.1 by words
            alone), and others lose nothing.
        times: Find time expressions ("last week", "in May"): memories of that time count more
            (``rank.when``).
        follow_up: Add words of the last turns to a follow-up ("and what about him?").
        dialogue: Weight of the last two turns' vectors in the query's vector; 0 for none. Lower it
            if users change the subject often.
    """

    names: bool = True
    sounds: bool = True
    sounds_weight: Annotated[float, Meta(ge=0, le=1)] = 0.85
    times: bool = True
    follow_up: bool = True
    dialogue: Annotated[float, Meta(ge=0, le=10)] = 0.5


class DialogueTurn(Struct, frozen=True):
    """A turn of the dialogue before a query; ``memory`` is the id of its memory, or ""."""

    text: str
    at: datetime
    memory: str = ""


class ParsedQuery(Struct, frozen=True, kw_only=True):
    """A parsed query.

    Attributes:
        words: The text for the lexical search.
        also: Names possibly meant, each with its share of a spoken name's weight.
        meaning: The text to embed.
        named: The speakers that it names.
        times: The past times that it mentions.
        about_talk: It is about what was asked: earlier questions answer it.
    """

    words: str
    meaning: str
    also: tuple[tuple[str, float], ...] = ()
    named: tuple[str, ...] = ()
    times: tuple[Interval, ...] = ()
    about_talk: bool = False


def parse_query(
    text: str,
    now: datetime,
    zone: tzinfo,
    *,
    speakers: Iterable[str] = (),
    heard: Sequence[MisheardWord] = (),
    dialogue: Sequence[DialogueTurn] = (),
    language: str = "english",
    options: AskOptions,
) -> ParsedQuery:
    """Parse a query; ``heard`` are possibly misheard names, ``dialogue`` is oldest first."""
    if options.follow_up and dialogue:
        text = with_context(text, dialogue, now)
    found: tuple[Interval, ...] = ()
    if options.times and asking(text):  # times in statements do not help
        found = asked_about(text, times(text, now, zone, WhenOptions(language=language)), now)
    about_talk = asks_about_talk(text, language)
    also = tuple((one.name, options.sounds_weight * one.confidence) for one in heard)
    corrected = _with_heard_names(text, heard)
    if not options.names:
        return ParsedQuery(
            words=text, meaning=corrected, also=also, times=found, about_talk=about_talk
        )
    speakers = tuple(speakers)
    return ParsedQuery(
        words=text,
        meaning=without_names(corrected, speakers),
        also=also,
        named=tuple(speakers_named(corrected, speakers)),
        times=found,
        about_talk=about_talk,
    )


def _with_heard_names(text: str, heard: Sequence[MisheardWord]) -> str:
    """Replace misheard words by the names, for checks on the whole text."""
    for one in heard:
        words = r"\s+".join(map(re.escape, one.said.split()))
        text = re.sub(rf"\b{words}\b", lambda _: one.name, text, count=1)  # noqa: B023  # at once
    return text


def with_context(text: str, dialogue: Sequence[DialogueTurn], now: datetime) -> str:
    """Complete a follow-up with up to ``CONTEXT_WORDS`` words of the dialogue's last two turns.

    Names come first, then the longest words. Other texts are unchanged. ``dialogue`` is oldest
    first.
    """
    if not leans(text):
        return text
    oldest = now - timedelta(seconds=CONTEXT_S)
    asked = {word.lower() for word in WORD.findall(text)}
    found: dict[str, float] = {}
    for turn in dialogue[-2:]:
        for word in content_words(turn.text) if turn.at >= oldest else ():
            if word.lower() not in asked:
                name = bool(_CAPITAL.match(word)) and not _begins_sentence(turn.text, word)
                found[word] = len(word) + (1e6 if name else 0.0)
    best = sorted(found, key=lambda word: -found[word])[:CONTEXT_WORDS]
    return " ".join([text, *(word for word in found if word in best)])


def leans(text: str) -> bool:
    """Return whether a question depends on the dialogue ("and what about him?", "why?")."""
    words = [word.lower().replace("’", "'") for word in WORD.findall(text)]
    if not words or len(words) > 14:
        return False
    content = content_words(text)
    bare = {word.partition("'")[0] for word in words}
    joined = bool(_LEANS.match(text)) and (words[0] not in _JOINS or "?" in text or len(words) < 6)
    asks = "?" in text or words[0] in ASKING or joined
    pronoun = not PRONOUNS.isdisjoint(bare)
    if not content:  # "why?", but not "how are you"
        return asks and (pronoun or bare.isdisjoint(("i", "you")))
    if any(_CAPITAL.match(word) for word in content[1:]) and not joined:
        return False
    if joined:
        return len(content) <= 2 or (pronoun and len(content) <= 3)
    return asks and pronoun and len(content) <= 1 and bare.isdisjoint(("i", "my", "me"))


def _begins_sentence(text: str, word: str) -> bool:
    """Return whether every occurrence of a word begins a sentence."""
    return all(
        not text[: match.start()].strip() or text[: match.start()].rstrip()[-1] in ".!?…\n"
        for match in re.finditer(rf"\b{re.escape(word)}\b", text)
    )
