"""A scope's derived memories in order of time, as ids: what a view needs to choose 50 rows.

The store keeps memories by id, and ids are hashes. So the page's process reads each derived memory
once, when a scope is first looked at, and from then on only those that changed; texts are not kept.
Turns are not among them: the store has these in order.
"""

import threading
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

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
    """The derived memories of one scope. Safe to use from several threads.

    Attributes:
        read: How many rows were read so far.
    """

    def __init__(self, scope: str) -> None:
        self._scope, self._lock = scope, threading.RLock()
        self._by_id: dict[str, Listed] = {}
        self._order: list[Place] = []
        self._around: dict[str, set[str]] = {}  # relations by the entities that they name
        self._change = self._epoch = -1
        self.read = 0

    def refresh(self, snapshot: Snapshot) -> "Catalogue":
        """Read what has changed since the last call; everything at the first."""
        with self._lock:
            change, epoch = snapshot.last_change(), snapshot.forget_epoch()
            if (change, epoch) != (self._change, self._epoch):
                manifest = snapshot.manifest(self._scope)
                trimmed = manifest is not None and manifest.changes > self._change
                if epoch != self._epoch or trimmed:
                    self._read_all(snapshot)
                else:
                    self._read_changed(snapshot)
                self._change, self._epoch = change, epoch
        return self

    def _read_all(self, snapshot: Snapshot) -> None:
        self._by_id, self._around = {}, {}
        for memory in snapshot.memories(self._scope):
            self.read += 1
            if family(memory.kind) != READING:
                self._add(listed(memory))
        self._order = sorted(one.place for one in self._by_id.values())

    def _read_changed(self, snapshot: Snapshot) -> None:
        for id_ in snapshot.changed(self._scope, self._change):
            self._drop(id_)
            self.read += 1
            memory = snapshot.memory(self._scope, id_)
            if memory is not None and family(memory.kind) != READING:
                self._add(listed(memory))
                insort(self._order, self._by_id[id_].place)

    def _add(self, one: Listed) -> None:
        self._by_id[one.id] = one
        if one.family == RELATION:
            for entity in (one.subject, one.object):
                self._around.setdefault(entity, set()).add(one.id)

    def _drop(self, id_: str) -> None:
        one = self._by_id.pop(id_, None)
        if one is None:
            return
        at = bisect_left(self._order, one.place)
        if at < len(self._order) and self._order[at] == one.place:
            del self._order[at]
        for entity in (one.subject, one.object):
            self._around.get(entity, set()).discard(id_)

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
                        return found, _cursor(found[-1])
                    found.append(one)
            return found, ""

    def _newest_first(self, after: str, upto: datetime | None) -> Iterator[Listed]:
        end = len(self._order)
        if after:
            end = bisect_left(self._order, _place(after))
        if upto is not None:
            end = min(end, bisect_left(self._order, (upto, "\U0010ffff")))
        for at in range(end - 1, -1, -1):
            yield self._by_id[self._order[at][1]]

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the first and the last time since when a fact is true; None without facts."""
        with self._lock:
            known = [place for place in self._order if place[1].startswith(f"{FACT}/")]
        return (known[0][0], known[-1][0]) if known else None

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


def _cursor(one: Listed) -> str:
    return f"{one.since.isoformat()}|{one.id}"


def _place(cursor: str) -> Place:
    at, _, id_ = cursor.partition("|")
    return datetime.fromisoformat(at), id_
