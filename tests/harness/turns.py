"""Checks that each turn gets its memories once, and is stored once, whatever happens around it.

Random scripts (interims, finals, interruptions, tools, eager ends of turns, typed text, re-runs,
summaries, copies, two speakers, repeated words, empty turns) are played through Pipecat's
aggregators, its OpenAI service and the real processor, against a scripted LLM on loopback. A plain
model of the conversation determines what must have reached the LLM and the log.
"""

import asyncio
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from loguru import logger

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.records import Turn
from slowcat_memory.testing import memory_config
from tests.harness.command import Harness, main
from tests.harness.turn_faults import CONTROLS, IN_CONTEXT, Engine, Spoiler
from tests.harness.turn_laws import NAMES, Laws
from tests.harness.turn_player import Held, Player
from tests.harness.turn_script import TOPICS, Script, fact, write
from tests.harness.turn_stage import PATIENCE_S, SHORT_PATIENCE_S, Stage
from tests.support.memories import Look

AT_ONCE = 6  # scripts of one process: while one waits for a timer, another runs


async def play(engine: MemoryEngine, script: Script, control: str = "") -> Laws:
    """Play a script in a namespace of its own, and check it."""
    scope = f"s{script.seed}"
    _learn(engine, scope)
    door = Held()
    memory = HybridContextualMemoryProcessor(
        engine=Engine(engine, door, control),  # type: ignore[arg-type]
        user_id=scope,
    )
    spoilers = [Spoiler(control)] if control in IN_CONTEXT else []
    stage = Stage(script.eager, [memory, *spoilers], SHORT_PATIENCE_S if control else PATIENCE_S)
    player = Player(script, stage, door)
    try:
        async with stage:
            await player.play()
    except TimeoutError:
        player.laws.fault("stuck", "the pipeline did not end")
    spoken = [(clean(t.content)[0], t.interrupted) for t in stage.turns if t.content]
    player.laws.logged(_log(engine, scope), player.people, spoken)
    return player.laws


def _learn(engine: MemoryEngine, scope: str) -> None:
    at = datetime.now(UTC) - timedelta(days=3)
    turn = partial(Turn, scope=scope, speaker="anna", role="user", at=at)
    engine.append(*(turn(session=f"earlier {topic}", text=fact(topic)) for topic in TOPICS))
    engine.flush(indexed=True)


def _log(engine: MemoryEngine, scope: str) -> list[Turn]:
    engine.store.flush(5)
    return [turn for turn in Look(engine).turns(scope) if not turn.session.startswith("earlier")]


def run(seeds: list[int], control: str = "", tell: bool = False) -> Counter[str]:
    """Play scripts in this process; return the counts, faults by name.

    Args:
        seeds: Of the scripts.
        control: A fault to plant, "" for none.
        tell: Whether to write details of faults to standard error.
    """
    logger.disable("pipecat")
    logger.disable("slowcat_memory")
    folder = Path(tempfile.mkdtemp(prefix="turns-"))
    try:
        return asyncio.run(_run(folder, seeds, control, tell))
    finally:
        shutil.rmtree(folder)
        logger.enable("pipecat")
        logger.enable("slowcat_memory")


async def _run(folder: Path, seeds: list[int], control: str, tell: bool) -> Counter[str]:
    config = memory_config(folder, recall={"floor": 0.005})
    engine, free = MemoryEngine(config), asyncio.Semaphore(AT_ONCE)
    count: Counter[str] = Counter()

    async def one(seed: int) -> None:
        async with free:
            script = write(seed)
            laws = await play(engine, script, control)
        count.update(laws.faults)
        count.update(scripts=1, steps=len(script.steps), turns=laws.turns, blocks=laws.blocks)
        for tale in laws.tales if tell else ():
            print(f"seed {seed}{' eager' * script.eager}: {tale}", file=sys.stderr)

    try:
        await asyncio.gather(*(one(seed) for seed in seeds))
    finally:
        await asyncio.to_thread(engine.close)
    return count


def play_all(folder: Path, scripts: int, seed: int, control: str) -> dict[str, int]:
    """Play scripts in some processes."""
    seeds, jobs, total = range(seed, seed + scripts), os.cpu_count() or 1, Counter[str]()
    shares = [list(seeds[n::jobs]) for n in range(jobs)]
    spawn = multiprocessing.get_context("spawn")  # threads and a fork do not mix
    with ProcessPoolExecutor(jobs, mp_context=spawn) as pool:
        for count in pool.map(partial(run, control=control, tell=True), shares):
            total.update(count)
    return dict.fromkeys(NAMES, 0) | total


CAUGHT = " or ".join(name for name in NAMES if name != "stuck")
HARNESSES = {
    "scripts": Harness(
        run=play_all, count=60, night=400, laws=NAMES,
        least={"scripts": 1.0, "turns": 2.0, "blocks": 0.7},
        controls={control: (CAUGHT, 4) for control in CONTROLS},
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
