"""What does idle work cost who speaks? Recall and the wait of a turn, with it and without.

The rig of ``benchmarks.turn``, with a recogniser that sends nothing before the turn, so that all of
recall is waited for. In every other conversation a thinker (``benchmarks/thinkers.py``) is at work
whenever nobody speaks: it embeds texts and asks an LLM. People speak at random moments, a tenth to
a third of a second after an answer, when its step is under way. The two kinds of conversation take
turns, so that what else the machine does is shared between them.

- *wait* is from the moment when the context reaches the memory until it leaves it; *recall* is the
  part of it that recall and packing take.
- *ratio* is with idle work over without; up to 1.1 is allowed.

    python -m benchmarks.idle_cost --turns 600

The JSON: ``machine``, ``load``, ``memories``, ``turns`` of each arm, ``reference``, ``steps`` of
idle work, ``arms`` (*off*, *on*) with ``wait`` and ``recall`` (n, p50, p95, p99, max), and ``ratio``
by figure and percentile.
"""

import argparse
import asyncio
import contextlib
import random
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from loguru import logger
from msgspec.structs import replace

from benchmarks import common, corpus, stores, thinkers
from benchmarks.common import percentiles
from benchmarks.recognisers import RECOGNISERS
from benchmarks.rig import Rig
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.testing.server import ScriptedServer

GRACE_S = 0.05
PAUSE_S = (0.1, 0.3)
CONVERSATION = 25  # turns; then the other kind begins
WARM_UP = 3  # turns that are not counted, in each conversation
EMBEDDED = 64  # texts of a step
TOKEN_S = 0.02
FIGURES = ("wait", "recall")
COMPARED = ("p50", "p95", "p99")

Waits = dict[str, list[float]]


def main() -> None:
    options = _arguments()
    logger.remove()  # Pipecat tells a lot
    loads, speed = [common.load_average()], [common.reference_ms()]
    with common.scratch() as folder:
        config = stores.build(folder / "store", options.size, options.tail, options.cache)
        found = measure(config, options.turns)
    loads.append(common.load_average())
    speed.append(common.reference_ms())
    written = {
        "machine": common.machine(),
        "load": loads,
        "reference": speed,
        "memories": options.size,
        "turns": options.turns,
        **found,
    }
    _show(written)
    common.write_json(options.json, written)


def measure(config: Config, turns: int) -> dict[str, Any]:
    """Measure both arms.

    Args:
        config: Opens the store; what is said is added to it.
        turns: How many count, in each arm.

    Returns:
        The figures; see the module.
    """
    engine = MemoryEngine(replace(config, idle=IdleOptions(enabled=False, grace_s=GRACE_S)))
    try:
        engine.prepare(corpus.SCOPE)
        engine.drain()
        waits, steps = asyncio.run(_alternate(engine, turns))
    finally:
        engine.close()
    arms = {
        name: {figure: percentiles(arm[figure]) for figure in FIGURES}
        for name, arm in waits.items()
    }
    ratio = {
        figure: {p: round(arms["on"][figure][p] / arms["off"][figure][p], 3) for p in COMPARED}
        for figure in FIGURES
    }
    return {"steps": steps, "arms": arms, "ratio": ratio}


async def _alternate(engine: MemoryEngine, turns: int) -> tuple[dict[str, Waits], int]:
    """Hold conversations of both kinds in turn; their waits, and the steps of idle work."""
    waits: dict[str, Waits] = {name: {figure: [] for figure in FIGURES} for name in ("off", "on")}
    conversations = 2 * -(-turns // CONVERSATION)
    texts = iter(corpus.questions(conversations * (CONVERSATION + WARM_UP) + EMBEDDED, common.SEED))
    job = thinkers.Dream(list(islice(texts, EMBEDDED)))
    chance = random.Random(common.SEED)
    for number in range(conversations):
        arm = ("off", "on")[number % 2]
        left = turns - len(waits[arm]["wait"])
        said = list(islice(texts, WARM_UP + min(CONVERSATION, left)))
        with common.console.status(f"idle work {arm}: {left} turns left"):
            async with ScriptedServer(_reply, token_delay_s=TOKEN_S) as server:
                thinker = thinkers.thinking(engine.idle.gate, server.url, engine, job)
                with thinker if arm == "on" else contextlib.nullcontext():
                    for figure, values in (await _talk(engine, server, said, chance)).items():
                        waits[arm][figure] += values
        await asyncio.to_thread(engine.drain)
    return waits, job.begun


async def _talk(
    engine: MemoryEngine, server: ScriptedServer, said: list[str], chance: random.Random
) -> Waits:
    memory = HybridContextualMemoryProcessor(engine=engine, user_id=corpus.SCOPE)
    recalls: list[float] = []

    async def recalled(_: Any, found: Any, packed: Any) -> None:
        recalls.append(found.timings["wait"])

    memory.add_event_handler("on_memory_recalled", recalled)
    rig, waits = Rig(server.url, memory), list[float]()
    async with rig.talk:
        for text in said:
            await asyncio.sleep(chance.uniform(*PAUSE_S))
            waits += await rig.say([text], RECOGNISERS["segmented"], chance)
    if len(recalls) != len(said):
        raise RuntimeError(f"{len(recalls)} recalls of {len(said)} turns")
    return {"wait": waits[WARM_UP:], "recall": recalls[WARM_UP:]}


def _reply(request: dict[str, Any]) -> str:
    if not thinkers.is_idle_work(request):
        return "I see."
    return msgspec.json.encode(thinkers.Answer("so " * thinkers.WORDS)).decode()


def _show(written: dict[str, Any]) -> None:
    rows = [
        (f"{figure}, idle work {arm}", *(values[figure][p] for p in (*COMPARED, "max")))
        for figure in FIGURES
        for arm, values in written["arms"].items()
    ]
    rows += [(f"{name}, ratio", *ratio.values(), "") for name, ratio in written["ratio"].items()]
    title = f"{written['memories']} memories, {written['turns']} turns an arm, ms"
    common.table(title, ("", *COMPARED, "max"), rows)
    common.console.print(f"{written['steps']} steps of idle work were begun")


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--turns", type=int, default=600, help="for each arm (default 600)")
    parser.add_argument("--size", type=int, default=10_000, help="memories")
    parser.add_argument("--tail", type=int, default=300, help="turns since the last seal")
    parser.add_argument("--cache", type=Path, help="keep built stores in this folder")
    return parser.parse_args()


if __name__ == "__main__":
    main()
