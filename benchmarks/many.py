"""The same number of memories, spread over many namespaces: one process that serves many people."""

import asyncio
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from benchmarks import common, corpus, stores
from benchmarks.common import percentiles
from slowcat_memory import providers
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import Encoded
from slowcat_memory.records import Turn
from slowcat_memory.store import Store

SEEDS = 400  # texts that are embedded; see ``stores.mixtures``
FLUSH_EVERY = 50  # sessions


def measure(path: Path, size: int, namespaces: int, queries: int) -> dict[str, Any]:
    """Ask namespaces in turn, by chance; all of them are loaded before.

    Args:
        path: Where the store is made.
        size: How many memories there are in all.
        namespaces: How many namespaces share them.
        queries: How many questions for each figure.

    Returns:
        ``namespaces``, ``load``, ``inline`` and ``ahead``, in milliseconds.
    """
    config = common.configuration(path, recall={"deadline_ms": 10_000.0})
    embedder, report = providers.open_query_embedder(config.embedding)
    if embedder is None:
        raise SystemExit(f"no embedding model: {report.source}")
    scopes = [f"person-{n}" for n in range(namespaces)]
    with Store.open(path) as store:
        _fill(store, embedder, scopes, size)
    texts = corpus.questions(2 * queries, common.SEED)
    vectors = [stores.encoded(embedder, text) for text in texts[queries:]]
    engine = MemoryEngine(config)
    try:
        load = [
            _timed(lambda scope=scope: engine.wiring.namespaces.get(scope).searcher)
            for scope in scopes
        ]
        inline = asyncio.run(_ask(engine, texts[:queries], scopes, None))
        ahead = asyncio.run(_ask(engine, texts[queries:], scopes, vectors))
    finally:
        engine.close()
    return {
        "namespaces": namespaces,
        "load": percentiles(load),
        "inline": percentiles(inline),
        "ahead": percentiles(ahead),
    }


def _fill(store: Store, embedder: Any, scopes: list[str], size: int) -> None:
    """Give each scope its share of sessions, and every turn its vectors."""
    chance = np.random.default_rng(common.SEED)
    seed = stores.nothing(embedder)
    for place, (_, events) in enumerate(corpus.turns(size, common.SEED)):
        scope = scopes[place % len(scopes)]
        acks = store.append_all([replace(event, scope=scope) for event in events])
        turns = [ack.event for ack in acks if isinstance(ack.event, Turn)]
        if len(seed.vectors) < SEEDS:
            seed = stores.joined(seed, stores.embedded(embedder, turns))
        made = stores.mixtures(seed, len(turns), chance)
        store.apply("made", stores.batch(embedder, turns, made))
        if place % FLUSH_EVERY == 0:  # the store takes only so much ahead of the disk
            store.flush(None)
    store.flush(None)


async def _ask(
    engine: MemoryEngine, texts: list[str], scopes: list[str], vectors: list[Encoded] | None
) -> list[float]:
    chance, took = random.Random(common.SEED), []
    for place, text in enumerate(texts):
        vector = None if vectors is None else vectors[place]
        began = time.perf_counter()
        await engine.recall(text, chance.choice(scopes), now=corpus.NOW, vector=vector)
        took.append((time.perf_counter() - began) * 1e3)
        await asyncio.sleep(0)
    return took


def _timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3
