"""A fresh process brings the memory's parts up, one after the other: how much does each stay?

``footprint`` starts this module as a program; it prints its figures as one line of JSON.
"""

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.cold_start import resident_mb

FETCHES = 300
COUNTS = (6, 20)


def _program(path: Path) -> None:
    marks = {"interpreter": resident_mb()}
    from benchmarks import common, corpus
    from slowcat_memory import providers
    from slowcat_memory.engine import MemoryEngine

    marks["package"] = resident_mb()
    embedder, _ = providers.open_query_embedder(common.configuration(path).embedding)
    marks["model"] = resident_mb()
    # Reading only: else it would embed what lacks vectors, and that would be measured too.
    engine = MemoryEngine(common.configuration(path), embedder=embedder, readonly=True)
    marks["store"] = resident_mb()
    engine.prepare(corpus.SCOPE)
    marks["index"] = resident_mb()
    for question in corpus.questions(200, common.SEED):
        engine.search(question, corpus.SCOPE, 6)
    marks["searches"] = resident_mb()
    fetched = _fetch(engine, corpus.SCOPE)
    with engine.store.snapshot() as snapshot:
        memories = sum(held.memories for held in snapshot.tiers().values())
    engine.close()
    print(json.dumps({"memories": memories, "rss_mb": _grown(marks), "fetch_ms": fetched}))


def _fetch(engine: Any, scope: str) -> dict[str, Any]:
    """Read texts of random turns, as a recall does that found them."""
    from benchmarks.common import SEED, percentiles
    from slowcat_memory.core.memory import chunk_id

    chance = random.Random(SEED)
    with engine.store.snapshot() as snapshot:
        ids = [chunk_id(turn.id) for turn in snapshot.turns(scope)]
    found = {}
    for count in COUNTS:
        took = []
        for _ in range(FETCHES):
            wanted = chance.sample(ids, min(count, len(ids)))
            began = time.perf_counter()
            with engine.store.snapshot() as snapshot:
                for id_ in wanted:
                    snapshot.read(scope, id_)
            took.append((time.perf_counter() - began) * 1e3)
        found[str(count)] = percentiles(took)
    return found


def _grown(marks: dict[str, float]) -> dict[str, float]:
    """Say what each part added, the whole, and the whole without the interpreter."""
    names, values = list(marks), list(marks.values())
    added = [values[0], *(b - a for a, b in zip(values, values[1:], strict=False))]
    grown = {name: round(mb, 1) for name, mb in zip(names, added, strict=True)}
    return grown | {"total": values[-1], "memory": round(values[-1] - values[0], 1)}


if __name__ == "__main__":
    _program(Path(sys.argv[1]))
