"""What does idle work by rules cost, and how does it grow with the log?

A long conversation is written into a new store, and all idle work is done with no LLM. Printed for
each length: CPU seconds of this process and its children in all, and seconds of each job's steps.

    python -m benchmarks.idle_growth --turns 1000 2000 4000
    python -m benchmarks.idle_growth --turns 10000 --per-session 20 --model
"""

import argparse
import resource
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

from loguru import logger

from benchmarks import common
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import FixedClock, HashEmbedder, memory_config
from tests.support.long_talks import BEGAN, long_talk

SHOWN = 6  # jobs


def measure(
    folder: Path, turns: int, per_session: int = 0, model: bool = False
) -> tuple[float, float, Counter[str]]:
    """Return CPU seconds and seconds of all idle work, and seconds by job.

    Args:
        per_session: Turns of a session; 0 for one session.
        model: Whether there is an embedding model (a quick one, of hashed words).
    """
    clock = FixedClock(BEGAN)
    config = memory_config(
        folder, idle={"enabled": False, "on_battery": True}, store={"runs_keep": 1_000_000}
    )
    engine = MemoryEngine(config, clock=clock, embedder=HashEmbedder() if model else None)
    try:
        events = list(long_talk(turns, per_session))
        engine.append_all(events)
        engine.drain()
        engine.store.flush(None)
        clock.now = events[-1].at + timedelta(days=8)
        cpu, began = cpu_seconds(), time.monotonic()
        engine.think()
        cpu, took = cpu_seconds() - cpu, time.monotonic() - began
        with engine.store.snapshot() as snapshot:
            runs = snapshot.runs()
    finally:
        engine.close()
    by_job: Counter[str] = Counter()
    for run in runs:
        by_job[run.job] += run.ms / 1e3  # type: ignore[assignment]  # a Counter of seconds
    return cpu, took, by_job


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, nargs="+", default=[1000, 2000, 4000])
    parser.add_argument("--per-session", type=int, default=0, help="0 for one session")
    parser.add_argument("--model", action="store_true", help="with an embedding model")
    options = parser.parse_args()
    logger.remove()
    for turns in options.turns:
        with common.scratch() as folder:
            cpu, took, by_job = measure(folder / "store", turns, options.per_session, options.model)
        jobs = ", ".join(f"{job} {seconds:.1f}" for job, seconds in by_job.most_common(SHOWN))
        print(f"{turns:,} turns: {cpu:.1f} s of CPU, {took:.1f} s ({jobs})", flush=True)


if __name__ == "__main__":
    main()
