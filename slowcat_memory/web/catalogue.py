"""Pages of a catalogue: some 50 rows, the newest first, each with its place as a cursor."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from slowcat_memory.core.catalogue import Catalogue, place
from slowcat_memory.core.memory import ENTITY, FACT, QUARANTINED, family
from slowcat_memory.records import Memory
from slowcat_memory.store import Snapshot

PEOPLE = ("person", "pet")


def newest(
    rows: Sequence[Memory],
    wanted: Callable[[Memory], bool],
    n: int,
    after: str = "",
    upto: datetime | None = None,
) -> tuple[list[Memory], str]:
    """Return the newest ``n`` rows that are wanted, and the cursor of the page behind them.

    Args:
        rows: In the order of time.
        after: A cursor, "" for the first page.
        upto: Only what is true since this moment, or since before.
    """
    end = bisect_left(rows, place_of(after), key=place) if after else len(rows)
    if upto is not None:
        end = min(end, bisect_left(rows, (upto, "\U0010ffff"), key=place))
    memories: list[Memory] = []
    for at in range(end - 1, -1, -1):
        if wanted(rows[at]):
            if len(memories) == n:
                return memories, cursor_of(*place(memories[-1]))
            memories.append(rows[at])
    return memories, ""


def people(
    catalogue: Catalogue, n: int, after: str, *, every: bool
) -> tuple[list[tuple[str, int]], str]:
    """Return the ids of people with their numbers of relations, most first, and the next cursor.

    Args:
        after: The id of the last one of the page before.
        every: Also places, things and topics.
    """
    current = (row for row in catalogue.having(("kind", ENTITY)) if row.retired_at is None)
    wanted = [row for row in current if every or row.kind.partition("/")[2] in PEOPLE]
    counted = [(row, len(relations(catalogue, row.id))) for row in wanted]
    ids = [(row.id, held) for row, held in sorted(counted, key=lambda of: (-of[1], place(of[0])))]
    start = next((at + 1 for at, (id_, _) in enumerate(ids) if id_ == after), 0)
    part = ids[start : start + n]
    return part, part[-1][0] if len(ids) > start + n else ""


def relations(catalogue: Catalogue, entity: str) -> list[Memory]:
    """Return the facts that relate an entity to something, the newest first."""
    named = (fact for fact in catalogue.having(("about", entity)) if is_fact(fact))
    known = (fact for fact in named if fact.retired_at is None or fact.valid_to is not None)
    return sorted(known, key=place, reverse=True)


def is_fact(memory: Memory) -> bool:
    """Return whether it is a fact that may be shown: neither quarantined nor a repetition."""
    repeats = memory.facets.get("why") == "same"
    return family(memory.kind) == FACT and memory.kind != QUARANTINED and not repeats


def is_current(memory: Memory) -> bool:
    return memory.retired_at is None and memory.kind != QUARANTINED


def stored(snapshot: Snapshot, scope: str, rows: Sequence[Memory]) -> list[Memory]:
    """Return rows of a catalogue as they are stored; those that are gone since are left out."""
    return [memory for row in rows if (memory := snapshot.read(scope, row.id))]


def cursor_of(at: datetime, id: str) -> str:
    return f"{at.isoformat()}|{id}"


def place_of(cursor: str) -> tuple[datetime, str]:
    at, _, id = cursor.partition("|")
    return datetime.fromisoformat(at).astimezone(UTC), id
