"""What other processes write into a memory's store; it is found at the next recall."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import wait
from contextlib import suppress
from functools import partial
from itertools import islice

from slowcat_memory.core.memory import CHUNK, chunk_id
from slowcat_memory.engine.wiring import EngineWiring
from slowcat_memory.records import Turn
from slowcat_memory.store import Snapshot

SLICE = 64  # turns, and changed memories, before a recall may run
OTHER = "another process"  # the origin of its events
ACTIVITY = "another process/append"


class OtherProcesses:
    """Reads the rows of other processes, in slices, on the worker of recalls.

    Nothing is read while nobody else writes: that takes some microseconds.
    """

    def __init__(self, wiring: EngineWiring) -> None:
        """Begin with the rows that are there now."""
        self._wiring, self._store, self._indexer = wiring, wiring.store, wiring.indexer
        self._tell = partial(wiring.events.tell, origin=OTHER)
        self._own_epochs = set[int]()
        self._changed: deque[tuple[str, str]] = deque()  # (scope, id) of memories to read again
        self._sealed: dict[str, str] = {}  # by scope, the index of another process loaded last
        with self._store.snapshot() as snapshot:
            self._seen = self._store.last_transaction()[0], snapshot.number
            self._event, self._change = snapshot.last_id(), snapshot.last_change()
            self._epoch = self._clean = snapshot.forget_epoch()
        self._store.on_others = self._wake
        wiring.look_soon, wiring.forgot = self.look_soon, self.forgot

    def _wake(self) -> None:
        """On the writer's thread, some times a second and after each write."""
        self.look_soon()
        self._store.let_go(self._clean)

    def look_soon(self) -> None:
        """Take over what others wrote before the next recall; microseconds if that is nothing."""
        if self._changed or self._store.last_transaction() != self._seen:
            with suppress(RuntimeError):  # it is being closed
                self._indexer.soon(self._look)

    def forgot(self) -> None:
        """Note that this process has forgotten something: its indexes are its own matter."""
        with self._store.snapshot() as snapshot:
            epoch = snapshot.forget_epoch()
        self._own_epochs.add(epoch)
        self._clean = max(self._clean, epoch)

    def _look(self) -> None:
        """Take over what others wrote, or a part of it. On the worker of recalls."""
        (generation, seen), now = self._seen, self._store.last_transaction()
        own = self._store.own(seen, now[1]) if generation == now[0] and seen < now[1] else None
        if own is not None:
            self._seen, self._event, self._change = now, own[0] - 1, own[1]
            self._store.pass_own(self._event)
        elif now != self._seen:
            with self._store.snapshot() as snapshot:
                if self._store.last_transaction()[0] != now[0]:
                    return  # it was replaced just now: next time
                self._read(snapshot)
                if snapshot.last_id() == self._event:
                    self._seen = now[0], snapshot.number
        self._refresh()
        self.look_soon()

    def _read(self, snapshot: Snapshot) -> None:
        if (epoch := snapshot.forget_epoch()) != self._epoch:
            self._epoch = epoch
            self._forget(snapshot, epoch)
        events = list(islice(snapshot.events(after=self._event), SLICE))
        own = self._store.pass_own(events[-1].id if events else self._event)
        turns = [one for one in events if isinstance(one, Turn) and one.id not in own]
        for scope in {turn.scope for turn in turns}:
            self._hear(scope, [turn for turn in turns if turn.scope == scope])
        self._event = events[-1].id if len(events) == SLICE else snapshot.last_id()
        for namespace in self._wiring.namespaces:
            changed = snapshot.changed(namespace.scope, self._change)
            self._changed.extend((namespace.scope, id_) for id_ in changed)
            manifest = snapshot.manifest(namespace.scope)
            if manifest is None or namespace.sealed == manifest.generation:
                continue
            if self._sealed.get(namespace.scope) != manifest.generation:  # not tried before
                self._sealed[namespace.scope] = manifest.generation
                self._indexer.open(namespace.scope, self._wiring.namespaces.reload)
        self._change = snapshot.last_change()

    def _hear(self, scope: str, turns: list[Turn]) -> None:
        self._wiring.gate.busy(ACTIVITY)
        self._wiring.gate.free(ACTIVITY)
        for turn in turns:
            if turn.unnamed:
                self._wiring.users.learn(scope, turn.speaker)
        self._indexer.hear(scope, [turn for turn in turns if not turn.aside])
        ids = [chunk_id(turn.id) for turn in turns if not turn.aside]
        self._tell("stored", scope, ids, kind=CHUNK)

    def _refresh(self) -> None:
        """Read changed memories again."""
        some: dict[str, list[str]] = {}
        for _ in range(min(SLICE, len(self._changed))):
            scope, id_ = self._changed.popleft()
            some.setdefault(scope, []).append(id_)
        for scope, ids in some.items():
            self._indexer.refresh(scope, ids)
            self._tell("updated", scope, [id_ for id_ in ids if not id_.startswith(CHUNK)])

    def _forget(self, snapshot: Snapshot, epoch: int) -> None:
        """Drop what others forgot, load the indexes anew without it, and confirm that."""
        if epoch in self._own_epochs:
            return
        self._wiring.forget_queries()
        loads = []
        for namespace in self._wiring.namespaces:
            ids = [id_ for id_, _ in namespace.searcher.table.items()]
            if gone := snapshot.missing(namespace.scope, ids):
                self._wiring.namespaces.forget(namespace.scope, gone)
                self._tell("forgotten", namespace.scope, sorted(gone))
            loads.append(self._indexer.open(namespace.scope, self._wiring.namespaces.reload))
        self._indexer.later(self._confirm, epoch, partial(wait, loads))

    def _confirm(self, epoch: int, loaded: Callable[[], object]) -> None:
        loaded()
        self._clean = max(self._clean, epoch)
        self._store.let_go(self._clean)
