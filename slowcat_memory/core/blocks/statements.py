"""Dated lines with sources: the input of blocks, the profile and icebreakers."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo

from msgspec import Struct

from slowcat_memory.core.disclosure import is_uncertain, is_withheld
from slowcat_memory.core.extraction.grounding import Ground, ground
from slowcat_memory.core.extraction.prompt_record import between_fences
from slowcat_memory.core.memory import SUMMARY, family
from slowcat_memory.core.render.speech import full_date
from slowcat_memory.core.text.normalize import fingerprint, neutralise
from slowcat_memory.core.validity import is_true
from slowcat_memory.records import Memory, Turn

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CONFIDENCE = {"high": 0.3, "medium": 0.2, "low": 0.0}


class SourcedLine(Struct, frozen=True, kw_only=True):
    """A known statement as a line.

    Attributes:
        at: Since when it is true, or when it was said.
        sources: Log ids of the turns that state it.
        weight: Lines of less weight are dropped first when room is short.
        of: Id of the memory that states it, "" for a turn's own words.
        also: Ids of further memories that it was made from.
    """

    text: str
    at: datetime
    sources: tuple[int, ...] = ()
    weight: float = 0.5
    of: str = ""
    also: tuple[str, ...] = ()

    @classmethod
    def stated(cls, memory: Memory, text: str, weight: float = 0.5) -> "SourcedLine":
        """Return a memory's statement in some words."""
        of, at = memory.id, memory.valid_from
        return cls(text=text, at=at, sources=memory.sources, weight=weight, of=of)


def valid_of_kind(
    memories: Iterable[Memory], kind: str, now: datetime | None = None
) -> list[Memory]:
    """Return the valid memories of a kind that any LLM may see, oldest first.

    Quarantined, superseded, ended, local-only, muted and uncertain ones are omitted.

    Args:
        kind: A family ("fact"), or a whole kind ("fact/event").
        now: When they must hold, begun and not ended; None omits all that have an end.
    """
    rows = [
        m
        for m in memories
        if (m.kind == kind or m.kind.startswith(f"{kind}/"))
        and not (m.retired_at or is_withheld(m))
        and (m.valid_to is None if now is None else is_true(m, now))
        and m.kind != "fact/quarantined"
        and not is_uncertain(m)
    ]
    return sorted(rows, key=lambda m: (m.valid_from, m.id))


def is_ruled(memory: Memory) -> bool:
    """Return whether rules alone made a memory, which nobody pinned."""
    return memory.made is not None and not (memory.made.model or memory.pinned)


def to_lines(memories: Iterable[Memory]) -> list[SourcedLine]:
    """Convert facts or summaries to lines, without repetitions, in order.

    A user's own words weigh more than an agent's, and certain statements more than uncertain ones.
    """
    lines, seen = list[SourcedLine](), set[str]()
    for memory in memories:
        words = fingerprint(memory.text)
        if not words or words in seen:
            continue
        seen.add(words)
        sure = _CONFIDENCE[memory.statement.confidence]
        derived = 0.2 if family(memory.kind) == SUMMARY else 0.0
        weight = round(memory.importance + sure - derived + memory.pinned, 3)
        lines.append(SourcedLine.stated(memory, " ".join(memory.text.split()), weight))
    return lines


def fit(lines: Sequence[SourcedLine], chars: int) -> list[SourcedLine]:
    """Drop the lines of least weight (of equals, the oldest) until the rest fits, in order."""
    kept = {place: len(line.text) + 1 for place, line in enumerate(lines)}
    order = sorted(kept, key=lambda place: (lines[place].weight, lines[place].at, place))
    used = sum(kept.values()) - bool(kept)
    for place in order:
        if used <= chars:
            break
        used -= kept.pop(place)
    return [lines[place] for place in sorted(kept)]


def sources_of(lines: Iterable[SourcedLine]) -> tuple[int, ...]:
    """Return the distinct log ids of all sources, in order."""
    return tuple(sorted({turn for line in lines for turn in line.sources}))


def memories_of(lines: Iterable[SourcedLine]) -> tuple[str, ...]:
    """Return the distinct ids of the memories that lines were made from, in order."""
    return tuple(dict.fromkeys(id for line in lines for id in (line.of, *line.also) if id))


def record(lines: Sequence[SourcedLine], zone: tzinfo) -> str:
    """Return lines for a prompt: dated, unless true since ever, and numbered from 1, in a fence."""
    since = (f"{full_date(line.at, zone)}: " if line.at.year > 1 else "" for line in lines)
    return between_fences(
        f"[{n}] {day}{neutralise(line.text)}"
        for n, (line, day) in enumerate(zip(lines, since, strict=True), 1)
    )


def ground_of(lines: Sequence[SourcedLine], speakers: Sequence[str], zone: tzinfo) -> Ground:
    """Collect the names (with ``speakers``) and dates that a text made of lines may contain.

    A line that is true since ever is read as of the latest one.
    """
    who = " ".join(speakers)
    latest = max((line.at for line in lines if line.at.year > 1), default=EPOCH)
    days = (line.at if line.at.year > 1 else latest for line in lines)
    return ground(
        (
            Turn(session="", scope="", speaker=who, role="user", text=line.text, at=day)
            for line, day in zip(lines, days, strict=True)
        ),
        zone,
    )
