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
    found: list[Memory] = []
    for at in range(end - 1, -1, -1):
        if wanted(rows[at]):
            if len(found) == n:
                return found, cursor_of(*place(found[-1]))
            found.append(rows[at])
    return found, ""


def people(
    catalogue: Catalogue, n: int, after: str, *, every: bool
) -> tuple[list[tuple[str, int]], str]:
    """Return the ids of people with their numbers of relations, most first, and the next cursor.

    Args:
        after: The id of the last one of the page before.
        every: Also places, things and topics.
    """
    current = (one for one in catalogue.having(("kind", ENTITY)) if one.retired_at is None)
    wanted = [one for one in current if every or one.kind.partition("/")[2] in PEOPLE]
    counted = [(one, len(relations(catalogue, one.id))) for one in wanted]
    ids = [(one.id, held) for one, held in sorted(counted, key=lambda of: (-of[1], place(of[0])))]
    start = next((at + 1 for at, (id_, _) in enumerate(ids) if id_ == after), 0)
    found = ids[start : start + n]
    return found, found[-1][0] if len(ids) > start + n else ""


def relations(catalogue: Catalogue, entity: str) -> list[Memory]:
    """Return the facts that relate an entity to something, the newest first."""
    named = (one for one in catalogue.having(("about", entity)) if is_fact(one))
    known = (one for one in named if one.retired_at is None or one.valid_to is not None)
    return sorted(known, key=place, reverse=True)


def is_fact(one: Memory) -> bool:
    """Return whether it is a fact that may be shown: neither quarantined nor a repetition."""
    repeats = one.facets.get("why") == "same"
    return family(one.kind) == FACT and one.kind != QUARANTINED and not repeats


def is_current(one: Memory) -> bool:
    return one.retired_at is None and one.kind != QUARANTINED


def stored(snapshot: Snapshot, scope: str, rows: Sequence[Memory]) -> list[Memory]:
    """Return rows of a catalogue as they are stored; those that are gone since are left out."""
    return [found for one in rows if (found := snapshot.read(scope, one.id))]


def cursor_of(at: datetime, id: str) -> str:
    return f"{at.isoformat()}|{id}"


def place_of(cursor: str) -> tuple[datetime, str]:
    at, _, id = cursor.partition("|")
    return datetime.fromisoformat(at).astimezone(UTC), id
