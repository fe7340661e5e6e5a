"""A fresh process opens a store and answers one question: how long, and how much memory.

``measure`` starts this module as a program, once without vectors and once with them; the program
prints its figures as one line of JSON.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

QUESTION = "what does Clara think about plum cake"


def measure(store: Path, runs: int) -> dict[str, Any]:
    """Start the program several times, and take the median of each figure.

    Args:
        store: A store that nobody has open.
        runs: How many processes of each kind.

    Returns:
        ``cold``: milliseconds from the open to the first answer, "lexical" and "full", and the
        "imports" before it; ``rss_mb`` of the process after some answers, touched pages of mapped
        files included, and ``rss_imports_mb`` before it
        opened anything.
    """
    full = _median([_run(store, "full") for _ in range(runs)])
    lexical = _median([_run(store, "lexical") for _ in range(runs)])
    return {
        "cold": {
            "lexical": lexical["answer"],
            "full": full["answer"],
            "imports": full["imports"],
        },
        "rss_mb": full["rss_mb"],
        "rss_imports_mb": full["rss_imports_mb"],
    }


def _run(store: Path, stage: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cold_start", str(store), stage],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the fresh process failed: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _median(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: sorted(run[name] for run in runs)[len(runs) // 2] for name in runs[0]}


def _program(store: Path, stage: str) -> None:
    began = time.perf_counter()
    from benchmarks import common, corpus
    from slowcat_memory.engine import MemoryEngine

    imported, rss = time.perf_counter(), resident_mb()
    embedding = {} if stage == "full" else {"embedding": {"kind": "none"}}
    engine = MemoryEngine(common.configuration(store, **embedding))
    found = engine.search(QUESTION, corpus.SCOPE, 6)
    answered = time.perf_counter()
    if found.stage != stage or not found.hits:
        raise SystemExit(f"the first answer came by {found.stage!r}, not by {stage!r}")
    for question in corpus.questions(200, common.SEED):
        engine.search(question, corpus.SCOPE, 6)
    figures = {
        "imports": round((imported - began) * 1e3, 1),
        "answer": round((answered - imported) * 1e3, 1),
        "rss_imports_mb": rss,
        "rss_mb": resident_mb(),
    }
    engine.close()
    print(json.dumps(figures))


def resident_mb() -> float:
    """Return this process's resident memory in megabytes; its peak where there is no /proc."""
    try:
        status = Path("/proc/self/status").read_text()
        return round(int(status.split("VmRSS:")[1].split()[0]) / 1024, 1)
    except OSError:
        import resource

        unit = 2**20 if sys.platform == "darwin" else 2**10
        return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)


if __name__ == "__main__":
    _program(Path(sys.argv[1]), sys.argv[2])
