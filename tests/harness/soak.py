"""A day of a memory, simulated in minutes: nothing grows needlessly, and nothing is lost.

Users talk in sessions, recall, and forget; in the gaps idle work is done with a scripted LLM, a
tenth of whose answers are faults. The clock is simulated, the rest is the product: engine, store,
indexes, idle loop, jobs. Checked in the end: memory and file stay flat, the queue is empty, every
turn is there or forgotten and described or given up with a trace, what a step made is stored when
the next one begins, and the index equals a rebuilt one. With two controls, each of which its own law
must catch: a leak (memory), and a task marked done without its result (outcome).

    python -m tests.harness.soak                        # 24 hours, 2,000 turns
    python -m tests.harness.soak --hours 2 --turns 150
"""

import argparse
import asyncio
import contextlib
import ctypes
import functools
import gc
import itertools
import random
import re
import shutil
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id, turn_of
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.idle import IdleWork, job_parts
from slowcat_memory.errors import BadAnswerError, EndpointError
from slowcat_memory.pages import mapped_mb
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Context, Forget, SessionEdge, Turn, WriteBatch
from slowcat_memory.store import Ack, Store
from slowcat_memory.testing import FixedClock, HashEmbedder, ScriptedLLM, memory_config
from tests.support.index_oracle import without_drift

SCOPE = "anna"
BEGAN = datetime(2026, 5, 12, 0, tzinfo=UTC)
PER_SESSION = 20  # turns
FAULTS, FORGOTTEN = 0.10, 0.02  # of answers, of user turns
WARM_UP_DAY = (1.2, 100)  # hours and turns before the first measured day of a process
WARM_UP = 0.25  # of the time, in which caches and indexes fill
SLOPE_MB_H, FILE_TIMES = 1.0, 3.0  # the limits
LEAK_BYTES = 1_000_000  # a turn: the control
LOST_EVERY = 7  # batches: the control
QUESTIONS = 40
HALF = 2e-3  # of a cosine; measured 0.0003
CONTROLS = {"leak": "memory", "lost": "outcome"}  # and the law that must catch each

NAMES = ("Max", "Lena", "Otto", "Ida", "Ben", "Mara", "Paul", "Ruth", "Emil", "Nora")
PLACES = ("Lisbon", "Oslo", "Porto", "Turin", "Ghent", "Malmo", "Graz", "Bergen", "Riga", "Cork")
THINGS = ("violin", "bicycle", "garden", "boat", "bakery", "telescope", "kiln", "canoe", "loom")
DOINGS = ("bought", "sold", "repaired", "painted", "lost", "found", "borrowed", "inherited")


class Figures(Struct, frozen=True, kw_only=True):
    """What a run measured.

    Attributes:
        hours: Simulated.
        turns: Logged.
        forgotten: Of those.
        steps: Of idle jobs.
        dead: Tasks that were given up.
        slope_mb_h: Growth of the process's own memory, after warm-up.
        file_mb: Of the store.
        file_times: That by its live data.
        seconds: It took.
    """

    hours: float
    turns: int
    forgotten: int
    steps: int
    dead: int
    slope_mb_h: float
    file_mb: float
    file_times: float
    seconds: float


class Time(FixedClock):
    """A clock that advances only when somebody waits."""

    def __init__(self) -> None:
        super().__init__(BEGAN)

    def seconds(self) -> float:
        return (self.now - BEGAN).total_seconds()

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)
        await asyncio.sleep(0)


