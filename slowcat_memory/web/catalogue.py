"""A scope's derived memories in order of time, as ids: what a view needs to choose 50 rows.

The store keeps memories by id, and ids are hashes. So the page's process reads each derived memory
once, when a scope is first looked at, and from then on only those that changed; texts are not kept.
Turns are not among them: the store has these in order.
"""

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from msgspec import Struct

from slowcat_memory.core.memory import ENTITY, FACT, QUARANTINED, READING, RELATION, family
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory
from slowcat_memory.store import Snapshot

Place = tuple[datetime, str]  # since when it is true, and its id
PEOPLE = ("person", "pet")


class Listed(Struct, frozen=True, kw_only=True, gc=False):
    """What the catalogue keeps of a memory.

    Attributes:
        known: Since when it is believed.
        subject: Of a relation, an entity's id; of a fact, the name folded.
        object: Of a relation, an entity's id or a value.
        name: Of an entity.
        repeats: Whether it says the same as another fact.
    """

    id: str
    kind: str
    since: datetime
    until: datetime | None
    known: datetime
    retired: datetime | None
    subject: str = ""
    object: str = ""
    name: str = ""
    repeats: bool = False
    pinned: bool = False
    muted: bool = False
    local_only: bool = False

    @property
    def place(self) -> Place:
        return self.since, self.id

    @property
    def family(self) -> str:
        return family(self.kind)

    def held(self, at: datetime) -> bool:
        """Return whether it was true at a moment, by what is known now."""
        end = self.until or self.retired
        return self.since <= at and (end is None or end > at)

    def believed(self, at: datetime) -> bool:
        """Return whether it was believed at a moment."""
        return self.known <= at and (self.retired is None or self.retired > at)


def listed(memory: Memory) -> Listed:
    facets, kind, said = memory.facets, family(memory.kind), memory.statement
    return Listed(
        id=memory.id,
        kind=memory.kind,
        since=memory.valid_from,
        until=memory.valid_to,
        known=memory.recorded_at or memory.valid_from,
        retired=memory.retired_at,
        subject=fold(said.subject) if kind == FACT else said.subject,
        object=said.object if kind == RELATION else "",
        name=facets.get("name", "") if kind == ENTITY else "",
        repeats=facets.get("why") == "same",
        pinned=memory.pinned,
        muted=memory.muted,
        local_only=memory.local_only,
    )


class Catalogue:
    """The derived memories of one scope, a view of a ``WorkingSet``. Safe to use from any thread.

    Attributes:
        read: How many rows were read so far.
    """

    beginnings = ("",)

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._by_id: dict[str, Listed] = {}
        self._order: list[Place] = []  # with those of what was dropped
        self._is_sorted = True
        self._around = defaultdict[str, set[str]](set)  # relations by the entities that they name
        self.read = 0

    def put(self, memory: Memory, snapshot: Snapshot) -> None:
        with self._lock:
            self.drop(memory.id)
            self.read += 1
            if family(memory.kind) == READING:
                return
            self._by_id[memory.id] = one = listed(memory)
            self._order.append(one.place)
            self._is_sorted = False
            if one.family == RELATION:
                for entity in (one.subject, one.object):
                    self._around[entity].add(one.id)

    def drop(self, id: str) -> None:
        with self._lock:
            if one := self._by_id.pop(id, None):
                for entity in (one.subject, one.object):
                    self._around[entity].discard(id)

    # ------------------------------------------------------------------- pages

    def page(
        self,
        wanted: Callable[[Listed], bool],
        n: int,
        after: str = "",
        upto: datetime | None = None,
    ) -> tuple[list[Listed], str]:
        """Return the newest ``n`` that are wanted, and the cursor of the page behind them.

        Args:
            after: A cursor, "" for the first page.
            upto: Only what is true since this moment, or since before.
        """
        with self._lock:
            found: list[Listed] = []
            for one in self._newest_first(after, upto):
                if wanted(one):
                    if len(found) == n:
                        return found, cursor_of(*found[-1].place)
                    found.append(one)
            return found, ""

    def _newest_first(self, after: str, upto: datetime | None) -> Iterator[Listed]:
        if not self._is_sorted:
            self._order.sort()
            self._is_sorted = True
        end, last = len(self._order), None
        if after:
            end = bisect_left(self._order, place_of(after))
        if upto is not None:
            end = min(end, bisect_left(self._order, (upto, "\U0010ffff")))
        for at in range(end - 1, -1, -1):
            place = self._order[at]
            one = self._by_id.get(place[1])
            if one is not None and one.place == place != last:  # others were dropped or put again
                yield one
            last = place

    def changes(self) -> tuple[list[datetime], list[datetime]]:
        """Return since when, and until when, the shown facts are true, as far as there is a day."""
        with self._lock:
            facts = [one for one in self._by_id.values() if is_fact(one)]
        ended = (one.until or one.retired for one in facts)
        return [one.since for one in facts if one.since.year > 1], [at for at in ended if at]

    def counts(self) -> Counter[str]:
        """Return how many current memories there are of each kind."""
        with self._lock:
            return Counter(one.kind for one in self._by_id.values() if is_current(one))

    def get(self, id_: str) -> Listed | None:
        with self._lock:
            return self._by_id.get(id_)

    # ------------------------------------------------------------------- people

    def people(self, every: bool, n: int, after: str = "") -> tuple[list[tuple[Listed, int]], str]:
        """Return people with their numbers of relations, most first, and the next page's cursor.

        Args:
            every: Also places, things and topics.
            after: The id of the last one of the page before.
        """
        with self._lock:
            known = [one for one in self._by_id.values() if one.family == ENTITY]
            wanted = [one for one in known if one.retired is None and (every or _is_person(one))]
            counted = [(one, len(self._about(one.id))) for one in wanted]
        counted.sort(key=lambda pair: (-pair[1], fold(pair[0].name), pair[0].id))
        start = next((i + 1 for i, (one, _) in enumerate(counted) if one.id == after), 0)
        found = counted[start : start + n]
        return found, found[-1][0].id if len(counted) > start + n else ""

    def relations(self, entity: str) -> list[Listed]:
        """Return the believed relations of an entity, the newest first."""
        with self._lock:
            return sorted(self._about(entity), key=lambda one: one.place, reverse=True)

    def _about(self, entity: str) -> list[Listed]:
        known = (self._by_id[id_] for id_ in self._around.get(entity, ()))
        return [one for one in known if one.retired is None]

    def facts_about(self, names: Iterable[str], n: int) -> list[Listed]:
        """Return the newest facts whose subject has one of some names."""
        wanted = frozenset(map(fold, names))
        return self.page(lambda one: is_fact(one) and one.subject in wanted, n)[0]


def is_fact(one: Listed) -> bool:
    """Return whether it is a fact that may be shown: neither quarantined nor a repetition."""
    return one.family == FACT and one.kind != QUARANTINED and not one.repeats


def is_current(one: Listed) -> bool:
    return one.retired is None and one.kind != QUARANTINED


def _is_person(one: Listed) -> bool:
    return one.kind.partition("/")[2] in PEOPLE


def cursor_of(at: datetime, id: str) -> str:
    return f"{at.isoformat()}|{id}"


def place_of(cursor: str) -> Place:
    at, _, id = cursor.partition("|")
    return datetime.fromisoformat(at).astimezone(UTC), id
