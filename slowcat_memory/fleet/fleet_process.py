"""One process's part in a fleet: its connections, its leases, and the memories of persons in it.

A person's memory is a copy that this process holds, or waits for. As with a store on this machine,
what is said while it is not open waits, and a recall finds nothing. The receipt of a turn is
resolved when the turn is committed in the database; the turn itself never waits for that. A lease
that is lost closes the copy; the memory returns when the lease can be had.
"""

import dataclasses
import functools
import os
import secrets
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from loguru import logger
from msgspec.structs import replace

from slowcat_memory import config as configuration
from slowcat_memory.config import Config
from slowcat_memory.core.text_caches import forget_texts
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.background import BackgroundEngine, Entry
from slowcat_memory.engine.wiring import RECALL
from slowcat_memory.errors import DatabaseAwayError, StoreError, StoreFullError, describe_error
from slowcat_memory.fleet import copies, housekeeping, leases
from slowcat_memory.fleet.copies import UNSENT, Copies, WaitingTurns, append_to, copy_name
from slowcat_memory.fleet.database import Database
from slowcat_memory.fleet.holding import Holding
from slowcat_memory.fleet.leases import Worker
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import Embedder
from slowcat_memory.records import Cursor, Event, Forget, Forgotten, WriteBatch
from slowcat_memory.runtime.namespaces.registry import scope_of_user
from slowcat_memory.store import Ack, new_future
from slowcat_memory.store.disk.folder import or_undo

RENEWALS = 3  # in the time of a lease
COMMITTED_S = 2.0  # how long a change waits for the database
SPOKEN_S = 0.3  # how long a voice command does
PURGED_S = 10.0  # how long a forget does
MOST_WAITING = 50_000  # change sets that may wait for the database: some 15,000 turns
AWAY = "fleet/away"  # the activity that keeps idle work from growing the queue


class Fleet:
    """A worker of a fleet. One for a process; it may serve many people, one after another or at once.

    Use::

        fleet = Fleet("config.toml")
        memory = HybridContextualMemoryProcessor(user_id="anna", fleet=fleet)

    Attributes:
        model: The embedder of the last person; kept, so that it is not loaded for each.
    """

    def __init__(self, config: Config | str | Path | None = None) -> None:
        """Set up; nothing is connected before the first person comes.

        Args:
            config: A configuration, or the path of a config.toml; None for the default one.

        Raises:
            ConfigError: There is no ``[fleet] dsn``, or something else is wrong.
        """
        if not isinstance(config, Config):
            config = configuration.load(Path(config).expanduser() if config else None)
        self.config, options = config, config.fleet
        self.metrics, host = Metrics(), socket.gethostname()
        self.database = Database(options.dsn)
        self.worker = Worker(
            database=self.database,
            tenant=options.tenant,
            host=host,
            holder=f"{host}/{os.getpid()}/{secrets.token_hex(4)}",
            cache=Path(options.cache).expanduser(),
            lease_s=options.lease_s,
            map_gib=config.store.map_size_gib,
        )
        self._starts = threading.Lock()  # taken once, and never released
        self.model: Embedder | None = None

    def start(self) -> None:
        """Begin to renew leases, and to delete copies of what others have forgotten; idempotent."""
        if not self._starts.acquire(blocking=False):
            return
        self.database.repeat(self._renew, self.worker.lease_s / RENEWALS)
        look = functools.partial(housekeeping.look_at_purged, self.worker)
        self.database.repeat(look, housekeeping.PURGED_S)
        self.database.repeat(self.tidy, housekeeping.EVERY_S)

    def tidy(self) -> None:
        """Delete copies with what others have forgotten, and send what waits on this machine.

        Raises:
            DatabaseAwayError: The database cannot be reached.
        """
        housekeeping.tidy(self.worker)

    # ---------------------------------------------------------------- people

    def member(self, person: str, config: Config | None = None) -> "SharedMember":
        """Return a person's memory, shared by the conversations of this process.

        Call ``start`` on it, and ``close`` when done.

        Args:
            person: A user id, as for the processor.
            config: Of the conversation; None for the fleet's.

        Raises:
            ConfigError: The person's name cannot name a memory.
        """
        person = scope_of_user(person)
        self.start()
        folder = self.worker.cache / copy_name(self.worker.tenant, person)
        return SharedMember.acquire(of_copy(config or self.config, folder, person), self)

    def _renew(self) -> None:
        if self.worker.holdings:
            for holding in self.database.run(leases.renew, self.worker):
                holding.lose()

    def close(self) -> None:
        """Close the connections; members are released by those who use them. Blocks."""
        self.database.close()

    def __enter__(self) -> "Fleet":
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def of_copy(config: Config, folder: Path, person: str) -> Config:
    """Return the configuration of a person's copy."""
    return replace(config, memory=replace(config.memory, path=str(folder), user_id=person))


