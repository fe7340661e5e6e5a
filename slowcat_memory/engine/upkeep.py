"""Maintenance that blocks: permanent deletion, vectors, sealed indexes, tiers, the store's file.

Deleted is what is asked for, what is hidden when it is due, and what is past its retention period.
"""

import os
import stat
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from math import inf
from pathlib import Path
from typing import Any
from weakref import WeakMethod

from loguru import logger
from msgspec import Struct
from msgspec.structs import asdict

from slowcat_memory.clock import seconds_of
from slowcat_memory.core import retention
from slowcat_memory.engine.wiring import EngineWiring
from slowcat_memory.errors import SlowcatError, StoreError
from slowcat_memory.records import Forget, Forgotten, SessionEdge, Turn
from slowcat_memory.runtime.commands.undo_log import is_due
from slowcat_memory.runtime.namespaces.indexer import CLOSE_S, OnProgress
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.store.disk.folder import DATA, REPLAYING

Stop = Callable[[], bool]


def disk_bytes(folder: Path) -> int:
    """Return the size on disk of a folder's files; one that goes meanwhile counts nothing."""
    size = 0
    for path in (Path(root, name) for root, _, names in os.walk(folder) for name in names):
        with suppress(OSError):
            status = path.lstat()
            size += status.st_blocks * 512 if stat.S_ISREG(status.st_mode) else 0
    return size


AGAIN_S = 600.0  # between two tries of an erasure that cannot be completed
LATE_S = 0.05  # behind the time to undo, so that it is over by any clock
SLICE_S = 0.05  # of the search for what has expired


class Overdue(Struct, frozen=True, kw_only=True):
    """What should be erased by now, and what its age alone would erase.

    Attributes:
        doubted: Why the clock is doubted, so that all this waits; "" if it is believed.
        commands: Commands that can no longer be undone.
        expired: Turns, and guests' notes, past their retention period.
        kept: Turns past it that are kept for a memory made from them.
        kept_since: Date of the oldest of these.
    """

    doubted: str
    commands: int
    expired: int
    kept: int
    kept_since: datetime | None


