"""What do processes that share one store wait for, and what does each of them hold?

On a made-up store, beside bots: processes of their own that say a turn every tenth of a second, and
wait until it is durable.

- *second*: while one bot talks, a fresh process opens the store and answers as a turn asks (see
  benchmarks/cold_start.py), by words alone and in full; the median of ``RUNS``;
- *found*: a bot says a turn with a word that nobody said before; once it is durable, another process
  recalls it by words alone: how long that takes, and the share of these turns that are offered (in
  full, a turn that has no vector yet is ranked behind others);
- *append*: how long until a turn is durable, while one bot talks, and while four do; meanwhile
  another process makes an empty transaction every twentieth of a second: how long it waits for the
  store's lock is how long somebody's transaction holds it;
- *beside*: recalls while three bots talk, against recalls while they are silent, in rounds;
- *forgotten*: a fresh process opens the store and loads its index, before and after one turn is
  forgotten.

    python -m benchmarks.processes --cache CACHE
    python -m benchmarks.processes --only append --memories 10000

The JSON, a part each: ``second`` (``lexical`` and ``full``, the figures of a fresh process),
``found`` (``ms``, ``share``), ``append`` (``alone`` and ``together``: ``durable`` and ``lock``;
``ratio``: p99 of ``durable`` together over alone), ``beside`` (``alone``, ``beside``, ``more``: p50
beside minus alone), ``forgotten`` (``before``, ``after``). Figures in milliseconds are n, p50, p95,
p99, max.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any

from loguru import logger

from benchmarks import cold_start, common, corpus, latency, rhythms, stores
from benchmarks.cold_start import Figures
from benchmarks.common import Program, percentiles
from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Forget, SessionEdge, Turn, WriteBatch
from slowcat_memory.store import Store

SCOPE = corpus.SCOPE
PACE_S, PAUSE_S = 0.1, 0.05  # before a turn of a bot, and before a recall or an empty transaction
PATIENT = {"deadline_ms": 10_000.0}
OTHERS, RUNS, ROUND = 3, 5, 30  # bots, fresh processes of a kind, recalls in a row
FIRST = 2  # turn of a made-up store: 1 is where its session starts


def main() -> None:
    parser = common.arguments(__doc__, PARTS)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=300, help="of a bot, and recalls of a kind")
    parser.add_argument("--cache", type=Path, help="keeps built stores from run to run")
    parser.add_argument("--talk", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    logger.remove()  # the clock is in doubt: the store is made up
    if options.talk:
        talk(Path(options.talk[0]), options.talk[1])
    else:
        common.measure_parts(options, PARTS)


def build(path: Path, options: argparse.Namespace) -> Config:
    """Make the store; what opens it has no deadline, so that slow recalls show."""
    return stores.build(path, options.memories, options.cache, recall=PATIENT)


# ------------------------------------------------------------------- bots


@contextmanager
def bots(store: Path, *scopes: str) -> Iterator[list[Program]]:
    """Yield a process for each of some scopes, which says there what it is told."""
    with ExitStack() as stack:
        processes = [
            stack.enter_context(Program("benchmarks.processes", "--talk", str(store), scope))
            for scope in scopes
        ]
        for bot in processes:
            bot.heard()  # it is ready
        yield processes


def talk(store: Path, scope: str) -> None:
    """Be a bot: say each turn of a line, then print how long each took to be durable."""
    with closing(MemoryEngine(common.configuration(store))) as engine:
        engine.prepare(scope)
        session, now = f"{scope}-{os.getpid()}", datetime.now(UTC)
        engine.append(SessionEdge(session=session, scope=scope, kind="start", at=now))
        engine.flush(indexed=True)
        print("[]", flush=True)
        for line in sys.stdin:
            turns = [
                Turn(session=session, scope=scope, speaker="Anna", role="user", text=text, at=now)
                for text in json.loads(line)
            ]
            print(json.dumps(rhythms.durable(engine.append, turns, PACE_S)), flush=True)


def trees(count: int) -> list[str]:
    """Return so many turns to say."""
    return [f"I planted tree number {number} in the garden today." for number in range(count)]


# ------------------------------------------------------------------- the parts


def second(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Open the store in fresh processes while a bot talks."""
    build(path, options)
    runs: dict[str, list[Figures]] = {"lexical": [], "full": []}
    with bots(path, SCOPE) as (bot,):
        for stage in [*runs] * RUNS:
            bot.tell(trees(ROUND))
            runs[stage].append(cold_start.run(path, stage))
            bot.heard()
    return {stage: cold_start.medians(figures) for stage, figures in runs.items()}


