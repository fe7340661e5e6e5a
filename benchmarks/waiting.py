"""What must nobody wait for? Somebody else's index, a click, a greeting, the building of an index.

- *loading*: one person recalls every ``PAUSE_S``, under the usual deadline, while the indexes of
  others are loaded one after the other, each of so many turns that no sealed index has;
- *facts*: of a person with so many facts, as idle work would have written them, *mute* marks a
  memory, until the index has the mark; *greeting* writes the head of a session
  (``session_context``); *search* searches facts by words, as the commands and the page do; *put*
  enters one more fact into the index that merging uses;
- *sealing*: the index of so many memories is built while ``BUSY`` processes keep the cores busy.

    python -m benchmarks.waiting --turns 8000 --facts 20000 --memories 100000 --cache CACHE
    python -m benchmarks.waiting --only facts

The JSON, a part each: ``loading`` (``turns``, and for ``alone`` and ``beside``, ``ms`` and ``full``, the
share of recalls by words and vectors), ``facts`` (``facts``, and by action ``ms`` and ``cpu_ms``, of all threads), ``sealing``
(``memories``, ``seconds``). Each figure in milliseconds is n, p50, p95, p99, max.
"""

import argparse
import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import common, corpus, stores
from benchmarks.common import percentiles
from benchmarks.rhythms import timed
from benchmarks.rig import cores
from slowcat_memory.core.facts.fact_index import FactIndex
from slowcat_memory.core.memory import FACT
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Memory, SessionEdge, Statement, Turn, WriteBatch
from slowcat_memory.store import Store

SCOPE = corpus.SCOPE
OTHERS = ("ben", "cleo", "dana")  # whose indexes are loaded
OWN, PAUSE_S = 1000, 0.02  # turns of who recalls, and seconds between two recalls
ALONE_S = 5.0  # of recalls before anything is loaded
MUTES, ROUNDS, VARIED = 30, 5, 500
BUSY = 2
BEGAN = datetime(2024, 3, 1, 9, 0, tzinfo=UTC)
Recall = tuple[float, str]  # its milliseconds, and its stage


def main() -> None:
    parser = common.arguments(__doc__, PARTS)
    parser.add_argument("--turns", type=int, default=8000, help="of each index that is loaded")
    parser.add_argument("--facts", type=int, default=20_000)
    parser.add_argument("--memories", type=int, default=100_000, help="in the index that is built")
    parser.add_argument("--cache", type=Path, help="keeps built stores from run to run")
    options = parser.parse_args()
    common.measure_parts(options, PARTS)


# ------------------------------------------------------------------- somebody else's index


