"""Slow maintenance: vectors, sealed indexes, tiers, and the store's file. Blocks."""

import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from slowcat_memory.engine.forget import Eraser
from slowcat_memory.engine.wiring import EngineWiring
from slowcat_memory.records import Aged, Manifest, SessionEdge
from slowcat_memory.runtime.namespaces.indexer import CLOSE_S
from slowcat_memory.runtime.namespaces.namespace import Namespace
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.runtime.namespaces.vectors import Told
from slowcat_memory.store.care.health import Health
from slowcat_memory.store.disk.folder import DATA, REPLAYING

Stop = Callable[[], bool]


def disk_bytes(folder: Path) -> int:
    """Return the size on disk of a folder's files; one that goes meanwhile counts nothing."""
    found = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            status = path.lstat()
            found += status.st_blocks * 512 if stat.S_ISREG(status.st_mode) else 0
    return found


class Upkeep:
    """Maintains derived data; implements ``idle.job.Upkeep`` for the idle jobs."""

    def __init__(self, wiring: EngineWiring, eraser: Eraser) -> None:
        self._wiring, self._eraser = wiring, eraser
        self.erase_due, self.has_due = eraser.erase_due, wiring.undo_log.has_due
        self.erase_expired, self.expired = eraser.erase_expired, eraser.has_expired
        self.overdue, self.drop_queries = eraser.overdue, eraser.drop_queries

    def erase(self) -> tuple[int, tuple[int, ...]]:
        """Erase what is due or has expired; nothing while the clock is doubted."""
        return self.erase_due(), self.erase_expired()

    def shrink(self) -> bool:
        """Rewrite the store's file if that saves room; return whether it did."""
        return self._wiring.store.shrink()

    def check(self) -> Health:
        """Read and verify everything."""
        return self._wiring.store.health()

    def repair(self) -> dict[str, int]:
        """Salvage damaged rows; return how many, by table."""
        return self._wiring.store.repair()

    def backup(self) -> Path:
        """Copy the store's file; return the path."""
        return self._wiring.store.backup()

    def copy_for_replay(self) -> None:
        """Copy the store's file into the folder of a replay, which exists."""
        store = self._wiring.store
        store.copy(store.path / REPLAYING / DATA)

    def confirm_clock(self) -> bool:
        """Believe the clock, and erase what waited; return whether it was doubted."""
        confirmed = self._wiring.clock_guard.confirm()
        if confirmed and not self._wiring.readonly:
            self._eraser.erase_soon()
        return confirmed

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
            "embedding": wiring.embedding.report.source,
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
            wiring.vectors.embed_missing(namespace.scope)

    def age(self, scope: str | None = None, stop: Stop = lambda: False) -> Aged:
        """Move old turns into compressed blocks; search results and reads do not change.

        Args:
            scope: None for all.
            stop: Called between two short transactions; True ends it.

        Raises:
            StoreError: The disk is full; what was already moved stays moved.
            ConfigError: The scope is not a valid name.
        """
        wiring, config = self._wiring, self._wiring.config
        if scope is None:
            with wiring.store.snapshot() as snapshot:
                scopes = snapshot.scopes()
        else:
            scopes = [check_scope(scope)]
        hot, options = config.memory.hot_cache_size, config.tiers
        moved = [
            wiring.store.age(name, hot=hot, options=options, now=wiring.clock(), stop=stop)
            for name in scopes
        ]
        return Aged(
            warmed=sum(aged.warmed for aged in moved),
            cooled=sum(aged.cooled for aged in moved),
            done=all(aged.done for aged in moved),
        )

    def tidy(self, scope: str, progress: Told | None = None) -> None:
        """Embed what has no vector yet, rebuild the sealed index, move tiers. Takes minutes.

        Args:
            progress: Called with the step's name, the count done, and the total.

        Raises:
            ProviderError: The embedder failed; finished work is kept.
        """
        if self._wiring.embedding.needs_export:
            self._wiring.indexer.back.submit(self.export_model).result()
        report = progress or (lambda *_: None)
        self.embed(scope, report)
        report("index", 0, 1)
        self.seal(scope)
        report("index", 1, 1)
        report("tiers", 0, 1)
        self.age(scope)
        self._wiring.store.shrink()
        report("tiers", 1, 1)

    def embed(self, scope: str, progress: Told | None = None) -> None:
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
        embed = wiring.vectors.embed_all
        wiring.indexer.back.submit(embed, scope, progress or (lambda *_: None)).result()

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
            if scope in namespaces:
                namespace = namespaces.get(scope)
                return namespace.seal_due() or _lacks_vectors(namespace, manifest)
            sealed, upto = (manifest.documents, manifest.upto) if manifest else (0, 0)
            tail = snapshot.logged_between(scope, upto + 1, snapshot.last_id())
            return self._wiring.config.index.seal_due(sealed, tail)


def _lacks_vectors(namespace: Namespace, manifest: Manifest | None) -> bool:
    """Return whether an index was built with another model while all vectors of this one exist."""
    if manifest is None or manifest.embedder == namespace.space.key:
        return False
    searcher = namespace.searcher
    return len(searcher.dense) > 0 and not searcher.incomplete()
