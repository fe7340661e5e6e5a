"""Does the idle work of people with whom nobody talks: one person after another.

What is done is sent as it is done, step by step; the task ends in the transaction of the last of it.
A conversation that begins takes the lease at once. What this worker had not sent by then is refused,
and is made again after that conversation.
"""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import DatabaseAwayError, FleetError, LeaseLostError, describe_error
from slowcat_memory.fleet import leases
from slowcat_memory.fleet.fleet_process import CopyEngine, Fleet
from slowcat_memory.fleet.holding import Holding
from slowcat_memory.fleet.leases import Lease
from slowcat_memory.idle.scheduler.task_queue import Forecast
from slowcat_memory.records import Run, WriteBatch
from slowcat_memory.runtime.conversation.conversation import guest_scope

POLL_S = 3.0  # between looks for a task
MOST_S = 300.0  # for one person, before the next has a turn
PATIENCE_S = 5.0  # with work that cannot be done now
LEFT_S = 600.0  # until such work is tried again
DAY_S, SOONEST_S = 86_400.0, 60.0  # until a look for what is to be erased by then
SENT_S = 10.0  # how long the last write may take

Outcome = Literal["done", "interrupted", "failed"]


class Worked(Struct, frozen=True, kw_only=True):
    """What became of a task.

    Attributes:
        seconds: How long it ran.
        again_s: When it is due again; None for never.
        error: Why it failed or was interrupted, without a word of a memory.
    """

    person: str
    outcome: Outcome
    seconds: float
    again_s: float | None = None
    error: str = ""


class Interrupted(FleetError):
    """The work on a person ends now, unfinished."""


class _OutOfTime(Exception):
    """Another person has a turn."""


@dataclass(eq=False)
class IdleWorker:
    """Runs the tasks of a fleet's tenant, on the thread that calls it.

    ``on_worked`` is called after each task.
    """

    fleet: Fleet
    on_worked: Callable[[Worked], object] = lambda worked: None

    def run(self, stop: threading.Event, *, until_done: bool = False) -> None:
        """Work until ``stop`` is set, or until nothing is due.

        Raises:
            FleetError: The database refuses for good.
            DatabaseAwayError: With ``until_done``: it cannot be reached.
        """
        self.fleet.start()
        away = False
        while not stop.is_set():
            try:
                worked, away = self.work_once(stop), False
            except DatabaseAwayError as error:
                if until_done:
                    raise
                if not away:
                    logger.warning("fleet: idle work waits: {}", error.message)
                worked, away = None, True
            if worked is None:
                if until_done:
                    return
                stop.wait(POLL_S)

    def work_once(self, stop: threading.Event) -> Worked | None:
        """Run the task that has been due longest; None if none is due.

        Raises:
            DatabaseAwayError: The database cannot be reached.
        """
        lease = self.fleet.database.run(leases.claim_task, self.fleet.worker)
        if lease is None:
            return None
        outcome: Outcome = "done"
        began, again_s, why = time.monotonic(), None, ""
        with ExitStack() as opened:
            try:
                engine = opened.enter_context(closing(self._open(lease)))
                again_s = self._do(engine, lease, stop)
            except Exception as error:  # its task is due before another can claim it
                why = describe_error(error)
                outcome = self._put_back(lease, error, why)
        person, seconds = lease.person, time.monotonic() - began
        worked = Worked(person=person, outcome=outcome, seconds=seconds, again_s=again_s, error=why)
        self.fleet.metrics.count(f"fleet_tasks_{outcome}")
        self.on_worked(worked)
        return worked

    # ---------------------------------------------------------------- one person

    def _open(self, lease: Lease) -> CopyEngine:
        """Open the engine of a person's copy."""
        fleet, person = self.fleet, lease.person
        holding = Holding(fleet.worker, person, fleet.metrics, lease=lease)
        # Nobody speaks, and it is done below.
        idle = replace(fleet.config.idle, enabled=False, grace_s=0.0)
        return CopyEngine(replace(fleet.config, idle=idle), holding, metrics=fleet.metrics)

    def _do(self, engine: CopyEngine, lease: Lease, stop: threading.Event) -> float | None:
        """Do all that is due, and end the task; return in how many seconds it is due again."""
        began, from_s, holding = engine.clock(), time.monotonic(), engine.holding

        def check(_: Forecast) -> None:
            """End the work on a person, where it has to end; called twice a second."""
            if holding.trouble:
                raise holding.trouble
            if stop.is_set():
                raise Interrupted("this worker ends")
            if time.monotonic() - from_s > MOST_S:
                raise _OutOfTime

        engine.append_unsent()
        try:
            rest = engine.idle.until_done(None, check, PATIENCE_S)
            again_s = LEFT_S if rest else next_look_s(engine)
        except _OutOfTime:
            again_s = 0.0
        run = Run(
            task="fleet/think",
            job="think",
            at=began,
            ms=round((time.monotonic() - from_s) * 1e3, 1),
            outcome="done",
        )
        holding.send_last(
            lambda: engine.store.apply("fleet", WriteBatch(run=run)).wait(SENT_S),
            partial(leases.finish_task, lease=lease, again_s=again_s),
        )
        return again_s

    def _put_back(self, lease: Lease, error: Exception, why: str) -> Outcome:
        """Make a task due again: at once and untried where it was interrupted."""
        interrupted = isinstance(error, Interrupted | LeaseLostError | DatabaseAwayError)
        attempts, again_s = lease.attempts, 0.0
        if not interrupted:
            logger.warning("fleet: idle work for {} failed: {}", lease.person, why)
            attempts, again_s = attempts + 1, leases.pause_s(attempts + 1)
        with suppress(DatabaseAwayError):  # then it counts as a failure when it is claimed again
            self.fleet.database.run(leases.finish_task, lease, again_s, attempts, why)
        return "interrupted" if interrupted else "failed"


def next_look_s(engine: MemoryEngine) -> float | None:
    """Return in how many seconds something may have to be erased; None where nothing will."""
    config, now = engine.config, engine.clock()
    with engine.snapshot() as snapshot:
        scopes = snapshot.scopes()
        due = [entry.due for entry in snapshot.commands() if entry.state == "done" and entry.due]
    soonest = [(at - now).total_seconds() for at in due]
    if scopes and (config.retention.raw_days or guest_scope(config.people) in scopes):
        soonest.append(DAY_S)
    return min(DAY_S, max(SOONEST_S, min(soonest))) if soonest else None
