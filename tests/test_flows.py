"""Whoever reads a flow from its beginning to its end opens few files: counted in real calls.

A query that becomes a block is counted in tests/runtime/recall/test_files_of_a_recall.py, a user's
words in tests/processor/test_user_turn_path.py, a turn in a fleet in tests/fleet/test_turn_path.py.
"""

from contextlib import closing

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Forget
from slowcat_memory.testing import FixedClock
from tests.support.called_files import CalledFiles
from tests.support.memories import residue
from tests.support.sessions import hold
from tests.support.stores import configured

SECRET = "quokkasaurus"


def forget(engine: MemoryEngine, turns: list[int]) -> None:
    """From the order until no byte is left on disk."""
    engine.forget(Forget(turns=tuple(turns)))
    engine.flush(indexed=True)
    assert not residue(engine.config.folder, SECRET)


def told_next_morning(engine: MemoryEngine, turns: list[int]) -> None:
    """From idle work, by rule, until a fact is found."""
    engine.idle.until_done(["facts"])
    engine.flush(indexed=True)
    [hit] = engine.search("who bought it", "anna", 1, kinds=("fact",)).hits
    assert SECRET in hit.memory.text


@pytest.mark.parametrize(("flow", "most"), [(forget, 50), (told_next_morning, 67)])
def test_a_flow_goes_through_few_files(flow, most, tmp_path):
    calls, clock = CalledFiles(), FixedClock()
    with calls.hearing():
        with closing(MemoryEngine(configured(tmp_path / "memory"), clock=clock)) as engine:
            said = ["My sister Mia lives in Graz.", f"I bought a {SECRET} at the market."]
            turns = hold(engine, "s", said, clock(), step_s=5)
            engine.flush(indexed=True)
            clock.advance(8 * 3600)
            with calls.counted():
                flow(engine, turns[1:])
    stations = calls.stations("testing/")
    assert len(stations) <= most, stations
