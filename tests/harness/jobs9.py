"""Checks that idle work survives a ``kill -9``: every task is done once, or dead, and none is lost.

A child appends turns and does idle work with the real loop: a job makes a task for each turn, and a
memory of each. Some tasks always fail, some fail once or twice. The child is killed at a random
moment, again and again; then one that is not killed ends the work. Every turn must then have its
memory, made by one applied step, or a dead task; and at each kill no memory may exist beside its
waiting task, and no turn behind the cursor without one of the two.
"""

import asyncio
import os
import random
import signal
from collections import Counter
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from slowcat_memory.errors import BadAnswerError
from slowcat_memory.idle.job import Contexts, JobContext, JobDeps, NoOptions, Plan, Trigger
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.idle.scheduler.loop import IdleLoop
from slowcat_memory.records import Cursor, Run, Task, WriteBatch
from slowcat_memory.store import Ack, Store, StoreOptions
from tests.harness import samples
from tests.harness.children import Child
from tests.harness.command import Harness, main
from tests.support.memories import Look

OPTIONS = IdleOptions(grace_s=0.0, rest_s=0.002, backoff_s=0.002)
STORE = StoreOptions(map_size_gib=1 / 16, runs_keep=100_000, durability="relaxed")
PAUSE_S = 0.004  # between two turns: about what a step takes
PIECE = 5  # turns read by one plan
HOPELESS, SHAKY = 11, 5  # every so many turns: one that always fails, one that fails at first


class Noting:
    """Makes one memory of each turn."""

    name, version, needs, trigger, Options = "noting", 1, "nothing", Trigger(turns=1), NoOptions

    def plan(self, context: JobContext) -> Plan | None:
        with context.snapshot() as snapshot:
            row = snapshot.cursor(self.name)
            turns = list(snapshot.turns(after=row.position if row else 0))[:PIECE]
        if not turns:
            return None
        tasks = tuple(
            Task(id=f"noting/anna/{t.id}", job=self.name, scope="anna", key=str(t.id),
                 created=context.now, sources=(t.id,))
            for t in turns
        )  # fmt: skip
        return Plan(tasks=tasks, cursor=Cursor(name=self.name, position=turns[-1].id))

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        n = int(task.key)
        await asyncio.sleep(0)
        if n % HOPELESS == 0 or (n % SHAKY == 0 and task.attempts < n % 3):
            raise BadAnswerError("no")
        made = samples.memory(f"fact/{n}", sources=(n,), text=samples.text(n))
        await asyncio.sleep(0.0005)
        return WriteBatch(memories=(made,))


class Reporting:
    """A store that reports each write to a descriptor.

    A torn one writes a result and its task's end separately, and kills itself between the two.
    """

    def __init__(self, store: Store, into: int, torn_at: int) -> None:
        self._store, self._into, self._torn_at = store, into, torn_at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def apply(self, job: str, batch: WriteBatch) -> Ack:
        os.write(self._into, b".")
        if self._torn_at and batch.memories:
            self._store.apply(job, WriteBatch(memories=batch.memories)).wait()
            self._torn_at -= 1
            if not self._torn_at:
                os.kill(os.getpid(), signal.SIGKILL)
            batch = WriteBatch(done=batch.done, run=batch.run)
        return self._store.apply(job, batch)


def loop_over(store: Any) -> IdleLoop:
    """Make the real loop, with an open gate."""
    parts = JobDeps(store=store, upkeep=None, clock=lambda: datetime.now(UTC), zone=UTC,
                  scopes=lambda: ["anna"])  # type: ignore[arg-type]  # fmt: skip
    gate = IdleGate(IdleOptions(grace_s=0.0))
    return IdleLoop((Noting(),), gate, Contexts(parts), options=OPTIONS)


def work(path: Path, into: int, torn_at: int) -> None:
    """Append and do idle work forever; report the start and each write."""
    store = Store.open(path, options=STORE)
    said = Look(store).last_id()
    os.write(into, b"U")

    async def both() -> None:
        thinking = asyncio.create_task(loop_over(Reporting(store, into, torn_at)).run())
        for n in count(said + 1):
            store.append(samples.turn(n))
            await asyncio.sleep(PAUSE_S)
        await thinking

    asyncio.run(both())


def look(store: Store) -> Counter[str]:
    """Check the store that a kill left."""
    with store.snapshot() as snapshot:
        facts = {n for memory in snapshot.memories("anna") for n in memory.sources}
        waiting = {int(task.key) for task in snapshot.tasks(state="waiting")}
        dead = {int(task.key) for task in snapshot.tasks(state="dead")}
        row = snapshot.cursor("noting")
        planned = set(range(1, (row.position if row else 0) + 1))
        runs: list[Run] = snapshot.runs()
    done = Counter(run.task for run in runs if run.outcome == "done")
    return Counter(
        lost=len(planned - facts - waiting - dead),
        half=len(facts & (waiting | dead)),
        unlogged=len(facts - {int(id.rpartition("/")[2]) for id in done if id}),
        twice=sum(n > 1 for n in done.values()),
        accused=store.opened.moved_aside is not None,
    )


def run(folder: Path, kills: int, seed: int, control: str) -> dict[str, int]:
    path, rng, tally = folder / "store", random.Random(seed), Counter[str]()
    for _ in range(kills):
        child = Child(lambda into: work(path, into, 3 if control else 0))
        child.wait_for(b"U")
        size = 10_000 if control else rng.randrange(25)
        _, died = child.kill_after(size, rng.uniform(0, 0.004))
        assert died, "the child ended by itself"
        with Store.open(path, options=STORE) as store:
            tally.update(look(store))
    with Store.open(path, options=STORE) as store:
        interrupted_at = len(Look(store).tasks(state="waiting"))
        turns = Look(store).last_id()
        left = asyncio.run(loop_over(store).run_until_done(patience_s=5))
        tally.update(look(store))
        facts = {n for memory in Look(store).memories("anna") for n in memory.sources}
        dead = {int(task.key) for task in Look(store).tasks(state="dead")}
    tally["unfinished"] = len(set(range(1, turns + 1)) - facts - dead) + left
    tally["wrongly_dead"] = sum(n % HOPELESS != 0 for n in dead)
    done = {"turns": turns, "done": len(facts), "dead": len(dead), "at_end": interrupted_at}
    return done | {name: tally[name] for name in LAWS}


LAWS = ("lost", "half", "unlogged", "twice", "accused", "unfinished", "wrongly_dead")
HARNESSES = {
    "kills": Harness(
        run=run, count=40, night=200, laws=LAWS, least={"done": 1.0, "dead": 0.1},
        controls={"torn": ("half", 3)},
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
