"""Checks that idle work leaves the server within 50 ms of somebody's first sound.

Random interruptions of idle work by users speaking into a real pipeline, measured at the server
(``benchmarks/preempt.py``). No idle request may run beside a reply. The control is idle work whose
gate receives no activity.
"""

from pathlib import Path
from typing import Any

from benchmarks import common, preempt
from tests.harness.command import Harness, main


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


def interrupt(folder: Path, interruptions: int, seed: int, control: str) -> dict[str, Any]:
    arms = [arm for arm in preempt.ARMS if (arm == preempt.CONTROL) == bool(control)]
    wrong = [law for arm in arms for law in broken(arm, interruptions, folder / arm, seed, "p50")]
    return {"interruptions": interruptions, "broken": wrong}


HARNESSES = {
    "speech": Harness(
        run=interrupt, count=20, night=60, laws=("broken",), least={"interruptions": 1.0},
        controls={"unheard": ("broken", 10)},
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
