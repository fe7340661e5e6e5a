"""Checks that idle work leaves the server within 50 ms of somebody's first sound.

Random interruptions of idle work by users speaking into a real pipeline, measured at the server
(``benchmarks/preempt.py``). No idle request may run beside a reply. With a control that must be
caught: idle work whose gate receives no activity.

    python -m tests.harness.preempt --interruptions 200
"""

import argparse
import tempfile
from pathlib import Path

from loguru import logger

from benchmarks import common, preempt


def broken(
    arm: str, interruptions: int, folder: Path, seed: int = common.SEED, by: str = "max"
) -> list[str]:
    """Interrupt; return the broken laws, with their figures.

    Args:
        arm: Of ``preempt.ARMS``.
        interruptions: How often somebody begins to speak.
        folder: For a store.
        seed: Of the moments.
        by: Which figure is judged; "p50" on a machine with other load.
    """
    found = preempt.measure(arm, folder, interruptions, seed)
    gone, laws = found["gone"], []
    if gone["n"] < interruptions // 2:
        laws.append(f"only {gone['n']} of {interruptions} found a request under way")
    if gone[by] > preempt.LIMIT_MS:
        laws.append(f"late: requests stayed for {gone[by]:.1f} ms ({by})")
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