class Upkeep:
    """Deletes and maintains; implements ``idle.job.Maintenance`` for the idle jobs."""

    def __init__(self, wiring: EngineWiring) -> None:
        self._wiring = wiring
        wiring.undo_log.on_hidden = self._erase_after
        self.expiry = Expiry(wiring)
        self.expired = self.expiry.any_due
        self._again_s, store = 0.0, wiring.store
        self.shrink, self.check, self.repair = store.shrink, store.health, store.repair
        self.backup, self.confirm_clock = store.backup, wiring.clock_guard.confirm

    # ------------------------------------------------------------------- deletion

    def forget(self, *orders: Forget) -> Forgotten:
        """Delete what the orders select, with one reload of each index and one rewrite of the file.

        Recall stops finding it before its rows are deleted and its bytes erased.
        """
        if not orders:
            return Forgotten(erased=True)
        wiring = self._wiring
        wiring.indexer.release()
        gone = wiring.store.forget(orders, on_hidden=self._unindex)
        for scope, ids in sorted(_by_scope(gone).items()):
            try:
                wiring.indexer.reload(scope)
            except StoreError as error:
                logger.warning("an index has gaps until the next start: {}", error)
            wiring.events.tell("forgotten", scope, sorted(ids), at=wiring.clock())
        return gone

    def _unindex(self, gone: Forgotten) -> None:
        self._wiring.others.forgot()
        self._wiring.forget_queries()
        for scope, memories in _by_scope(gone).items():
            self._wiring.namespaces.forget(scope, memories)
            try:
                self._seal_again(scope)
            except SlowcatError as error:
                logger.warning("an index is read from the log until it is built: {}", error)

    def _seal_again(self, scope: str) -> None:
        """Build a large sealed index without what was deleted, before the former one is erased.

        A small one is built when idle: until then the log is read as quickly.
        """
        wiring = self._wiring
        with wiring.store.snapshot() as snapshot:
            count = snapshot.logged_between(scope, 1, snapshot.last_id())
        if count > wiring.config.index.seal_most and not wiring.namespaces.is_guests(scope):
            wiring.namespaces.seal(scope)

    def drop_queries(self) -> None:
        """Clear queries from the caches once the running recalls are done. Does not wait."""
        self._wiring.indexer.talk.submit(self._wiring.forget_queries)

    def has_due(self) -> bool:
        """Return whether ``erase`` has something to do: milliseconds."""
        waits = time.monotonic() >= self._again_s and self._wiring.store.is_erasing()
        return waits or self._wiring.undo_log.has_due() or self.expired()

    def erase_due(self) -> int:
        """Erase in one pass what commands hid and can no longer be undone; return how many.

        If that is nothing, an erasure that could not be completed is tried again.
        """
        store = self._wiring.store
        with self._wiring.undo_log.due() as due:
            self.forget(*chain.from_iterable(due.values()))
        if not due and store.is_erasing() and not store.erase():
            self._again_s = time.monotonic() + AGAIN_S  # each try writes the file anew
        return len(due)

    def _erase_after(self, seconds: float) -> None:
        """Erase what a command hid when it is due; what ends before is erased at the next start."""
        erase = WeakMethod(self.erase_soon)  # a closed memory is not kept by its timer
        timer = threading.Timer(seconds + LATE_S, lambda: (now := erase()) and now())
        timer.daemon = True
        timer.start()

    def erase_expired(self, stop: Stop = lambda: False) -> tuple[int, ...]:
        """Erase turns of guests and known users past their retention period; return their log ids.

        Cheap if there are none; nothing while the clock is doubted.

        Args:
            stop: Called between slices of the search. True leaves the rest to the next call.
        """
        orders = self.expiry.orders(stop)
        gone = self.forget(*orders).turns
        self.expiry.erased(orders)
        return gone

    def overdue(self) -> Overdue:
        """Return what should be erased by now, if the clock is right, and what is kept."""
        doubted, now = self._wiring.clock_guard.doubt(), self._wiring.clock()
        late = self.expiry.orders(even_doubted=True)
        kept, kept_since = self.expiry.kept()
        with self._wiring.store.snapshot() as snapshot:
            commands = sum(is_due(entry, now) for entry in snapshot.commands())
        return Overdue(
            doubted=doubted,
            commands=commands,
            expired=sum(len(order.turns) + len(order.memories) for order in late),
            kept=kept,
            kept_since=kept_since,
        )

    def erase_soon(self) -> None:
        """Erase what is due or has expired, on the second worker, unless that is closed."""
        with suppress(RuntimeError):
            self._wiring.indexer.later(self._erase_slice)

    def _erase_slice(self) -> None:
        """Search for a while, so that the worker does what else is queued."""
        until = time.monotonic() + SLICE_S
        self.erase(lambda: time.monotonic() > until)
        if self.expired():
            self.erase_soon()

    def erase(self, stop: Stop = lambda: False) -> tuple[int, tuple[int, ...]]:
        """Erase what is due or has expired; nothing while the clock is doubted."""
        return self.erase_due(), self.erase_expired(stop)

    # ------------------------------------------------------------------- the rest

    def copy_for_replay(self) -> None:
        """Copy the store's file into the folder of a replay, which exists."""
        store = self._wiring.store
        store.copy(store.path / REPLAYING / DATA)

    def stats(self) -> dict[str, Any]:
        """Return counts and sizes, as plain values."""
        wiring = self._wiring
        with wiring.store.snapshot() as snapshot:
            counts, scopes = snapshot.counts(), snapshot.scopes()
            tiers = snapshot.tiers()
        return {
            "path": str(wiring.config.folder),
            "counts": counts,
            "scopes": scopes,
            "disk_bytes": disk_bytes(wiring.config.folder),
            "tiers": {name: asdict(held) for name, held in tiers.items()},
            "embedding": asdict(wiring.embedding.report),
            "index": {
                namespace.scope: {
                    "memories": len(namespace.searcher),
                    "sealed": namespace.searcher.sealed_count,
                    "tail": namespace.searcher.tail_count,
                    "vectors": len(namespace.searcher.dense),
                }
                for namespace in wiring.namespaces
            },
            "unsaved": wiring.store.unsaved(),
            "clock_doubted": wiring.clock_guard.doubt(),
            "counters": wiring.metrics.counts(),
            "latency_ms": wiring.metrics.summary(),
        }

    def thinkable_scopes(self) -> list[str]:
        """Return the scopes that idle jobs may work on: all but the guests'."""
        with self._wiring.store.snapshot() as snapshot:
            return [s for s in snapshot.scopes() if not self._wiring.namespaces.is_guests(s)]

    def end_orphaned_sessions(self) -> None:
        """End the sessions that a crash left open, at the time of their last turn."""
        store = self._wiring.store
        if not store.opened.is_first:
            return  # they may be another process's, and go on
        with store.snapshot() as snapshot:
            orphans = snapshot.unended()
        for session in orphans:
            store.append(
                SessionEdge(
                    session=session.id,
                    scope=session.scope,
                    kind="end",
                    at=session.last,
                    reason="crash",
                )
            )
        store.flush(CLOSE_S)  # whatever reads the latest session must see it ended

    def export_model(self) -> None:
        """Export the model if that is pending, then switch from lexical to hybrid search."""
        wiring = self._wiring
        if not wiring.embedding.needs_export:
            return  # requested twice: at the start, and by ``tidy``
        wiring.embedding.export()
        for namespace in wiring.namespaces:
            wiring.indexer.reload(namespace.scope)
            wiring.indexer.embed(namespace.scope)

    def age(self, scope: str, stop: Stop = lambda: False) -> bool:
        """Move a scope's old turns into compressed blocks; search results and reads do not change.

        Returns whether nothing more is to be moved.

        Args:
            stop: Called between two short transactions; True ends it.

        Raises:
            StoreError: The disk is full; what was already moved stays moved.
            ConfigError: The scope is not a valid name.
        """
        wiring, config = self._wiring, self._wiring.config
        return wiring.store.age(
            check_scope(scope),
            hot=config.memory.hot_cache_size,
            options=config.tiers,
            now=wiring.clock(),
            stop=stop,
        )

    def tidy(self, scope: str, progress: OnProgress = lambda *_: None) -> None:
        """Embed what has no vector yet, rebuild the sealed index, move tiers. Takes minutes.

        Args:
            progress: Called with the step's name, the count done, and the total.

        Raises:
            ProviderError: The embedder failed; finished work is kept.
        """
        self._wiring.indexer.back.submit(self.export_model).result()
        self.embed(scope, progress)
        for name, work in (("index", self.seal), ("tiers", self.age)):
            progress(name, 0, 1)
            work(scope)
            progress(name, 1, 1)
        self.shrink()

    def embed(self, scope: str, progress: OnProgress = lambda *_: None) -> None:
        """Make the missing vectors. Does nothing without a model, or for guests.

        Args:
            progress: As in ``tidy``; called from the thread that embeds.

        Raises:
            ProviderError: The embedder failed; finished work is kept.
        """
        wiring = self._wiring
        if wiring.namespaces.is_guests(scope):
            return
        wiring.indexer.catch_up()  # an index skips vectors of memories that it lacks
        wiring.store.flush(None)
        wiring.indexer.back.submit(wiring.indexer.embed, scope, None, progress).result()

    def seal(self, scope: str) -> None:
        """Rebuild a scope's sealed index from the log and its vectors. Takes seconds.

        Raises:
            IndexDamagedError: The build failed; the present index stays in use.
        """
        if not self._wiring.namespaces.is_guests(scope):
            self._wiring.namespaces.get(scope).reseal()

    def seal_due(self, scope: str) -> bool:
        """Return whether rebuilding the sealed index is worth it. Milliseconds; loads nothing.

        True after many new turns, if it is damaged, or if it lacks vectors that exist.
        """
        namespaces = self._wiring.namespaces
        if namespaces.is_guests(scope):
            return False
        with self._wiring.store.snapshot() as snapshot:
            manifest = snapshot.manifest(scope)
            if namespace := namespaces.loaded(scope):
                searcher = namespace.searcher
                of_another = manifest is not None and manifest.embedder != namespace.space.key
                lacks = of_another and len(searcher.dense) > 0 and not searcher.incomplete()
                return namespace.seal_due() or lacks
            sealed, upto = (manifest.documents, manifest.upto) if manifest else (0, 0)
            tail = snapshot.logged_between(scope, upto + 1, snapshot.last_id())
            return self._wiring.config.index.seal_due(sealed, tail)