def found(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Recall what a bot has just said."""
    build(path, options)
    config = common.configuration(path, recall=PATIENT, embedding={"kind": "none"})
    with bots(path, SCOPE) as (bot,), stores.opened(config) as engine:
        waits, hits = zip(*asyncio.run(_found(engine, bot, options.turns)), strict=True)
    return {"ms": percentiles(list(waits)), "share": round(mean(hits), 4)}


async def _found(engine: MemoryEngine, bot: Program, turns: int) -> list[tuple[float, bool]]:
    recalls = list[tuple[float, bool]]()
    await latency.ask(engine, corpus.questions(latency.WARM_UP, common.SEED))
    for number, turn in enumerate(corpus.plain_turns(turns, common.SEED + 1)):
        word = f"{chr(97 + number // 26 % 26)}{chr(97 + number % 26)}limbork"
        bot.tell([f"{turn.text} Beside it lay the {word}."])
        bot.heard()
        recall = await rhythms.timed(engine, f"where did the {word} lie")
        recalls.append((recall.ms, any(word in hit.memory.text for hit in recall.found.hits)))
    return recalls


def append(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Append alone and together, each bot for a person of its own."""
    build(path, options)
    alone, together = (_append(path, count, options.turns) for count in (1, 1 + OTHERS))
    ratio = round(together["durable"]["p99"] / alone["durable"]["p99"], 2)
    return {"alone": alone, "together": together, "ratio": ratio}


def _append(path: Path, count: int, turns: int) -> dict[str, dict[str, float]]:
    people = [f"person{number}" for number in range(count)]
    with bots(path, *people) as talking, closing(Store.open(path)) as store:
        for bot in talking:
            bot.tell(trees(turns))
        nothing = [WriteBatch()] * (2 * turns)
        lock = rhythms.durable(lambda batch: store.apply("nothing", batch), nothing, PAUSE_S)
        durable = [ms for bot in talking for ms in bot.heard()]
    return {"durable": percentiles(durable), "lock": percentiles(lock)}


def beside(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Recall while bots talk, and while they are silent, in turn."""
    config = build(path, options)
    with bots(path, *[SCOPE] * OTHERS) as talking, stores.opened(config) as engine:
        waits = asyncio.run(_beside(engine, talking, options.turns))
    alone, spent = (percentiles(waits[name]) for name in ("alone", "beside"))
    return {"alone": alone, "beside": spent, "more": round(spent["p50"] - alone["p50"], 4)}


async def _beside(
    engine: MemoryEngine, talking: list[Program], recalls: int
) -> dict[str, list[float]]:
    texts = iter(corpus.questions(latency.WARM_UP + 2 * recalls, common.SEED))
    waits = {"alone": list[float](), "beside": list[float]()}
    await latency.ask(engine, [*islice(texts, latency.WARM_UP)])
    while part := [*islice(texts, 2 * ROUND)]:
        for name, asked in (("alone", part[::2]), ("beside", part[1::2])):
            others = talking if name == "beside" else []
            for bot in others:
                bot.tell(trees(ROUND))
            for text in asked:
                await asyncio.sleep(PAUSE_S)
                waits[name].append((await rhythms.timed(engine, text)).ms)
            for bot in others:
                bot.heard()
            await asyncio.to_thread(engine.flush, indexed=True)
    return waits


def forgotten(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Open the store before and after a turn is forgotten."""
    config = build(path, options)
    before = _load(path)
    with closing(MemoryEngine(config)) as engine:
        assert engine.forget(Forget(scope=SCOPE, turns=(FIRST,))).turns == (FIRST,)
    return {"before": before, "after": _load(path)}


def _load(path: Path) -> float:
    return cold_start.medians([cold_start.run(path, "lexical") for _ in range(RUNS)])["load"]


PARTS = {part.__name__: part for part in (second, found, append, beside, forgotten)}

if __name__ == "__main__":
    main()
