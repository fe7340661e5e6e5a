"""What a query asks for, before anything is searched: whom, when, and what it leaves unsaid.

All by rules, in some tens of microseconds. In a language without rules a query is its words.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo

from msgspec import Struct

from slowcat_memory.core.names import speakers_named, without_names
from slowcat_memory.core.queries import Said, with_context
from slowcat_memory.core.when import Interval, WhenOptions, asked_about, times


class AskOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is read out of a query.

    Attributes:
        names: Speakers' names: their own words count more (``rank.named``), and the query's vector
            is made without them.
        times: Words for time ("last week", "in May"): what was said then counts more
            (``rank.when``).
        follow_up: A question that cannot stand alone ("and what about him?") takes the words that
            it leans on from the last turns.
        dialogue: How much the last turns turn the query's vector their way; 0 for not at all.
    """

    names: bool = True
    times: bool = True
    follow_up: bool = True
    dialogue: float = 0.5


class Ask(Struct, frozen=True, kw_only=True):
    """A query, understood.

    Attributes:
        words: The text to search by words.
        meaning: The text to embed.
        named: The speakers whom it names.
        times: The times in the past that it speaks of.
    """

    words: str
    meaning: str
    named: tuple[str, ...] = ()
    times: tuple[Interval, ...] = ()


def understand(
    text: str,
    now: datetime,
    zone: tzinfo,
    *,
    speakers: Iterable[str] = (),
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
    if not options.names:
        return Ask(words=text, meaning=text, times=found)
    speakers = tuple(speakers)
    return Ask(
        words=text,
        meaning=without_names(text, speakers),
        named=tuple(speakers_named(text, speakers)),
        times=found,
    )