class Soak:
    """One memory and its users."""

    def __init__(self, folder: Path, hours: float, turns: int, seed: int, control: str) -> None:
        self.hours, self.turns, self.control = hours, turns, control
        self.chance, self.time = random.Random(seed), Time()
        self.llm = ScriptedLLM(self.reply)
        self.config = memory_config(
            folder,
            idle={"enabled": False, "on_battery": True},
            index={"seal_at": max(100, turns // 8), "seal_share": 0.2},
            memory={"hot_cache_size": 50},
            tiers={"warm": 100},
        )
        self.said: dict[int, str] = {}
        self.forgotten: set[int] = set()
        self.promised: list[tuple[Ack, Context]] = []  # by steps since the last check
        self.lost = 0  # descriptions that a step returned and the store has not
        self.engine = self.open()
        self.grown: list[tuple[float, float]] = []  # simulated hours, megabytes
        self.leaked: list[bytearray] = []
        self.batches = 0
        self.unanswered: set[int] = set()  # turns that a valid answer omitted
        self.promised: list[tuple[Ack, Context]] = []  # by steps since the last check
        self.lost = 0  # descriptions that a step returned and the store has not

    def open(self) -> MemoryEngine:
        """Open the memory, with idle work on the simulated clock."""
        engine = MemoryEngine(
            self.config, clock=self.time, embedder=HashEmbedder(dim=32), llm=self.llm
        )
        apply = engine.store.apply

        def watched(job: str, batch: WriteBatch) -> Ack:
            self.check_promises(engine.store)
            ack = apply(job, self.lose(batch) if self.control == "lost" else batch)
            self.promised += [(ack, one) for one in batch.contexts]
            return ack

        engine.store.apply = watched  # type: ignore[method-assign]
        engine.idle = IdleWork(
            job_parts(engine.wiring, engine.upkeep, self.llm),
            self.config.idle,
            self.config.thinking,
            engine.metrics,
            engine.wiring.indexer.take,
            seconds=self.time.seconds,
            sleep=self.time.sleep,
        )
        return engine

    def check_promises(self, store: Store) -> None:
        """Count the descriptions of finished steps that are not stored.

        Before the next step: its job would describe those turns again, and hide the loss.
        """
        if not self.promised:
            return
        with store.snapshot() as snapshot:
            for ack, promised in self.promised:
                turn = turn_of(promised.memory)
                stored = snapshot.context(promised.scope, promised.memory)
                kept = stored is not None and stored.text == promised.text
                self.lost += ack.future.done() and not kept and turn not in self.forgotten
        self.promised.clear()

    def lose(self, batch: WriteBatch) -> WriteBatch:
        """Mark a task done without its result: the control."""
        self.batches += bool(batch.contexts)
        lost = batch.contexts and not self.batches % LOST_EVERY
        return replace(batch, contexts=(), keys=(), vectors=()) if lost else batch

    def reply(self, prompt: Prompt) -> Any:
        """Describe the requested turns, or fail in one of a server's ways."""
        found = re.findall(r"^Write about the turns (.*)\.$", prompt.user, re.M)
        if self.chance.random() < FAULTS:
            fault = self.chance.choice(
                (
                    EndpointError("the server is away"),
                    BadAnswerError("no JSON"),
                    "I cannot do that.",
                    '{"turns": [{"tur',
                    {"turns": []},
                    {"notes": "something else"},
                )
            )
            if fault == {"turns": []} and found:
                self.unanswered |= {int(n) for n in found[0].split(", ")}
            return fault
        lines = dict(re.findall(r"^\[(\d+)\] [^:]*: (.*)$", prompt.user, re.M))
        [asked] = found
        return {
            "turns": [
                {
                    "turn": int(n),
                    "context": f"Somebody says: {lines[n]}",
                    "questions": [f"About {lines[n]}?"],
                }
                for n in asked.split(", ")
            ]
        }

    # ------------------------------------------------------------------- the day

    def run(self) -> None:
        sessions = max(1, self.turns // PER_SESSION)
        gap = self.hours * 3600 / sessions
        for number in range(sessions):
            self.session(f"s{number}")
            self.engine.think()
            self.weigh()
            behind = (number + 1) * gap - self.time.seconds()
            self.time.advance(max(0.0, behind))
        self.time.advance(3600 * 24)  # postponed tasks may be tried again
        self.engine.think()
        self.weigh()

    def session(self, name: str) -> None:
        self.edge(name, "start")
        for _ in range(PER_SESSION // 2):
            words = self.words()
            self.time.advance(self.chance.uniform(2, 10))
            asyncio.run(self.recall(words))
            user = self.say(name, "user", words)
            self.say(name, "assistant", f"Good to know about that {words.split()[-1]}", user)
            if self.chance.random() < FORGOTTEN:
                self.forget()
            if self.control == "leak":
                self.leaked.append(bytearray(b"\1" * LEAK_BYTES))
        self.edge(name, "end")
        self.engine.drain()
        self.engine.store.flush(None)

    async def recall(self, words: str) -> None:
        found = await self.engine.recall(words, SCOPE)
        self.engine.pack(found)

    def say(self, session: str, role: Any, text: str, reply_to: int = 0) -> int:
        turn = Turn(
            session=session,
            scope=SCOPE,
            speaker="Anna" if role == "user" else "Assistant",
            role=role,
            text=text,
            at=self.time(),
            reply_to=reply_to,
        )
        id_ = self.engine.append(turn).id
        self.said[id_] = text
        return id_

    def edge(self, session: str, kind: Any) -> None:
        self.engine.append(SessionEdge(session=session, scope=SCOPE, kind=kind, at=self.time()))

    def forget(self) -> None:
        there = sorted(self.said.keys() - self.forgotten)
        self.engine.store.flush(None)
        gone = self.engine.forget(Forget(turns=(self.chance.choice(there),)))
        self.forgotten |= set(gone.turns)

    def words(self) -> str:
        pick = self.chance.choice
        return (
            f"My friend {pick(NAMES)} {pick(DOINGS)} a {pick(THINGS)} in {pick(PLACES)} "
            f"with {pick(NAMES)} for {self.chance.randrange(10, 9999)} crowns"
        )

    def weigh(self) -> None:
        """Measure the process's private memory: mapped files belong to the system's cache."""
        gc.collect()
        return_free_memory()
        own = psutil.Process().memory_info().rss / 2**20 - mapped_mb()
        self.grown.append((self.time.seconds() / 3600, own))

    # ------------------------------------------------------------------- the laws

    def slope(self) -> float:
        """Megabytes an hour, after warm-up: the median of the slopes between any two moments.

        By Theil and Sen: a single step, such as the first pages of a sealed index, is no growth;
        what grows with each session is.
        """
        warm = [at for at in self.grown[:-1] if at[0] >= WARM_UP * self.hours]
        if len(warm) < 3:
            return 0.0
        pairs = itertools.combinations(warm, 2)
        return float(np.median([(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs]))

    def file(self) -> tuple[float, float]:
        """Megabytes of the store's file, and how many times its live data that is."""
        with self.engine.store.snapshot() as snapshot:
            live = sum(snapshot.table_bytes().values())
        bytes_ = (self.config.folder / "data.mdb").stat().st_blocks * 512
        return bytes_ / 2**20, bytes_ / live

    def queue(self) -> list[str]:
        with self.engine.store.snapshot() as snapshot:
            waiting = snapshot.tasks(state="waiting")
        return [f"queue: {len(waiting)} tasks wait still"] if waiting else []

    def losses(self) -> list[str]:
        """Return turns that are missing, or neither described nor given up with a trace."""
        with self.engine.store.snapshot() as snapshot:
            there = {turn.id: turn.text for turn in snapshot.turns(SCOPE)}
            placed = {context.memory for context in snapshot.contexts(SCOPE)}
            dead = {id_ for task in snapshot.tasks(state="dead") for id_ in task.sources}
        self.check_promises(self.engine.store)
        wanted = {id_: text for id_, text in self.said.items() if id_ not in self.forgotten}
        traced = dead | self.unanswered  # turns omitted twice are not requested again
        plain = [id_ for id_ in there if chunk_id(id_) not in placed and id_ not in traced]
        laws = [] if there == wanted else [f"lost: {len(wanted.keys() - there.keys())} turns"]
        laws += [f"undescribed: {len(plain)} turns"] if plain else []
        return laws + ([f"outcome: {self.lost} descriptions are lost"] if self.lost else [])

    def index(self) -> list[str]:
        """Compare the grown index with a rebuilt one on the same questions."""
        questions = [self.words() for _ in range(QUESTIONS)]
        grown = [self.scores(question) for question in questions]
        self.engine.close()
        shutil.rmtree(self.config.folder / "index", ignore_errors=True)
        self.engine = self.open()
        anew = [self.scores(question) for question in questions]
        differ = sum(not _same(a, b) for a, b in zip(grown, anew, strict=True))
        return [f"index: {differ} of {QUESTIONS} questions answered otherwise"] if differ else []

    def scores(self, question: str) -> tuple[list[str], np.ndarray]:
        """Score every memory in every view.

        Scores, not answers: a sealed part and a tail propose their best separately, so that two
        indexes of the same memories may fuse others, of which the best is the scale (measured: the
        ten best are the same, their scores differ by 0.005 at most). Scores by words are those with
        the mean length of now: sealed documents keep the one of their sealing.
        """
        namespace = self.engine.wiring.namespaces.get(SCOPE)
        namespace.wait_vectors()
        searcher, vector = namespace.searcher, HashEmbedder(dim=32).encode_query(question)
        ids, numbers = zip(*sorted(searcher.items(), key=lambda item: item[1]), strict=True)
        every = np.array(numbers, np.int64)
        found = searcher.lexical(question).scores[every]
        views = [
            found * without_drift(searcher, question)[every],
            searcher.dense.cosines(vector, every),
            searcher.keys["keys"].best_cosines(vector, every),
        ]
        order = np.argsort(ids)
        return [ids[n] for n in order], np.array(views)[:, order]


def return_free_memory() -> None:
    """Return what the allocator keeps of freed memory to the system, where it can (glibc)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _same(one: tuple[list[str], np.ndarray], other: tuple[list[str], np.ndarray]) -> bool:
    """Return whether all memories score the same, within half precision of a cosine."""
    return one[0] == other[0] and np.allclose(one[1], other[1], atol=HALF, equal_nan=True)


def run(
    folder: Path,
    hours: float,
    turns: int,
    seed: int = 1,
    control: str = "",
    slope_mb_h: float = SLOPE_MB_H,
    warm: bool = True,
) -> tuple[list[str], Figures]:
    """Simulate some hours; return the broken laws, and what was measured.

    Args:
        folder: For the store.
        hours: Simulated.
        turns: How many are said.
        seed: Of everything.
        control: "leak" or "lost", which must be caught; "" for none.
        slope_mb_h: How much memory may grow: more in a short run that is not warm.
        warm: Play a few other sessions first, once in a process: the modules that are imported at
            the first use, and the allocator's first pages, are no growth.
    """
    if warm:
        warm_up()
    began = time.monotonic()
    soak = Soak(folder, hours, turns, seed, control)
    try:
        soak.run()
        slope, (file_mb, times) = soak.slope(), soak.file()
        with soak.engine.store.snapshot() as snapshot:
            dead = len(snapshot.tasks(state="dead"))
        steps = soak.engine.metrics.counts()
        laws = [*soak.queue(), *soak.losses(), *soak.index()]
    finally:
        soak.engine.close()
    laws += [f"memory: {slope:.2f} MB an hour"] if slope >= slope_mb_h else []
    laws += [f"file: {times:.1f} times its live data"] if times >= FILE_TIMES else []
    return laws, Figures(
        hours=hours,
        turns=len(soak.said),
        forgotten=len(soak.forgotten),
        steps=sum(n for name, n in steps.items() if name in ("idle_done", "idle_retry")),
        dead=dead,
        slope_mb_h=round(slope, 3),
        file_mb=round(file_mb, 2),
        file_times=round(times, 2),
        seconds=round(time.monotonic() - began, 1),
    )


@functools.cache
def warm_up() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder) / "memory", *WARM_UP_DAY, warm=False)


def is_caught(control: str, laws: list[str]) -> bool:
    """Return whether the law that a control is for is broken; another one proves nothing."""
    return any(law.startswith(f"{CONTROLS[control]}:") for law in laws)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    logger.remove()
    failed = False
    for control in ("", *CONTROLS):
        size = min(options.turns, 400) if control else options.turns
        hours = options.hours * size / options.turns
        with tempfile.TemporaryDirectory() as folder:
            laws, figures = run(Path(folder) / "memory", hours, size, options.seed, control)
        print(f"{control or 'soak'}: {'; '.join(laws) or 'all laws hold'}")
        print(f"  {figures}")
        failed |= not is_caught(control, laws) if control else bool(laws)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
