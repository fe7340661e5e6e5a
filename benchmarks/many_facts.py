"""What do a click, a greeting, an index entry and a search cost a person with many facts?

A store gets so many facts of one person, as idle work would have written them. Then:

- *mute*: one memory is muted, and the next recall of that person waits for it;
- *greeting*: the head of a session is written (``session_context``);
- *search*: facts are searched by words, as the commands and the page do;
- *put*: one more fact is entered into the index that merging uses.

    python -m benchmarks.many_facts --facts 20000

The JSON: ``facts``, and ``ms`` by name: n, p50, p95, p99, max.
"""

import argparse
import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks import common, corpus
from benchmarks.common import percentiles
from slowcat_memory.core.facts.fact_index import FactIndex
from slowcat_memory.core.memory import FACT
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Memory, SessionEdge, Statement, Turn, WriteBatch

SCOPE, BATCH, ROUNDS, VARIED = "anna", 1000, 5, 500
BEGAN = datetime(2024, 3, 1, 9, 0, tzinfo=UTC)


def main() -> None:
    options = _arguments()
    with common.scratch() as folder:
        engine = MemoryEngine(common.configuration(folder))
        try:
            facts = fill(engine, options.facts)
            found = measure(engine, facts)
        finally:
            engine.close()
    common.table(
        f"{options.facts} facts, milliseconds",
        ("", "p50", "max", "n"),
        [(name, ms["p50"], ms["max"], ms["n"]) for name, ms in found.items()],
    )
    common.write_json(options.json, {"facts": options.facts, "ms": found})


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
    for first in range(0, count, BATCH):
        engine.store.apply("facts", WriteBatch(memories=tuple(facts[first : first + BATCH]))).wait()
    engine.prepare(SCOPE)
    return facts


def fact(number: int, text: str, source: int) -> Memory:
    """Make a fact about a friend of the speaker."""
    return Memory(
        id=f"{FACT}/{number}",
        kind=f"{FACT}/person",
        scope=SCOPE,
        speaker="Anna",
        text=f"Anna's friend {number % 500} asked in letter {number}: {text}",
        valid_from=BEGAN + timedelta(minutes=number),
        recorded_at=BEGAN,
        sources=(source,),
        statement=Statement(subject=f"friend {number % 500}"),
    )


def measure(engine: MemoryEngine, facts: list[Memory]) -> dict[str, dict[str, float]]:
    """Measure everything of the module on a store that was filled."""
    index = FactIndex(Tokenizer("english").for_queries())
    for one in facts:
        index.put(one, None)
    fresh = iter(
        fact(len(facts) + n, "They keep bees.", facts[0].sources[0]) for n in range(ROUNDS)
    )
    marked = iter(range(ROUNDS))

    def mute() -> None:
        engine.mark(SCOPE, facts[next(marked)].id, muted=True)
        asyncio.run(_recall(engine))

    actions: dict[str, Callable[[], Any]] = {
        "mute": mute,
        "greeting": lambda: engine.session_context(SCOPE, local=True),
        "search": lambda: engine.search("who keeps bees", SCOPE, kinds=("fact",)),
        "put": lambda: index.put(next(fresh), None),
    }
    return {name: percentiles([_ms(do) for _ in range(ROUNDS)]) for name, do in actions.items()}


async def _recall(engine: MemoryEngine) -> None:
    await engine.recall("hello there", SCOPE)


def _ms(do: Callable[[], Any]) -> float:
    began = time.perf_counter()
    do()
    return (time.perf_counter() - began) * 1e3


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--facts", type=int, default=20_000)
    return parser.parse_args()


if __name__ == "__main__":
    main()
