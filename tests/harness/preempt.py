"""Idle work is off the server within 50 ms of somebody's first sound, and never beside a reply.

Random interruptions of a thinker by people who speak into a real pipeline, seen from the server's
side (``benchmarks/preempt.py``). With a control that must be caught: a thinker whose gate nobody
tells what goes on.

    python -m tests.harness.preempt --interruptions 200
"""

import argparse
import tempfile
from pathlib import Path

from loguru import logger

from benchmarks import common, preempt


def broken(arm: str, interruptions: int, folder: Path, seed: int = common.SEED) -> list[str]:
    """Interrupt, and say which laws did not hold.

    Args:
        arm: Of ``preempt.ARMS``.
        interruptions: How often somebody begins to speak.
        folder: For a store.
        seed: Of the moments.

    Returns:
        What was broken, with its figures; nothing when all is well.
    """
    found = preempt.measure(arm, folder, interruptions, seed)
    gone, laws = found["gone"], []
    if gone["n"] < interruptions // 2:
        laws.append(f"only {gone['n']} of {interruptions} found a request under way")
    if gone["max"] > preempt.LIMIT_MS:
        laws.append(f"late: a request stayed for {gone['max']:.1f} ms")
    if found["overlaps"]:
        laws.append(f"beside: {found['overlaps']} requests beside one of the conversation")
    return laws


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interruptions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=common.SEED)
    options = parser.parse_args()
    logger.remove()
    failed = False
    for arm in preempt.ARMS:
        control = arm == preempt.CONTROL
        count = min(20, options.interruptions) if control else options.interruptions
        with tempfile.TemporaryDirectory() as folder:
            laws = broken(arm, count, Path(folder), options.seed)
        told = "; ".join(laws) or "all laws hold"
        print(f"{arm}, {count} interruptions: {told}{' (control)' if control else ''}")
        failed |= bool(laws) != control
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
