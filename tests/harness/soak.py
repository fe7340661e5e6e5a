"""Days of a memory, simulated in minutes: nothing grows needlessly, and no turn is lost.

A user talks in sessions, recalls, and forgets; in the gaps idle work is done with a scripted LLM, a
tenth of whose answers are faults. The clock is simulated, the rest is the product. Laws: the
process's own memory stays flat (*memory*), so does the file beside its live data (*file*), every
turn is there or forgotten (*lost*), and no idle task waits in the end (*queue*).
"""

import asyncio
import contextlib
import ctypes
import gc
import itertools
import random
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.availability import Callers
from slowcat_memory.engine.idle import IdleWork, job_parts
from slowcat_memory.errors import BadAnswerError, EndpointError
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Forget, Turn
from slowcat_memory.store import data_file
from slowcat_memory.testing import FixedClock, HashEmbedder, ScriptedLLM, memory_config
from tests.harness.command import Harness, main

SCOPE = "anna"
BEGAN = datetime(2026, 5, 12, 0, tzinfo=UTC)
PER_SESSION, GAP_S = 20, 900.0  # turns, and seconds to the next session
FAULTS, FORGOTTEN = 0.10, 0.02  # of answers, of user turns
WARM_UP = 0.25  # of the sessions, in which caches and indexes fill
KB_A_TURN, COLD_KB, FILE_TIMES = 12.0, 30_000.0, 3.0  # the most; of a process that just started
LEAK_BYTES = 1_000_000  # a turn: the control
FAULTY = (
    EndpointError("the server is away"),
    BadAnswerError("no JSON"),
    "I cannot do that.",
    '{"turns": [{"tur',
    {"turns": []},
)
WORDS = (
    ("Max", "Lena", "Otto", "Ida", "Ben", "Mara", "Paul", "Ruth", "Emil", "Nora"),
    ("bought", "sold", "repaired", "painted", "lost", "found", "borrowed", "inherited"),
    ("violin", "bicycle", "garden", "boat", "bakery", "telescope", "kiln", "canoe", "loom"),
    ("Lisbon", "Oslo", "Porto", "Turin", "Ghent", "Malmo", "Graz", "Bergen", "Riga", "Cork"),
)


class Soak:
    """One memory and its user."""

    def __init__(self, folder: Path, turns: int, seed: int) -> None:
        self.chance, self.clock = random.Random(seed), FixedClock(BEGAN)
        self.config = memory_config(
            folder,
            idle={"enabled": False, "on_battery": True},
            index={"seal_at": max(100, turns // 8), "seal_share": 0.2},
            memory={"hot_cache_size": 50}, tiers={"warm": 100},
        )  # fmt: skip
        llm = ScriptedLLM(self.reply)
        engine = self.engine = MemoryEngine(
            self.config, clock=self.clock, embedder=HashEmbedder(dim=32), llm=llm
        )
        engine.idle = IdleWork(
            job_parts(engine, engine.upkeep, llm), self.config, engine.metrics,
            engine.indexer.take, sleep=self.sleep,
            callers=Callers(IdleGate(
                self.config.idle, lambda: (self.clock.now - BEGAN).total_seconds()
            )),
        )  # fmt: skip
        self.said = dict[int, str]()
        self.forgotten = set[int]()
        self.weights: list[tuple[int, float]] = []  # turns, KB
        self.leaked: list[bytearray] = []

    async def sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await asyncio.sleep(0)

    def reply(self, prompt: Prompt) -> Any:
        """Describe the requested turns, or fail in one of a server's ways."""
        asked = re.findall(r"^Write about the turns (.*)\.$", prompt.user, re.M)
        if self.chance.random() < FAULTS or not asked:
            return self.chance.choice(FAULTY)
        lines = dict(re.findall(r"^\[(\d+)\] [^:]*: (.*)$", prompt.user, re.M))
        return {
            "turns": [
                {"turn": int(n), "context": f"Said: {lines[n]}", "questions": [f"{lines[n]}?"]}
                for n in asked[0].split(", ")
            ]
        }

    def session(self, name: str, leaks: bool) -> None:
        for _ in range(PER_SESSION // 2):
            who, did, thing, place = map(self.chance.choice, WORDS)
            words = f"My friend {who} {did} a {thing} in {place} for {self.chance.random()} crowns"
            self.clock.advance(self.chance.uniform(2, 10))
            asyncio.run(self.recall(words))
            self.say(name, "user", words)
            self.say(name, "assistant", f"Good to know about {place}")
            if self.chance.random() < FORGOTTEN:
                self.engine.store.flush(None)
                here = sorted(self.said.keys() - self.forgotten)
                gone = self.engine.forget(Forget(turns=(self.chance.choice(here),)))
                self.forgotten |= set(gone.turns)
            if leaks:
                self.leaked.append(bytearray(b"\1" * LEAK_BYTES))
        self.engine.flush(indexed=True)

    async def recall(self, words: str) -> None:
        self.engine.blocks.pack(await self.engine.recall(words, SCOPE), self.engine.clock())

    def say(self, session: str, role: Any, text: str) -> None:
        turn = Turn(
            session=session, scope=SCOPE, speaker="Anna", role=role, text=text, at=self.clock()
        )
        self.said[self.engine.append(turn).id] = text

    def weigh(self) -> None:
        """Measure the process's private memory: mapped files belong to the system's cache."""
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):  # what glibc keeps of freed memory
            ctypes.CDLL(None).malloc_trim(0)
        used = psutil.Process().memory_info()
        own = (used.rss - used.shared) / 1024
        self.weights.append((len(self.said), own))

    def slope(self) -> float:
        """Kilobytes a turn, after warm-up: the median of the slopes between any two moments.

        By Theil and Sen: a single step, such as the first pages of a sealed index, is no growth;
        what grows with each session is.
        """
        pairs = itertools.combinations(self.weights[int(WARM_UP * len(self.weights)) :], 2)
        return float(np.median([(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs]))


def run(folder: Path, turns: int, seed: int, control: str) -> dict[str, float]:
    soak = Soak(folder / "memory", turns, seed)
    try:
        for number in range(turns // PER_SESSION):
            soak.session(f"s{number}", control == "leak")
            soak.engine.idle.until_done()
            soak.weigh()
            soak.clock.advance(GAP_S)
        soak.clock.advance(3600 * 24)  # postponed tasks may be tried again
        soak.engine.idle.until_done()
        with soak.engine.store.snapshot() as snapshot:
            here = {turn.id: turn.text for turn in snapshot.turns(SCOPE)}
            waiting = len(snapshot.tasks(state="waiting"))
        live = soak.engine.store.health().live_bytes
        size = data_file(soak.config.folder).stat().st_blocks * 512
        steps = soak.engine.metrics.counts()
    finally:
        soak.engine.close()
    wanted = {id_: text for id_, text in soak.said.items() if id_ not in soak.forgotten}
    kb, times = round(soak.slope(), 2), round(size / live, 2)
    return {
        "turns": len(soak.said), "forgotten": len(soak.forgotten),
        "steps": steps.get("idle_done", 0) + steps.get("idle_retry", 0),
        "kb_a_turn": kb, "file_times": times,
        "memory": kb > KB_A_TURN + COLD_KB / turns, "file": times >= FILE_TIMES,
        "lost": here != wanted, "queue": waiting,
    }  # fmt: skip


HARNESSES = {
    "days": Harness(
        run=run, count=80, night=600, seeds=3, laws=("memory", "file", "lost", "queue"),
        least={"turns": 0.9, "steps": 0.1}, controls={"leak": ("memory", 80)},
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
