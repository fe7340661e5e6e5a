"""How long does a turn wait for its memories inside a real pipeline, at the pace of speech?

Turns are spoken into Pipecat's user aggregator as a VAD, a recogniser and a turn detector would
(``benchmarks/rig.py``: what they send, when, and what of it is shortened), pass the memory
on their way to Pipecat's OpenAI service, and are answered by a scripted server in a process of its
own. The wait is from the moment when the context reaches the memory until it leaves it: logging the
turn, recall, packing, and writing the block. The store is made up (``stores.py``) and aged; each
conversation has fifty turns, and no question is asked twice.

- *one core*, *both cores*: as at home. The recogniser keeps so many cores busy until its final
  transcript (``benchmarks/rig.py``), and 0.3 to 5 s lie between two turns (``--pause``).

With a deadline of 10 ms, as by default, and without idle work. All figures are milliseconds unless
they say otherwise.

    python -m benchmarks.turn --turns 100

The JSON: ``memories``, ``turns``, ``pause_s``, and ``arms`` by name: ``wait`` (n, p50, p95, p99, max), ``in_time`` (share of turns; in full,
within 10 ms), ``stages`` (turns by how far recall came), and where recall begins ahead (``[prefetch]``)
``prefetch``: shares of turns whose recall ``stood``, whose ``vector`` stood, that were ``redone``,
that found ``nothing``, and ``wasted`` recalls a turn.
"""

import asyncio
import random
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from benchmarks import common, corpus, stores
from benchmarks.common import percentiles
from benchmarks.rig import RECOGNISERS, Cores, Rig, cores, serving
from benchmarks.tables import PERCENTILES, percent, table
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine

SIZE = 10_000  # memories
CONVERSATION = 50  # turns; then another begins
WARM_UP = 5  # turns that are not counted, in each conversation
DEADLINE_MS = 10.0
PAUSE_S = (0.3, 5.0)
FATES = {
    "stood": "all of it",
    "vector": "its vector",
    "redone": "nothing of it",
    "nothing": "there was none",
}


class Arm(Struct, frozen=True, kw_only=True):
    """One way of having the conversation.

    Attributes:
        recogniser: Of ``RECOGNISERS``.
        cores: How many the recogniser keeps busy.
        share: Of ``--turns``.
    """

    recogniser: str
    cores: int = 1
    share: float = 0.4


ARMS = {
    "one core: segmented": Arm(recogniser="segmented", share=1.0),
    "both cores: segmented": Arm(recogniser="segmented", cores=2),
    "one core: streaming": Arm(recogniser="streaming"),
    "one core: streaming, late": Arm(recogniser="streaming, late"),
}


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument(
        "--turns", type=int, default=100, help="of the first arm; the others have fewer"
    )
    parser.add_argument(
        "--arms", nargs="+", choices=ARMS, default=list(ARMS), metavar="ARM",
        help=f"which (default: all), of: {'; '.join(ARMS)}",
    )  # fmt: skip
    parser.add_argument(
        "--pause", type=float, nargs=2, default=list(PAUSE_S), metavar="S",
        help="shortest and longest pause between turns (default 0.3 and 5 seconds)",
    )  # fmt: skip
    parser.add_argument("--cache", type=Path, help="keep built stores in this folder")
    options = parser.parse_args()
    logger.remove()  # Pipecat tells a lot
    arms = {}
    with common.scratch() as folder:
        config = stores.build(folder / "made", SIZE, stores.TAIL, options.cache)
        stores.age(config)
        for name in options.arms:
            turns = max(1, round(ARMS[name].share * options.turns))
            pause_s = tuple(options.pause)
            arms[name] = measure(name, config, folder / "store", turns, pause_s)
            print(f"{name}: {arms[name]['wait']} {arms[name]['stages']}")
    written = {"memories": SIZE, "turns": options.turns, "pause_s": options.pause}
    written["arms"] = arms
    print(report(written))
    common.write_json(options.json, written)