def loading(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Recall for one person while the indexes of others are loaded."""
    config = common.configuration(path)
    embedder = common.embedder_of(config)
    with Store.open(path) as store:
        stores.fill(store, embedder, OWN)
        for other in OTHERS:
            stores.fill(store, embedder, options.turns, other)
    with stores.opened(config) as engine:
        spent = asyncio.run(_loading(engine))
    result: dict[str, Any] = {"turns": options.turns}
    for name, recalls in spent.items():
        full = sum(stage == "full" for _, stage in recalls) / len(recalls)
        result[name] = {"ms": percentiles([ms for ms, _ in recalls]), "full": round(full, 4)}
    return result


async def _loading(engine: MemoryEngine) -> dict[str, list[Recall]]:
    texts = iter(corpus.questions(10_000, common.SEED))
    await _recall_during(asyncio.sleep(1.0), engine, texts)
    alone, beside = await _recall_during(asyncio.sleep(ALONE_S), engine, texts), list[Recall]()
    for other in OTHERS:
        await engine.recall(next(texts), other)  # begins to load it
        beside += await _recall_during(asyncio.to_thread(engine.flush, indexed=True), engine, texts)
    return {"alone": alone, "beside": beside}


async def _recall_during(
    work: Coroutine[Any, Any, object], engine: MemoryEngine, texts: Iterator[str]
) -> list[Recall]:
    running, recalls = asyncio.create_task(work), list[Recall]()
    while not running.done():
        one = await timed(engine, next(texts))
        recalls.append((one.ms, one.found.stage))
        await asyncio.sleep(PAUSE_S)
    await running
    return recalls


# ------------------------------------------------------------------- many facts


def upkeep(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure what a person with so many facts waits for."""
    with closing(MemoryEngine(common.configuration(path))) as engine:
        facts = fill(engine, options.facts)
        actions = _actions(engine, facts)
        rounds = {name: MUTES if name == "mute" else ROUNDS for name in actions}
        spent = {name: [_spent(actions[name]) for _ in range(rounds[name])] for name in actions}
    return {
        "facts": options.facts,
        "ms": {name: percentiles([wall for wall, _ in each]) for name, each in spent.items()},
        "cpu_ms": {name: percentiles([cpu for _, cpu in each]) for name, each in spent.items()},
    }


def fill(engine: MemoryEngine, count: int) -> list[Memory]:
    """Write a conversation, and so many facts that its only turn is the source of."""
    engine.append(SessionEdge(session="s", scope=SCOPE, kind="start", at=BEGAN))
    turn = Turn(
        session="s", scope=SCOPE, speaker="Anna", role="user", text="Hello there.", at=BEGAN
    )
    source = engine.append(turn).id
    engine.append(SessionEdge(session="s", scope=SCOPE, kind="end", at=BEGAN, reason="silence"))
    engine.flush()
    texts = corpus.questions(VARIED, common.SEED)
    facts = [fact(number, texts[number % VARIED], source) for number in range(count)]
    engine.store.apply("facts", WriteBatch(memories=tuple(facts))).wait()
    engine.prepare(SCOPE)
    return facts


def fact(number: int, text: str, source: int) -> Memory:
    """Make a fact about a friend of the speaker."""
    return Memory(
        id=f"{FACT}/{number:016x}",  # as long as real ones: none begins another
        kind=f"{FACT}/person",
        scope=SCOPE,
        speaker="Anna",
        text=f"Anna's friend {number % 500} asked in letter {number}: {text}",
        valid_from=BEGAN + timedelta(minutes=number),
        recorded_at=BEGAN,
        sources=(source,),
        statement=Statement(subject=f"friend {number % 500}"),
    )


def _actions(engine: MemoryEngine, facts: list[Memory]) -> dict[str, Callable[[], Any]]:
    index = FactIndex(Tokenizer("english").for_queries())
    for known in facts:
        index.put(known, None)
    fresh = iter(
        fact(len(facts) + n, "They keep bees.", facts[0].sources[0]) for n in range(ROUNDS)
    )
    marked = iter(facts)
    return {
        "mute": lambda: engine.edit(SCOPE, next(marked).id, muted=True),
        "greeting": lambda: engine.session_context(SCOPE, local=True),
        "search": lambda: engine.search("who keeps bees", SCOPE, kinds=("fact",)),
        "put": lambda: index.put(next(fresh), None),
    }


def _spent(do: Callable[[], Any]) -> tuple[float, float]:
    """Return the milliseconds that an action takes, and those of the processor, all threads."""
    used, began = time.process_time(), time.perf_counter()
    do()
    return (time.perf_counter() - began) * 1e3, (time.process_time() - used) * 1e3


# ------------------------------------------------------------------- an index built beside others


def sealing(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Build an index anew beside busy processes."""
    config = stores.build(path, options.memories, options.cache)
    with stores.opened(config) as engine, cores(BUSY) as busy:
        busy.work()
        began = time.perf_counter()
        engine.namespaces.get(SCOPE).reseal()
        seconds = time.perf_counter() - began
    return {"memories": options.memories, "seconds": round(seconds, 2)}


PARTS = {"loading": loading, "facts": upkeep, "sealing": sealing}

if __name__ == "__main__":
    main()
