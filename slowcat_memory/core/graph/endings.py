"""When a statement by rule begins to hold, and what it ends."""

import re
from datetime import datetime, tzinfo

from slowcat_memory.core.extraction.evidence import dated
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.extraction.slots import begins, implied_endings, is_exclusive
from slowcat_memory.core.extraction.stated import StatedFact, stated_by
from slowcat_memory.core.graph.readings import ReadStatement, ending
from slowcat_memory.core.language import of_any
from slowcat_memory.core.time import expressions
from slowcat_memory.records import Turn

_NEXT = re.compile(
    rf"^[\s,]*(?:{of_any(lambda one: one.facts.before_date)})?[\s,]*$", re.IGNORECASE
)


def endings_by_rule(turn: Turn, zone: tzinfo) -> list[ReadStatement]:
    """Return what a user's turn ends."""
    return [end for one in stated_by(turn) for end in endings_of(one, turn, zone)]


def endings_of(one: StatedFact, turn: Turn, zone: tzinfo) -> list[ReadStatement]:
    """Return what one statement of a turn ends, by its own words or because it implies it."""
    said = (*one.ends, *implied_endings(one, f"{one.content} {one.quote}"))
    until = since_of(one, turn, zone) if said else None
    return [ending(end, one.content, one.quote, until) for end in said]


def since_of(one: StatedFact, turn: Turn, zone: tzinfo) -> datetime | None:
    """Return the start date that a statement names, in its quote or directly behind it."""
    when = dated(one.quote, turn, "", ground((turn,), zone), zone)
    if when.day:
        return begins(one, when.day, when.since)
    text = " ".join(turn.text.split())
    _, found, rest = text.partition(" ".join(one.quote.split()))
    sentence = re.split(r"[.!?;]", rest, maxsplit=1)[0]
    every = expressions.statement_times(text, turn.at, zone) if found else ()
    times = [when for when in every if when.words in sentence and not when.vague]
    if len(times) != 1:
        return None
    before = sentence.partition(times[0].words)[0]
    near = _NEXT.match(before) and (times[0].start <= turn.at or is_exclusive(one))
    return times[0].start if near else None
