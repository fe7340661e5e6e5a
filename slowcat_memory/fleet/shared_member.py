"""A person's memory in one worker: a copy that this process holds, or waits for.

As with a store on this machine, what is said while it is not open waits, and a recall finds nothing.
The receipt of a turn is resolved when the turn is committed in the database; the turn itself never
waits for that. A lease that is lost closes the copy; the memory returns when the lease can be had.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.config import Config
from slowcat_memory.core.text_caches import forget_texts
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.background import BackgroundEngine
from slowcat_memory.engine.wiring import RECALL
from slowcat_memory.errors import DatabaseAwayError, StoreError, StoreFullError, describe_error
from slowcat_memory.fleet import housekeeping, tasks, unsent
from slowcat_memory.fleet.copies import Copies
from slowcat_memory.fleet.holding import Holding
from slowcat_memory.records import Cursor, Event, Forget, Forgotten
from slowcat_memory.store import Ack, new_future

if TYPE_CHECKING:
    from slowcat_memory.fleet.fleet_process import Fleet

COMMITTED_S = 2.0  # how long a change waits for the database
SPOKEN_S = 0.3  # how long a voice command does
PURGED_S = 10.0  # how long a forget does
MOST_WAITING = 50_000  # change sets that may wait for the database: some 15,000 turns
CHANGES = frozenset({"remember", "edit", "undo", "apply"})
AWAY = "fleet/away"  # the activity that keeps idle work from growing the queue


class CopyEngine(MemoryEngine):
    """The engine of a copy: closing it sends what is left, and releases the lease."""

    def __init__(self, config: Config, holding: Holding, **how: Any) -> None:
        self.holding = holding
        try:
            super().__init__(config, open_store=holding.open_store, **how)
        except BaseException:
            holding.abandon()
            raise
        holding.shipper.recalls = functools.partial(self.wiring.gate.is_active, RECALL)

    def append_unsent(self) -> None:
        """Append what was heard on this machine and could not be sent.

        What cannot be appended stays where it is, and costs nothing else.
        """
        try:
            unsent.append_to(self, self.holding.place)
        except (StoreError, ValueError) as error:
            self.metrics.count("fleet_late_failed")
            logger.error("fleet: turns wait on: {}", describe_error(error))

    def _close(self) -> None:
        """Save and send what is left, and close. Takes a few seconds at most."""
        if not self.closed:
            self.idle.stop()
            self.holding.before_closing()
        super()._close()
        self.holding.after_closing()
        forget_texts()  # the next person's are others


class SharedMember(BackgroundEngine):
    """A ``MemoryEngine`` for a person of a fleet."""

    def __init__(self, fleet: "Fleet", person: str, config: Config) -> None:
        """Set the configuration; nothing is taken before ``start``.

        Args:
            config: With the folder of the person's copies as its store.
        """
        super().__init__(config)
        self.person, self._fleet = person, fleet
        self._place = Copies(fleet.worker.cache, config.folder.name)
        self._waiting = unsent.WaitingTurns(self._place, fleet.worker.tenant, person)
        self._latest: Holding | None = None

    def close(self) -> None:
        self._fleet.release(self)

    def shut(self) -> None:
        lost = self._latest if self.holding is None else None
        self._schedule_idle_work()
        super().shut()
        self._waiting.close()
        if (lost and not lost.is_released) or self._place.unsent():
            try:
                housekeeping.tidy_person(self._fleet.worker, self._place.folder.name)
            except StoreError as error:
                logger.warning("fleet: turns wait on this disk: {}", error.message)
        forget_texts()

    def _schedule_idle_work(self) -> None:
        """Have the conversation thought about, by any worker, once its lease is released."""
        holding = self.holding
        if holding is None or holding.shipper.is_away:
            return  # idle workers look for those who were let go without it
        try:
            self._fleet.database.run(
                functools.partial(
                    tasks.schedule,
                    tenant=holding.lease.tenant,
                    person=self.person,
                    after_s=tasks.THINK_AFTER_S,
                )
            )
        except StoreError as error:
            logger.debug("fleet: no idle work was scheduled: {}", error.message)

    @property
    def holding(self) -> Holding | None:
        """The lease and the copy; None while this worker has neither."""
        engine = self.engine
        return engine.holding if isinstance(engine, CopyEngine) else None

    def _open_engine(self) -> MemoryEngine:
        holding = self._latest = self._fleet.hold(
            self.person, self.metrics, on_lost=self._on_lost, on_away=self._on_away
        )
        memory = replace(self.config.memory, path=str(holding.folder))
        engine = CopyEngine(replace(self.config, memory=memory), holding, metrics=self.metrics)
        self._fleet.model = engine.wiring.embedding.embedder
        try:
            self._load_scopes(engine)
            engine.append_unsent()
        except BaseException:
            engine.close()
            raise
        return engine

    def _open_reader(self) -> None:
        """There is nothing to read without a lease."""

    def _report_lost(self, lost: int) -> None:
        logger.info("fleet: {} turns wait on this disk", lost)

    def _use(self, engine: MemoryEngine) -> None:
        super()._use(engine)
        self.availability.announce()  # a recovery, where there was a trouble, is announced itself

    # ---------------------------------------------------------------- trouble

    def _on_lost(self, error: StoreError) -> None:
        """The lease was lost, or the database refuses for good. Any thread."""
        self.last_error = error
        self.availability.fail(error)
        self.give_up()

    def _on_away(self, error: StoreError | None) -> None:
        self.set_activity(AWAY, error is not None)
        if error is None:
            self.availability.recover()
        else:
            self.availability.fail(error)

    # ---------------------------------------------------------------- turns

    def append(self, *events: Event, cursor: Cursor | None = None) -> Ack:
        live = len(events) == 1 and cursor is None
        if self._is_full():
            if live:
                return _refusal(events[0], self._full())
            raise self._full()
        if live and self.engine is None:
            return self._committed_later(self._append_without_copy(events[0]))
        return self._committed_later(super().append(*events, cursor=cursor))

    def _append_without_copy(self, event: Event) -> Ack:
        """Let a turn wait, in memory and on the disk. Does not block."""
        append = functools.partial(super().append, event)
        try:
            return self._waiting.append(event, lambda cursor: append(cursor=cursor))
        except StoreFullError as error:
            return _refusal(event, error)

    def _is_full(self) -> bool:
        holding = self.holding
        if holding is None or holding.shipper.waiting < MOST_WAITING:
            return False
        self.metrics.count("fleet_refused")
        return True

    def _full(self) -> StoreFullError:
        return StoreFullError(
            "too much waits for the database", hint="Make the database reachable again"
        )

    def _committed_later(self, ack: Ack) -> Ack:
        """Return a receipt that is resolved when the event is committed in the database."""
        future = new_future()
        ack.future.add_done_callback(functools.partial(self._saved, future))
        return dataclasses.replace(ack, future=future)

    def _saved(self, future: "Future[None]", saved: "Future[None]") -> None:
        error, holding = saved.exception(), self._latest
        if error or holding is None or holding.shipper.replica is None:
            future.set_exception(error or DatabaseAwayError("this is saved on this machine alone"))
            return
        holding.shipper.settle_when_sent(future)

    # ---------------------------------------------------------------- changes

    def forget(self, what: Forget | Sequence[Forget], **how: Any) -> Forgotten:
        engine, holding = self.engine, self.holding
        deletes = not (how.get("dry_run") or how.get("undo_s"))
        if holding is not None and deletes:
            holding.shipper.wait_sent(COMMITTED_S)  # or it would be in the outbox still
            if isinstance(engine, CopyEngine):
                engine.append_unsent()  # which are forgotten too, where they are covered
        gone: Forgotten = super().__getattr__("forget")(what, **how)
        if holding is None or not deletes or not (gone.turns or gone.memories):
            return gone
        problems = list(gone.problems)
        try:
            if not holding.shipper.wait_purged(PURGED_S):
                raise DatabaseAwayError("the database does not answer")
            self._waiting.flush()
            kept = housekeeping.kept(self._fleet.worker, self._place.folder.name)
        except StoreError:
            kept = []
            problems.append("the database still has it, and is replaced when it can be reached")
        remains = (*gone.remains, *kept)
        erased = gone.erased and not (kept or problems)
        return replace(gone, erased=erased, problems=tuple(problems), remains=remains)

    def carry_out(self, *args: Any, **kwargs: Any) -> Any:
        outcome = super().__getattr__("carry_out")(*args, **kwargs)
        self._wait_committed(SPOKEN_S)  # what is not sent is on this disk
        return outcome

    def _wait_committed(self, timeout_s: float) -> bool:
        holding = self.holding
        return holding is None or holding.shipper.wait_sent(timeout_s)

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        return functools.partial(self._committed, found) if name in CHANGES else found

    def _committed(self, change: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Make a change; return only once it is committed in the database."""
        result = change(*args, **kwargs)
        if not self._wait_committed(COMMITTED_S):
            raise DatabaseAwayError(
                "this is saved on this machine, and not yet in the database",
                hint="It is sent when the database can be reached",
            )
        return result


def _refusal(event: Event, error: StoreError) -> Ack:
    refused = new_future()
    refused.set_exception(error)
    return Ack(refused, event)
