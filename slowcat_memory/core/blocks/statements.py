"""What blocks, the profile and icebreakers are made of: dated statements, each with its sources."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo

from msgspec import Struct

from slowcat_memory.core.extraction.grounding import Ground, ground
from slowcat_memory.core.memory.kinds import family
from slowcat_memory.core.text.normalize import fingerprint, neutralise
from slowcat_memory.records import Memory, Turn

FACT, RELATION, SUMMARY = "fact", "relation", "summary"
_CONFIDENCE = {"high": 0.3, "medium": 0.2, "low": 0.0}


class Statement(Struct, frozen=True, kw_only=True):
    """Something that is known, as a line of its own.

    Attributes:
        text: The line.
        at: Since when it is so, or when it was said.
        sources: Log ids of the turns that say it.
        weight: What matters more stays where room is short.
        of: Id of the memory that says it, "" for a turn's own words.
    """

    text: str
    at: datetime
    sources: tuple[int, ...] = ()
    weight: float = 0.5
    of: str = ""


def open_to(memories: Iterable[Memory], beginning: str) -> list[Memory]:
    """Keep what holds, is of a kind, and may be told to any LLM.

    Args:
        memories: Any.
        beginning: How the kind begins: a family, or a whole kind.

    Returns:
        The oldest first. Nothing quarantined, superseded, over, or kept to this machine.
    """
    found = [
        m
        for m in memories
        if (m.kind == beginning or m.kind.startswith(f"{beginning}/"))
        and not (m.retired_at or m.valid_to or m.local_only)
        and m.kind != "fact/quarantined"
    ]
    return sorted(found, key=lambda m: (m.valid_from, m.id))


def stated(memories: Iterable[Memory]) -> list[Statement]:
    """Make statements of facts, relations or summaries; what says the same is said once.

    Args:
        memories: From ``open_to``.

    Returns:
        In their order. A person's own words weigh more than what an agent vouches for, and what is
        sure more than what is not.
    """
    made, seen = list[Statement](), set[str]()
    for memory in memories:
        words = fingerprint(memory.text)
        if not words or words in seen:
            continue
        seen.add(words)
        sure = _CONFIDENCE.get(memory.facets.get("confidence", ""), 0.1)
        drawn = 0.1 if family(memory.kind) == RELATION else 0.0
        made.append(
            Statement(
                text=" ".join(memory.text.split()),
                at=memory.valid_from,
                sources=memory.sources,
                weight=round(memory.importance + sure - drawn + (1.0 if memory.pinned else 0.0), 3),
                of=memory.id,
            )
        )
    return made


def fitted(statements: Sequence[Statement], chars: int) -> list[Statement]:
    """Leave out what matters least until the rest fits; of equals, the oldest goes first.

    Args:
        statements: In the order in which they are to stand.
        chars: Room for all lines together.

    Returns:
        What fits, in its order.
    """
    kept = {place: len(one.text) + 1 for place, one in enumerate(statements)}
    order = sorted(kept, key=lambda place: (statements[place].weight, statements[place].at, place))
    used = sum(kept.values()) - bool(kept)
    for place in order:
        if used <= chars:
            break
        used -= kept.pop(place)
    return [statements[place] for place in sorted(kept)]


def sources_of(statements: Iterable[Statement]) -> tuple[int, ...]:
    """Join the sources of statements.

    Args:
        statements: Any.

    Returns:
        Log ids, each once, in order.
    """
    return tuple(sorted({turn for one in statements for turn in one.sources}))


def day(at: datetime, zone: tzinfo) -> str:
    """Write a day so that an agent can say it: "4 May 2026"."""
    there = at.astimezone(zone)
    return f"{there.day} {there:%B %Y}"


def record(statements: Sequence[Statement], zone: tzinfo) -> str:
    """Write statements as a prompt holds them: numbered and dated, behind a fence.

    The fence holds a mark that nobody who speaks can know: it follows from all that is inside.

    Args:
        statements: Any, at least one.
        zone: The user's time zone.

    Returns:
        Their lines, numbered from 1, between two fences.
    """
    lines = [
        f"[{n}] {day(one.at, zone)}: {neutralise(one.text)}" for n, one in enumerate(statements, 1)
    ]
    mark = hashlib.blake2b("\n".join(lines).encode(), digest_size=6).hexdigest()
    return "\n".join((f"=== record {mark} ===", *lines, f"=== end of record {mark} ==="))


def bearing(statements: Sequence[Statement], speakers: Sequence[str], zone: tzinfo) -> Ground:
    """Collect what a text made of statements may name.

    Args:
        statements: What its writer saw.
        speakers: Who is spoken of.
        zone: The user's time zone.

    Returns:
        What there is to hold on to.
    """
    who = " ".join(speakers)
    return ground(
        (
            Turn(session="", scope="", speaker=who, role="user", text=one.text, at=one.at)
            for one in statements
        ),
        zone,
    )