def _by_scope(gone: Forgotten) -> dict[str, set[str]]:
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for scope, memory in gone.memories:
        ids[scope].add(memory)
    return ids


# ------------------------------------------------------------------- what has expired
# The log is read once a day, in slices, and from then on only what is new; the date of each turn that
# may expire is kept. So every turn counts, in whatever order the dates are: an old transcript behind
# today's words, for example.

SLICE = 512  # events read from one snapshot: some milliseconds
READ_AGAIN_S = (
    86_400.0  # between two readings from the beginning: a memory may keep a turn no longer
)


class Expiry:
    """What has expired in a store. Safe to use from any thread; blocks."""

    def __init__(self, wiring: EngineWiring) -> None:
        self._config, self._store, self._guard = wiring.config, wiring.store, wiring.clock_guard
        self._clock, self._seconds = wiring.clock, seconds_of(wiring.clock)
        self._guest = wiring.guest_scope
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        # By namespace and log id, in seconds since 1970: turns that may expire.
        self._dates: defaultdict[str, dict[int, float]] = defaultdict(dict)
        self._kept: dict[int, float] = {}  # those that have, and that a memory keeps
        self._reached = 0  # log id up to which turns have a date
        self._began_s = self._seconds()

    def any_due(self) -> bool:
        """Return whether there is something to read or to erase: milliseconds, or a read's end.

        False while the clock is doubted.
        """
        with self._lock:
            now = self._now()
            if now is None:
                return False
            return not self._read() or any(
                min(dates.values(), default=inf) < self._before_s(scope, now)
                for scope, dates in self._dates.items()
            )

    def orders(self, stop: Stop = lambda: False, *, even_doubted: bool = False) -> list[Forget]:
        """Return forget orders for what has expired; none while the clock is doubted.

        Until ``erased`` is called with them, they are due.

        Args:
            even_doubted: Return what would be erased if the clock were right.
            stop: Called between slices. True ends the search, which goes on with the next call.
        """
        with self._lock:
            now = self._now(even_doubted)
            if now is None:
                return []
            while not self._read():
                if stop():
                    return []
            orders = [self._order(scope, now) for scope in self._dates if not stop()]
            return [order for order in (*orders, self._guests_notes(now)) if order is not None]

    def erased(self, orders: Iterable[Forget]) -> None:
        """Record that orders were carried out."""
        with self._lock:
            for scope, id_ in ((order.scope, id_) for order in orders for id_ in order.turns):
                self._dates[scope].pop(id_, None)

    def kept(self) -> tuple[int, datetime | None]:
        """Return how many turns ``raw_days`` would erase, if no memory kept them.

        Those that ``orders`` met. Also the date of the oldest, None without any.
        """
        with self._lock:
            kept = self._kept
            return len(kept), datetime.fromtimestamp(min(kept.values()), UTC) if kept else None

    # ------------------------------------------------------------------- reading

    def _now(self, even_doubted: bool = False) -> datetime | None:
        """Return the time; None while the clock is doubted, or when nothing ever expires."""
        ever = self._guest or self._config.retention.raw_days
        if not ever or (self._guard.doubt() and not even_doubted):
            return None
        if self._seconds() - self._began_s >= READ_AGAIN_S:
            self._begin()
        return self._clock()

    def _read(self) -> bool:
        """Keep the dates of the next turns; return whether that was all."""
        scope = "" if self._config.retention.raw_days else self._guest
        with self._store.snapshot() as snapshot:
            read = list(islice(snapshot.events(scope, after=self._reached), SLICE))
            for turn in read:
                if isinstance(turn, Turn):
                    self._dates[turn.scope][turn.id] = turn.at.timestamp()
            if read:
                self._reached = read[-1].id
            return len(read) < SLICE

    # ------------------------------------------------------------------- choosing

    def _before_s(self, scope: str, now: datetime) -> float:
        """Return the time before which a namespace's turns have expired."""
        days = self._config.retention.raw_days
        if scope == self._guest and scope:
            return (now - timedelta(hours=self._config.people.guest_hours)).timestamp()
        return (now - timedelta(days=days)).timestamp() if days else -inf

    def _order(self, scope: str, now: datetime) -> Forget | None:
        """Return an order for a namespace's expired turns, None without any."""
        before, keeping = self._before_s(scope, now), frozenset[int]()
        dates = self._dates[scope]
        due = [id_ for id_, at_s in dates.items() if at_s < before]
        with self._store.snapshot() as snapshot:
            if due and scope != self._guest:  # a memory never keeps a guest's
                keeping = retention.held(snapshot.memories(scope), self._config.retention)
            ids = tuple(id_ for id_ in due if id_ not in keeping and snapshot.turn(id_))
        self._kept |= {id_: dates[id_] for id_ in due if id_ in keeping}
        for id_ in set(due).difference(ids):  # kept, or forgotten meanwhile
            del dates[id_]
        return Forget(scope=scope, turns=ids, copies=False) if ids else None

    def _guests_notes(self, now: datetime) -> Forget | None:
        """Return an order for what the guests' namespace holds besides turns."""
        if not self._guest:
            return None
        before = self._before_s(self._guest, now)
        with self._store.snapshot() as snapshot:
            ids = tuple(
                memory.id
                for memory in snapshot.memories(self._guest)
                if not memory.sources and memory.valid_from.timestamp() < before
            )
        return Forget(scope=self._guest, memories=ids) if ids else None
