"""How long does a turn wait for its memories inside a real pipeline, at the pace of speech?

Turns are spoken into Pipecat's user aggregator as a VAD, a recogniser and a turn detector would
(``benchmarks/recognisers.py``: what they send, when, and what of it is shortened), pass the memory
on their way to Pipecat's OpenAI service, and are answered by a scripted server on loopback. The
wait is from the moment when the context reaches the memory until it leaves it: logging the turn,
recall, packing, and writing the block. The store is made up (``stores.py``); each conversation has
fifty turns, and no question is asked twice.

- *ahead*: recall begins on what is heard (``[prefetch]``), *inline*: when the turn comes;
- *Mem0's*: Pipecat's own service for mem0, with a client that stands in (``mem0_service.py``).

With a deadline of 10 ms, as by default. All figures are milliseconds unless they say otherwise.

    python -m benchmarks.turn --turns 300

The JSON: ``machine``, ``load``, ``memories``, ``turns``, ``reference``, and ``arms`` by name:
``wait`` (n, p50, p95, p99, max), ``under_1_ms`` (share of turns), ``stages`` (turns by how far
recall came), and where recall begins ahead ``prefetch``: shares of turns whose recall ``stood``,
whose ``vector`` stood, that were ``redone``, that found ``nothing``, and ``wasted`` recalls a turn.
"""

import argparse
import asyncio
import random
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from loguru import logger
from msgspec.structs import replace
from pipecat.frames.frames import Frame, LLMContextFrame
from pipecat.processors.frame_processor import FrameProcessor

from benchmarks import common, corpus, mem0_service, plots, stores
from benchmarks.common import percentiles
from benchmarks.recognisers import RECOGNISERS, Recogniser, speak
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.recall.query import PrefetchOptions
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.server import ScriptedServer

Memory = Callable[[MemoryEngine], FrameProcessor]
CONVERSATION = 50  # turns; then another begins
WARM_UP = 5  # turns that are not counted, in each conversation
PERSON = "Anna"
ANSWERED_S = 20.0
UNDER_MS = 1.0


def ours(engine: MemoryEngine) -> FrameProcessor:
    return HybridContextualMemoryProcessor(engine=engine, user_id=corpus.SCOPE)


def mem0(engine: MemoryEngine) -> FrameProcessor:
    return mem0_service.service(engine, corpus.SCOPE)


# Name, recogniser, recall ahead, what stands between the user aggregator and the LLM.
ARMS: dict[str, tuple[str, bool, Memory]] = {
    "streaming, ahead": ("streaming", True, ours),
    "streaming, late, ahead": ("streaming, late", True, ours),
    "streaming, inline": ("streaming", False, ours),
    "segmented, ahead": ("segmented", True, ours),
    "segmented, inline": ("segmented", False, ours),
    "Mem0's": ("segmented", False, mem0),
}


def main() -> None:
    options = _arguments()
    logger.remove()  # Pipecat tells a lot
    loads, speed = [common.load_average()], [common.reference_ms()]
    arms = {}
    with common.scratch() as folder:
        config = stores.build(folder / "made", options.size, options.tail, options.cache)
        for name in options.arms:
            arms[name] = measure(name, config, folder / "store", options.turns)
            loads.append(common.load_average())
    speed.append(common.reference_ms())
    written = {
        "machine": common.machine(),
        "load": loads,
        "reference": speed,
        "memories": options.size,
        "turns": options.turns,
        "arms": arms,
    }
    _show(written)
    common.write_json(options.json, written)
    if options.plot:
        plots.turn(written, options.plot)


def measure(name: str, made: Config, path: Path, turns: int) -> dict[str, Any]:
    """Measure one arm.

    Args:
        name: Of ``ARMS``.
        made: Opens the store, which stays as it is.
        path: Where a copy of it may be.
        turns: How many turns count.

    Returns:
        The figures; see the module.
    """
    recogniser, ahead, memory = ARMS[name]
    shutil.copytree(made.folder, path)
    config = replace(
        made,
        memory=replace(made.memory, path=str(path)),
        prefetch=PrefetchOptions(enabled=ahead),
    )
    engine = MemoryEngine(config)
    try:
        engine.prepare(corpus.SCOPE)
        engine.drain()
        waits, counts = asyncio.run(_talk(name, engine, memory, RECOGNISERS[recogniser], turns))
    finally:
        engine.close()
        shutil.rmtree(path)
    found = {
        "wait": percentiles(waits),
        "under_1_ms": sum(ms < UNDER_MS for ms in waits) / len(waits),
        "stages": {
            stage: counts[f"recall_{stage}"]
            for stage in ("full", "lexical", "tail", "none")
            if f"recall_{stage}" in counts
        },
    }
    return found | ({"prefetch": shares(counts, len(waits))} if ahead else {})


