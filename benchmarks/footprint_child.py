"""A fresh process brings the memory's parts up, one after the other: how much does each stay?

``footprint`` starts this module as a program; it prints its figures as one line of JSON.
"""

import json
import sys
from pathlib import Path

from benchmarks.cold_start import resident_mb


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
    with engine.store.snapshot() as snapshot:
        memories = sum(held.memories for held in snapshot.tiers().values())
    engine.close()
    print(json.dumps({"memories": memories, "rss_mb": _grown(marks)}))


def _grown(marks: dict[str, float]) -> dict[str, float]:
    """Say what each part added, the whole, and the whole without the interpreter."""
    names, values = list(marks), list(marks.values())
    added = [values[0], *(b - a for a, b in zip(values, values[1:], strict=False))]
    grown = {name: round(mb, 1) for name, mb in zip(names, added, strict=True)}
    return grown | {"total": values[-1], "memory": round(values[-1] - values[0], 1)}


if __name__ == "__main__":
    _program(Path(sys.argv[1]))
