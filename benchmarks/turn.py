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
from collections.abc import Mapping
from itertools import islice
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
        "--pause", type=float, nargs=2, default=[0.3, 5.0], metavar="S",
        help="shortest and longest pause between turns (default 0.3 and 5 seconds)",
    )  # fmt: skip
    parser.add_argument("--cache", type=Path, help="keep built stores in this folder")
    options = parser.parse_args()
    logger.remove()  # Pipecat tells a lot
    arms = {}
    with common.scratch() as folder:
        config = stores.build(folder / "made", SIZE, options.cache)
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
    pause_s: tuple[float, float],
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
    shutil.copytree(made.folder, path)
    config = replace(made, memory=replace(made.memory, path=str(path)))
    with stores.opened(config) as engine, serving() as url, cores(ARMS[name].cores) as busy:
        waits, counts = asyncio.run(_talk(name, engine, url, busy, turns, pause_s))
    shutil.rmtree(path)
    in_time = sum(ms <= DEADLINE_MS for ms in waits)
    stages = {
        stage: counts[f"recall_{stage}"]
        for stage in ("full", "lexical", "tail", "none")
        if f"recall_{stage}" in counts
    }
    return {
        "wait": percentiles(waits),
        "in_time": min(in_time, stages.get("full", 0)) / len(waits),
        "stages": stages,
        "prefetch": shares(counts, len(waits)),
    }


async def _talk(
    name: str,
    engine: MemoryEngine,
    url: str,
    busy: Cores,
    turns: int,
    pause_s: tuple[float, float],
) -> tuple[list[float], dict[str, int]]:
    """Hold conversations; how long the turns that count waited, and what was counted meanwhile."""
    waits, counts = list[float](), Counter[str]()
    heard = RECOGNISERS[ARMS[name].recogniser], random.Random(f"{common.SEED}/{name}"), busy
    texts = iter(corpus.questions(turns + WARM_UP * -(-turns // CONVERSATION), common.SEED))
    for first in range(0, turns, CONVERSATION):
        memory = HybridContextualMemoryProcessor(engine=engine, user_id=corpus.SCOPE)
        rig, last = Rig(url, memory), min(CONVERSATION, turns - first)
        with common.console.status(f"{name}: {first} of {turns} turns"):
            async with rig.talk:
                await rig.say([*islice(texts, WARM_UP)], *heard)
                before = engine.metrics.counts()
                waits += await rig.say([*islice(texts, last)], *heard, pause_s)
        counts.update(engine.metrics.counts())
        counts.subtract(before)
        await asyncio.to_thread(engine.flush, indexed=True)
    return waits, counts


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