def shares(counts: dict[str, int], turns: int) -> dict[str, float]:
    """Say what became of the recalls that were begun ahead.

    Args:
        counts: The engine's counters, over these turns.
        turns: How many.

    Returns:
        Shares of the turns, and what was begun in vain a turn.
    """
    taken = {how: counts.get(f"prefetch_{how}", 0) for how in ("stood", "vector", "redone")}
    used = taken["stood"] + taken["vector"]
    return {
        **{how: count / turns for how, count in taken.items()},
        "nothing": 1 - sum(taken.values()) / turns,
        "wasted": (counts.get("prefetch_begun", 0) - used) / turns,
    }


async def _talk(
    name: str, engine: MemoryEngine, memory: Memory, recogniser: Recogniser, turns: int
) -> tuple[list[float], dict[str, int]]:
    """Hold conversations; the waits of the turns that count, and what was counted meanwhile."""
    waits: list[float] = []
    counts: dict[str, int] = {}
    conversations = -(-turns // CONVERSATION)
    texts = iter(corpus.questions(turns + WARM_UP * conversations, common.SEED))
    chance = random.Random(f"{common.SEED}/{name}")
    for first in range(0, turns, CONVERSATION):
        count = min(CONVERSATION, turns - first)
        with common.console.status(f"{name}: {first} of {turns} turns"):
            async with ScriptedServer(reply=lambda _: "I see.") as server:
                rig = Rig(server.url, memory(engine))
                async with rig.talk:
                    await rig.say([next(texts) for _ in range(WARM_UP)], recogniser, chance)
                    before = engine.metrics.counts()
                    said = [next(texts) for _ in range(count)]
                    waits += await rig.say(said, recogniser, chance)
                    for what, after in engine.metrics.counts().items():
                        counts[what] = counts.get(what, 0) + after - before.get(what, 0)
        await asyncio.to_thread(engine.drain)
    return waits, counts


class Rig:
    """A conversation whose memory is timed from outside."""

    def __init__(self, url: str, memory: FrameProcessor) -> None:
        """Build the pipeline.

        Args:
            url: Of the LLM server.
            memory: What is timed.
        """
        self.talk = HeadlessConversation(llm_url=url, memory=memory, speaker=PERSON)
        self._came, self._waits = 0.0, list[float]()
        self._answered = asyncio.Event()
        memory.add_event_handler("on_before_process_frame", self._comes)
        memory.add_event_handler("on_before_push_frame", self._goes)
        assistant = self.talk.aggregators.assistant()
        assistant.add_event_handler("on_assistant_turn_stopped", self._on_answer)

    async def say(
        self, texts: Sequence[str], recogniser: Recogniser, chance: random.Random
    ) -> list[float]:
        """Say turns, each after the answer to the one before.

        Args:
            texts: The turns.
            recogniser: Hears them.
            chance: Of its pauses and mistakes.

        Returns:
            How long each waited for its memories, in milliseconds.
        """
        self._waits.clear()
        for text in texts:
            self._answered.clear()
            await speak(self.talk.worker.queue_frame, text, PERSON, recogniser, chance)
            await asyncio.wait_for(self._answered.wait(), ANSWERED_S)
        if len(self._waits) != len(texts):
            raise RuntimeError(f"{len(self._waits)} waits of {len(texts)} turns")
        return list(self._waits)

    async def _comes(self, _: FrameProcessor, frame: Frame) -> None:
        if isinstance(frame, LLMContextFrame) and self._is_asked(frame):
            self._came = time.perf_counter()

    async def _goes(self, _: FrameProcessor, frame: Frame) -> None:
        if isinstance(frame, LLMContextFrame) and self._came:
            self._waits.append((time.perf_counter() - self._came) * 1e3)
            self._came = 0.0

    def _is_asked(self, frame: LLMContextFrame) -> bool:
        return frame.context.messages[-1]["role"] == "user"

    async def _on_answer(self, *_: Any) -> None:
        self._answered.set()


def _show(written: dict[str, Any]) -> None:
    columns = ("", "p50", "p95", "p99", "max", "under 1 ms %", "stages")
    rows = [
        (
            name,
            *(arm["wait"][p] for p in ("p50", "p95", "p99", "max")),
            100 * arm["under_1_ms"],
            ", ".join(f"{stage} {count}" for stage, count in arm["stages"].items()),
        )
        for name, arm in written["arms"].items()
    ]
    common.table(f"{written['memories']} memories, wait of a turn, ms", columns, rows)
    for name, arm in written["arms"].items():
        if "prefetch" in arm:
            told = ", ".join(f"{how} {share:.2f}" for how, share in arm["prefetch"].items())
            common.console.print(f"{name}: {told}")


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--turns", type=int, default=300, help="for each arm (default 300)")
    parser.add_argument("--size", type=int, default=10_000, help="memories")
    parser.add_argument("--tail", type=int, default=300, help="turns since the last seal")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS), help="which")
    parser.add_argument("--cache", type=Path, help="keep built stores in this folder")
    return parser.parse_args()


if __name__ == "__main__":
    main()