class CopyEngine(MemoryEngine):
    """The engine of a copy: closing it sends what is left, and releases the lease."""

    def __init__(self, config: Config, holding: Holding, **how: Any) -> None:
        self.holding = holding
        with or_undo(holding.abandon):
            own = of_copy(config, holding.folder, holding.lease.person)
            super().__init__(own, open_store=holding.open_store, **how)
        holding.recalls = functools.partial(self.gate.is_active, RECALL)

    def append_unsent(self) -> None:
        """Append what was heard on this machine and could not be sent.

        What cannot be appended stays where it is, and costs nothing else.
        """
        try:
            append_to(self, self.holding.place)
        except (StoreError, ValueError) as error:
            self.metrics.count("fleet_late_failed")
            logger.error("fleet: turns wait on: {}", describe_error(error))

    def close(self) -> None:
        """Save and send what is left, and close. Takes a few seconds at most."""
        if not self.closed:
            self.idle.stop()
            self.holding.before_closing()
        super().close()
        if not self.holding.is_released:  # it may also have what others forgot meanwhile
            housekeeping.tidy_person(self.holding.worker, self.holding.place.folder.name)
        self.holding.worker.database.clear_answers()
        forget_texts()  # the next person's are others


class SharedMember(BackgroundEngine):
    """A ``MemoryEngine`` for a person of a fleet."""

    def __init__(self, config: Config, fleet: Fleet) -> None:
        """Set the configuration; nothing is taken before ``start``.

        Args:
            config: With the person as its user, and the folder of that one's copies as its store.
        """
        super().__init__(config)
        self.person, self._fleet = config.memory.user_id, fleet
        self._place = Copies(fleet.worker.cache, config.folder.name)
        self._waiting = WaitingTurns(self._place, fleet.worker.tenant, self.person)
        self._latest: Holding | None = None

    def shut(self) -> None:
        # What an open engine could not send is looked at when it is closed.
        waits = self.holding is None and self._latest and not self._latest.is_released
        super().shut()
        self._waiting.close()
        if waits or self._place.closed(UNSENT):
            housekeeping.tidy_person(self._fleet.worker, self._place.folder.name)
        forget_texts()

    @property
    def holding(self) -> Holding | None:
        """The lease and the copy; None while this worker has neither."""
        engine = self.engine
        return engine.holding if isinstance(engine, CopyEngine) else None

    def _open_engine(self) -> MemoryEngine:
        holding = Holding(
            self._fleet.worker, self.person, self.metrics, on_trouble=self._on_trouble
        )
        engine = CopyEngine(self.config, holding, metrics=self.metrics, callers=self.callers)
        self._latest = holding
        return engine

    def _hand_over(self, engine: CopyEngine) -> None:  # type: ignore[override]  # of ``_open_engine``
        self._fleet.model = engine.embedding.embedder
        engine.append_unsent()
        super()._hand_over(engine)
        if engine.flush(copies.CLOSE_S):
            self._waiting.drop()  # from the disk: the copy has them

    def _open_reader(self) -> None:
        """There is nothing to read without a lease."""

    def _report_lost(self, lost: int) -> None:
        logger.info("fleet: {} turns wait on this disk", lost)

    def _use(self, engine: MemoryEngine) -> None:
        super()._use(engine)
        self.availability.announce()  # a recovery, where there was a trouble, is announced itself

    # ---------------------------------------------------------------- trouble

    def _on_trouble(self, error: StoreError | None) -> None:
        """The database is away, or there again; or nothing can be sent any more. Any thread."""
        is_away = isinstance(error, DatabaseAwayError)
        self.set_activity(AWAY, is_away)
        if error is None:
            return self.availability.recover()
        self.availability.fail(error)
        if not is_away:
            self.give_up()

    # ---------------------------------------------------------------- turns

    def append(self, *events: Event, cursor: Cursor | None = None) -> Ack:
        """Append events; the receipt is resolved when they are committed in the database."""
        future, holding = new_future(), self.holding
        if holding and holding.waiting >= MOST_WAITING:
            self.metrics.count("fleet_refused")
            hint = "Make the database reachable again"
            future.set_exception(StoreFullError("too much waits for the database", hint=hint))
            return Ack(future, events[-1])
        ack = super().append(*events, cursor=cursor)
        ack.future.add_done_callback(functools.partial(self._saved, future))
        return dataclasses.replace(ack, future=future)

    def _saved(self, future: "Future[None]", saved: "Future[None]") -> None:
        if error := saved.exception():
            future.set_exception(error)
        elif self._latest:  # in its copy
            self._latest.settle_when_sent(future)

    def _wait(self, events: Sequence[Event], cursor: Cursor | None) -> tuple[Ack, list[Entry]]:
        """Have events wait; what is said now waits on the disk, too."""
        if cursor is not None or len(events) > 1:
            return super()._wait(events, cursor)
        ack, dropped = super()._wait(events, self._waiting.next_cursor)
        event = ack.event or events[0]
        self._waiting.keep(replace(event))  # a copy: it is numbered anew once the memory has it
        return ack, dropped

    # ---------------------------------------------------------------- changes

    def forget(self, what: Forget | Sequence[Forget], **how: Any) -> Forgotten:
        engine, deletes = self.engine, not (how.get("dry_run") or how.get("undo_s"))
        if not (deletes and isinstance(engine, CopyEngine)):
            return super().forget(what, **how)
        holding = engine.holding
        engine.append_unsent()  # which are forgotten too, where they are covered
        holding.wait_sent(COMMITTED_S)  # or it would be in the outbox still
        gone = super().forget(what, **how)
        if not (gone.turns or gone.memories):
            return gone
        problems = list(gone.problems)
        try:
            if not holding.wait_purged(PURGED_S):
                raise DatabaseAwayError("the database does not answer")
            name = self._place.folder.name
            kept = self._fleet.database.run(housekeeping.kept, self._fleet.worker, name)
        except StoreError:
            kept = []
            problems.append("the database still has it, and is replaced when it can be reached")
        remains = (*gone.remains, *kept)
        erased = gone.erased and not (kept or problems)
        return replace(gone, erased=erased, problems=tuple(problems), remains=remains)

    def carry_out(self, *args: Any, **kwargs: Any) -> Any:
        outcome = super().carry_out(*args, **kwargs)
        self._wait_committed(SPOKEN_S)  # what is not sent is on this disk
        return outcome

    def apply(self, job: str, batch: WriteBatch) -> None:
        super().apply(job, batch)
        self._settled(batch)

    def _wait_committed(self, timeout_s: float) -> bool:
        holding = self.holding
        return holding is None or holding.wait_sent(timeout_s)

    def _settled(self, changed: Any) -> Any:
        """Return the result of a change only once that is committed in the database."""
        if not self._wait_committed(COMMITTED_S):
            raise DatabaseAwayError(
                "this is saved on this machine, and not yet in the database",
                hint="It is sent when the database can be reached",
            )
        return changed
