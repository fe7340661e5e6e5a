"""Made-up stores of any size, whole: turns in the log, vectors for each, a sealed index, a tail.

To embed a million texts takes most of an hour, and none of the questions here need it. So the
first few thousand are embedded, and every later vector is a mixture of two of these with noise
added, at unit length: neighbourhoods as dense as those of real ones, at the speed of NumPy. The
vectors of its tokens are those of one of the two, so that as many bytes are read as of real
ones.
"""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import common, corpus
from slowcat_memory import providers
from slowcat_memory.config import Config
from slowcat_memory.core.memory import chunk, chunk_id, indexed_text
from slowcat_memory.core.ranking import token_codes
from slowcat_memory.core.text.normalize import TOKENIZER_VERSION
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.index.format import FORMAT
from slowcat_memory.providers import Embedded, Embedder
from slowcat_memory.records import Event, TokenCodes, Turn, Vector, WriteBatch
from slowcat_memory.store import Store
from slowcat_memory.store.disk.page_reader import FORMAT as STORE_FORMAT
from slowcat_memory.store.disk.tables import TABLES

EMBEDDED = 4000  # turns whose vectors are real ones
TOGETHER = 5000  # events or vectors in a transaction, 25 MB with those of tokens
FEW = 4  # turns embedded at a time
NOISE = 0.25  # length of what is added to a mixture

TAIL = 300  # turns since the last seal


