"""A fresh process opens a store and answers as a turn asks: how long, and how much memory.

``run`` starts this module as a program, which prints its figures as one line of JSON.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

QUESTION = "what does Clara think about plum cake"
Figures = dict[str, float]


def measure(store: Path, runs: int) -> dict[str, Any]:
    """Start the program several times, and take the median of each figure.

    Args:
        store: A store that nobody has open.
        runs: How many processes of each kind.

    Returns:
        ``cold``: milliseconds from the open to the first answer, "lexical" and "full", and the
        "imports" before it; ``rss_mb`` of the process after some answers, touched pages of mapped
        files included, and ``rss_imports_mb`` before it opened anything.
    """
    full = medians([run(store, "full") for _ in range(runs)])
    lexical = medians([run(store, "lexical") for _ in range(runs)])
    cold = {"lexical": lexical["answer"], "full": full["answer"], "imports": full["imports"]}
    return {"cold": cold, "rss_mb": full["rss_mb"], "rss_imports_mb": full["rss_imports_mb"]}


def run(store: Path, stage: str) -> Figures:
    """Start the program once.

    Args:
        store: Others may have it open.
        stage: "full", or "lexical", which opens no embedding model.

    Returns:
        Milliseconds of the ``imports``, and from then until the index is loaded (``load``) and the
        first question answered (``answer``). MB after some answers, ``rss_mb``; before the open,
        ``rss_imports_mb``; and ``uss_mb``, how much private memory came in between.

    Raises:
        RuntimeError: It failed.
    """
    command = [sys.executable, "-m", "benchmarks.cold_start", str(store), stage]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the fresh process failed: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.splitlines()[-1])


def medians(runs: Sequence[Figures]) -> Figures:
    """Return the median of each figure."""
    return {name: median(figures[name] for figures in runs) for name in runs[0]}


def _program(store: Path, stage: str) -> None:
    began = time.perf_counter()
    import psutil

    from benchmarks import common, corpus
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.runtime.recall.query import Query

    imported, fresh = time.perf_counter(), psutil.Process().memory_full_info()
    embedding = {} if stage == "full" else {"embedding": {"kind": "none"}}
    engine = MemoryEngine(common.configuration(store, **embedding))
    namespace, answer = engine.namespaces.get(corpus.SCOPE), engine.retrieval.answer
    loaded = time.perf_counter()
    found = answer(Query(text=QUESTION, scope=corpus.SCOPE, now=corpus.NOW))
    answered = time.perf_counter()
    if found.stage != stage or not found.hits:
        raise SystemExit(f"the first answer came by {found.stage!r}, not by {stage!r}")
    namespace.finish_opening()  # which the first answer does not wait for
    for question in corpus.questions(200, common.SEED):
        answer(Query(text=question, scope=corpus.SCOPE, now=corpus.NOW))
    used = psutil.Process().memory_full_info()
    figures = {
        "imports": (imported - began) * 1e3,
        "load": (loaded - imported) * 1e3,
        "answer": (answered - imported) * 1e3,
        "rss_imports_mb": fresh.rss / 2**20,
        "rss_mb": used.rss / 2**20,
        "uss_mb": (used.uss - fresh.uss) / 2**20,
    }
    engine.close()
    print(json.dumps({name: round(figure, 1) for name, figure in figures.items()}))


if __name__ == "__main__":
    _program(Path(sys.argv[1]), sys.argv[2])