def measure(
    name: str,
    made: Config,
    path: Path,
    turns: int,
    pause_s: tuple[float, float] = PAUSE_S,
) -> dict[str, Any]:
    """Measure one arm.

    Args:
        name: Of ``ARMS``.
        made: Opens the store, which stays as it is.
        path: Where a copy of it may be.
        turns: How many turns count.
        pause_s: Before a turn, shortest and longest.

    Returns:
        The figures; see the module.
    """
    arm = ARMS[name]
    shutil.copytree(made.folder, path)
    config = replace(made, memory=replace(made.memory, path=str(path)))
    with stores.opened(config) as engine, serving() as url, cores(arm.cores) as busy:
        talk = Talk(name, engine, url, busy, pause_s, random.Random(f"{common.SEED}/{name}"))
        waits, counts = asyncio.run(talk.hold(turns))
    shutil.rmtree(path)
    return figures(waits, counts) | {"prefetch": shares(counts, len(waits))}


def figures(waits: Sequence[float], counts: dict[str, int]) -> dict[str, Any]:
    """Return what the JSON says of an arm, but for the recalls begun ahead."""
    stages = {
        stage: counts[f"recall_{stage}"]
        for stage in ("full", "lexical", "tail", "none")
        if f"recall_{stage}" in counts
    }
    in_time = sum(ms <= DEADLINE_MS for ms in waits)
    return {
        "wait": percentiles(waits),
        "in_time": min(in_time, stages.get("full", 0)) / len(waits) if stages else 0.0,
        "stages": stages,
    }


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


class Talk(Struct, frozen=True):
    """The conversations of one arm; the recogniser keeps cores ``busy``."""

    name: str
    engine: MemoryEngine
    url: str
    busy: Cores
    pause_s: tuple[float, float]
    chance: random.Random

    async def hold(self, turns: int) -> tuple[list[float], dict[str, int]]:
        """Hold conversations; how long the turns that count waited, and what was counted meanwhile."""
        waits: list[float] = []
        counts = Counter[str]()
        count = turns + WARM_UP * -(-turns // CONVERSATION)
        left = iter(corpus.questions(count, common.SEED))
        for first in range(0, turns, CONVERSATION):
            count = min(CONVERSATION, turns - first)
            with common.console.status(f"{self.name}: {first} of {turns} turns"):
                said = [next(left) for _ in range(WARM_UP + count)]
                before, waited = await self._one(said)
            waits += waited
            counts.update(self.engine.metrics.counts())
            counts.subtract(before)
            await asyncio.to_thread(self.engine.flush, indexed=True)
        return waits, counts

    async def _one(self, texts: Sequence[str]) -> tuple[dict[str, int], list[float]]:
        """Hold one conversation; the counters after its warm-up, and the waits from then on."""
        memory = HybridContextualMemoryProcessor(engine=self.engine, user_id=corpus.SCOPE)
        rig = Rig(self.url, memory)
        heard = RECOGNISERS[ARMS[self.name].recogniser], self.chance, self.busy
        async with rig.talk:
            await rig.say(texts[:WARM_UP], *heard)
            before = self.engine.metrics.counts()
            return before, await rig.say(texts[WARM_UP:], *heard, self.pause_s)


# -------------------------------------------------------------------- output


def report(written: Mapping[str, Any]) -> str:
    """Write the results as Markdown: the waits, and what became of recalls begun ahead."""
    arms = written["arms"]
    waits = [
        (
            name,
            arm["wait"]["n"],
            *(arm["wait"][p] for p in PERCENTILES),
            percent(arm["in_time"]),
            ", ".join(f"{stage} {count}" for stage, count in arm["stages"].items()),
        )
        for name, arm in arms.items()
    ]
    fates = [
        (name, *(percent(arm["prefetch"][how]) for how in FATES), arm["prefetch"]["wasted"])
        for name, arm in arms.items()
    ]
    return "\n\n".join(
        (
            f"**{written['memories']:,} memories**, milliseconds:",
            table(("", "turns", *PERCENTILES, "in time, %", "stages"), waits),
            "What a turn took of what was recalled ahead, % of turns:",
            table(("", *FATES.values(), "recalls in vain a turn"), fates),
        )
    )


if __name__ == "__main__":
    main()