def build(path: Path, size: int, cache: Path | None = None, **sections: Any) -> Config:
    """Make a store with so many memories, or copy it from the cache.

    Args:
        path: Where.
        size: How many memories; the last ``TAIL``, of few the later half, are not sealed yet.
        cache: Where made stores are kept; None keeps none.
        **sections: Changes of the configuration, for its reader.

    Returns:
        The configuration that opens it.
    """
    config = common.configuration(path, **sections)
    tail = min(TAIL, size // 2)
    name = f"store-{size}-{tail}-{common.SEED}-{form(config)}"
    kept = cache / name if cache else None
    if kept is not None and kept.is_dir():
        shutil.copytree(kept, path)
        return config
    with common.console.status(f"building a store of {size} memories"):
        with Store.open(config.folder) as store:
            fill(store, common.embedder_of(config), size - tail)  # waits until it is saved
        with closing(MemoryEngine(config)) as engine:
            engine.namespaces.seal(corpus.SCOPE)
            engine.prepare(corpus.SCOPE)
            for _, events in corpus.turns(tail, common.SEED, size - tail):
                engine.append(*events)
            engine.flush(indexed=True)
    if kept is not None:
        made = kept.with_name(f"tmp-{kept.name}")
        shutil.rmtree(made, ignore_errors=True)
        shutil.copytree(path, made)
        made.rename(kept)
    return config


@contextmanager
def opened(config: Config) -> Iterator[MemoryEngine]:
    """Yield an engine that is ready to recall from a made-up store.

    Raises:
        RuntimeError: Work on its other threads failed: less was done than the figures say.
    """
    with closing(MemoryEngine(config)) as engine:
        engine.prepare(corpus.SCOPE)
        engine.flush(indexed=True)
        yield engine
        if failed := engine.metrics.counts().get("background_failures", 0):
            raise RuntimeError(f"{failed} pieces of the engine's work failed: see the log")


def age(config: Config) -> None:
    """Move the old turns of a made-up store into compressed blocks."""
    with closing(MemoryEngine(config)) as engine:
        engine.upkeep.age(corpus.SCOPE)


def form(config: Config) -> str:
    """Return a name of how stores are written today, so that a cache never serves an older form."""
    embedder, _ = providers.open_query_embedder(config.embedding)
    spaces = (embedder.key, embedder.token_key) if embedder else ()
    rows = [(table.name, table.key, table.value) for table in TABLES]  # how, in words
    text = repr((STORE_FORMAT, rows, FORMAT, TOKENIZER_VERSION, *spaces))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def fill(store: Store, embedder: Embedder, count: int, scope: str = corpus.SCOPE) -> None:
    """Log so many turns of a scope, with their vectors; no index is made.

    Args:
        store: Open for writing.
        embedder: Embeds the first few thousand.
        count: How many turns.
        scope: Whose.
    """
    seed = nothing(embedder)
    chance = np.random.default_rng(common.SEED)
    for turns in _logged(store, count, scope):
        need = max(0, min(EMBEDDED - len(seed.vectors), len(turns)))
        fresh = embedded(embedder, turns[:need])
        seed = joined(seed, fresh)
        made = joined(fresh, mixtures(seed, len(turns) - need, chance))
        store.apply("made", batch(embedder, turns, made)).wait(None)


def _logged(store: Store, count: int, scope: str) -> Iterator[list[Turn]]:
    """Log so many turns, many in a transaction; yield them numbered."""
    sessions = corpus.turns(count, common.SEED, scope=scope)
    events = (event for _, each in sessions for event in each)
    while said := list[Event](islice(events, TOGETHER)):
        acks = store.append_all(said)
        acks[-1].wait(None)
        yield [ack.event for ack in acks if isinstance(ack.event, Turn)]


def nothing(embedder: Embedder) -> Embedded:
    """Return what an embedder makes of no texts."""
    return Embedded(np.zeros((0, embedder.dim), np.float32), [])


def joined(one: Embedded, other: Embedded) -> Embedded:
    """Put what was made of some texts before what was made of others."""
    return Embedded(np.concatenate([one.vectors, other.vectors]), one.tokens + other.tokens)


def embedded(embedder: Embedder, turns: Sequence[Turn]) -> Embedded:
    """Return the vectors of turns, embedded a few at a time, and the codes of their tokens."""
    texts = [indexed_text(chunk(turn)) for turn in turns]
    parts = [embedder.encode(texts[n : n + FEW]) for n in range(0, len(texts), FEW)]
    return Embedded(
        np.concatenate([nothing(embedder).vectors, *(part.vectors for part in parts)]),
        # Coded once: most of a store's memories share those of a few.
        [token_codes.encode(rows) for part in parts for rows in part.tokens],
    )


def batch(embedder: Embedder, turns: Sequence[Turn], made: Embedded) -> WriteBatch:
    """Say what to store.

    Args:
        embedder: Whose spaces these vectors are of.
        turns: Logged ones, n of them.
        made: Theirs.

    Returns:
        Everything in one step.
    """
    ids = [(turn.scope, chunk_id(turn.id)) for turn in turns]
    return WriteBatch(
        vectors=tuple(
            Vector(scope=scope, memory=id_, values=row)
            for (scope, id_), row in zip(ids, made.vectors, strict=True)
        ),
        embedder=embedder.key,
        tokens=tuple(
            TokenCodes(scope=scope, memory=id_, codes=rows)
            for (scope, id_), rows in zip(ids, made.tokens, strict=True)
        ),
        token_key=embedder.token_key,
    )


def mixtures(seed: Embedded, count: int, chance: np.random.Generator) -> Embedded:
    """Make vectors that lie between given ones.

    Args:
        seed: Of real texts: n unit vectors, and those of their tokens, or none.
        count: How many are wanted.
        chance: The same state makes the same vectors.

    Returns:
        Unit vectors, shape (count, dim), float32, and the tokens of one of the two.
    """
    dim = seed.vectors.shape[1]
    one, other = chance.integers(0, len(seed.vectors), (2, count))
    share = chance.uniform(0.35, 1, (count, 1)).astype(np.float32)
    rows = share * seed.vectors[one] + (1 - share) * seed.vectors[other]
    rows += chance.standard_normal((count, dim), dtype=np.float32) * (NOISE / np.sqrt(dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    tokens = [seed.tokens[n] for n in one.tolist()] if seed.tokens else []
    return Embedded(np.asarray(rows, np.float32), tokens)
