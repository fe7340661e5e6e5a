"""What a query asks for, before anything is searched: whom, when, and what it leaves unsaid.

All by rules, in some tens of microseconds. In a language without rules a query is its words.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo

from msgspec import Struct

from slowcat_memory.core.query.follow_up import Said, with_context
from slowcat_memory.core.query.speakers import speakers_named, without_names
from slowcat_memory.core.text.phonetics import MisheardWord
from slowcat_memory.core.time.expressions import Interval, WhenOptions, asked_about, times


class AskOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is read out of a query.

    Attributes:
        names: Speakers' names: their own words count more (``rank.named``), and the query's vector
            is made without them.
        sounds: A word that nobody in the namespace has ever said, and that sounds like one of its
            names, may have been misheard: the name is searched for as well.
        sounds_weight: What such a name weighs, as a share of what it would weigh if it had been
            said: it is a guess. From 0.5 to 1 mangled questions gain by it (LoCoMo, R@10: 66.2 to
            68.1 by words alone), and clean ones lose nothing.
        times: Words for time ("last week", "in May"): what was said then counts more
            (``rank.when``).
        follow_up: A question that cannot stand alone ("and what about him?") takes the words that
            it leans on from the last turns.
        dialogue: How much the last turns turn the query's vector their way; 0 for not at all.
    """

    names: bool = True
    sounds: bool = True
    sounds_weight: float = 0.85
    times: bool = True
    follow_up: bool = True
    dialogue: float = 0.5


class Ask(Struct, frozen=True, kw_only=True):
    """A query, understood.

    Attributes:
        words: The text to search by words.
        also: Names that it may have meant, each with its share of their weight.
        meaning: The text to embed.
        named: The speakers whom it names.
        times: The times in the past that it speaks of.
    """

    words: str
    meaning: str
    also: tuple[tuple[str, float], ...] = ()
    named: tuple[str, ...] = ()
    times: tuple[Interval, ...] = ()


def understand(
    text: str,
    now: datetime,
    zone: tzinfo,
    *,
    speakers: Iterable[str] = (),
    heard: Sequence[MisheardWord] = (),
    dialogue: Sequence[Said] = (),
    language: str = "english",
    options: AskOptions,
) -> Ask:
    """Read a query.

    Args:
        text: The user's words.
        now: When they were said.
        zone: The user's time zone.
        speakers: Who speaks in the namespace.
        heard: Words of the text that may be misheard names.
        dialogue: The turns before, oldest first.
        language: Whose words for time are known.
        options: What to read out of it.

    Returns:
        What it asks for.
    """
    if options.follow_up and dialogue:
        text = with_context(text, dialogue, now)[0].text
    found: tuple[Interval, ...] = ()
    if options.times:
        found = asked_about(text, times(text, now, zone, WhenOptions(language=language)), now)
    also = tuple((one.name, options.sounds_weight * one.confidence) for one in heard)
    meant = _as_meant(text, heard)
    if not options.names:
        return Ask(words=text, meaning=meant, also=also, times=found)
    speakers = tuple(speakers)
    return Ask(
        words=text,
        meaning=without_names(meant, speakers),
        also=also,
        named=tuple(speakers_named(meant, speakers)),
        times=found,
    )


def _as_meant(text: str, heard: Sequence[MisheardWord]) -> str:
    """Put names in the place of what was heard for them, for what looks at the text as a whole."""
    for one in heard:
        words = r"\s+".join(map(re.escape, one.said.split()))
        text = re.sub(rf"\b{words}\b", lambda _: one.name, text, count=1)  # noqa: B023  # at once
    return text
