"""Checks that idle work survives a ``kill -9``: every task is done once, or dead, and none is lost.

A child appends turns and does idle work with the real loop: a job makes a task for each turn, and a
memory of each. Some tasks always fail, some fail once or twice. The child is killed at a random
moment, again and again; then one that is not killed ends the work. Every turn must then have its
memory, made by one applied step, or a dead task; and at each kill no memory may exist beside its
waiting task, and no turn behind the cursor without one of the two.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import tempfile
from collections import Counter
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import Struct

from slowcat_memory.errors import BadAnswerError
from slowcat_memory.idle.context import Contexts, JobDeps
from slowcat_memory.idle.job import JobContext, Plan, Trigger
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.idle.scheduler.loop import IdleLoop
from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.records import Cursor, Run, Task, WriteBatch
from slowcat_memory.store import Ack, Store, StoreOptions
from tests.harness import samples
from tests.harness.children import Child

OPTIONS = IdleOptions(grace_s=0.0, rest_s=0.002, backoff_s=0.002)
STORE = StoreOptions(map_size_gib=1 / 16, runs_keep=100_000, durability="relaxed")
PAUSE_S = 0.004  # between two turns: about what a step takes
PIECE = 5  # turns read by one plan
HOPELESS, SHAKY = 11, 5  # every so many turns: one that always fails, one that fails at first


class Nothing(Struct, frozen=True):
    """No knobs."""


class Noting:
    """Makes one memory of each turn."""

    name, version, needs, trigger, Options = "noting", 1, "nothing", Trigger(turns=1), Nothing

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


KILLED_AT = 3  # torn writes of a child


class Torn:
    """The fault to be found: a store that writes the result and the task's end separately.

    A kill rarely falls between the two: it kills itself there now and then.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._torn = store, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def apply(self, job: str, batch: WriteBatch) -> Ack:
        if batch.memories:
            self._store.apply(job, WriteBatch(memories=batch.memories)).wait()
            self._torn += 1
            if self._torn == KILLED_AT:
                os.kill(os.getpid(), signal.SIGKILL)
            batch = WriteBatch(done=batch.done, run=batch.run)
        return self._store.apply(job, batch)


def loop_over(store: Any) -> IdleLoop:
    """Make the real loop, with an open gate."""
    parts = JobDeps(store=store, upkeep=None, clock=lambda: datetime.now(UTC), zone=UTC,
                  scopes=lambda: ["anna"])  # type: ignore[arg-type]  # fmt: skip
    gate = IdleGate(IdleOptions(grace_s=0.0))
    return IdleLoop(store, (Noting(),), gate, Contexts(parts), options=OPTIONS)


def work(path: Path, into: int, control: bool) -> None:
    """Append and do idle work forever; report once at the start."""
    store = Store.open(path, options=STORE)
    with store.snapshot() as snapshot:
        said = snapshot.last_id()
    os.write(into, b"U")

    async def both() -> None:
        thinking = asyncio.create_task(loop_over(Torn(store) if control else store).run())
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


def run(kills: int, seed: int, control: bool, path: Path) -> dict[str, Any]:
    rng, tally = random.Random(seed), Counter[str]()
    for _ in range(kills):
        child = Child(lambda into: work(path, into, control))
        child.wait_for(b"U")
        child.kill_after(rng.uniform(0.02, 0.15))
        _, died = child.finish()
        assert died, "the child ended by itself"
        with Store.open(path, options=STORE) as store:
            tally.update(look(store))
    with Store.open(path, options=STORE) as store:
        with store.snapshot() as snapshot:
            interrupted_at = len(snapshot.tasks(state="waiting"))
            turns = snapshot.last_id()
        left = asyncio.run(loop_over(store).run_until_done(patience_s=5))
        tally.update(look(store))
        with store.snapshot() as snapshot:
            facts = {n for memory in snapshot.memories("anna") for n in memory.sources}
            dead = {int(task.key) for task in snapshot.tasks(state="dead")}
    every = set(range(1, turns + 1))
    tally["unfinished"] = len(every - facts - dead) + left
    tally["wrongly_dead"] = sum(n % HOPELESS != 0 for n in dead)
    names = ("lost", "half", "unlogged", "twice", "accused", "unfinished", "wrongly_dead")
    counted = {"turns": turns, "done": len(facts), "dead": len(dead), "at_end": interrupted_at}
    return {"kills": kills, "seed": seed, **counted, **{name: tally[name] for name in names}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument(
        "--control", action="store_true", help="apply the result and the task's end one by one"
    )
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="jobs9-"))
    try:
        print(json.dumps(run(args.kills, args.seed, args.control, folder / "store")))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
