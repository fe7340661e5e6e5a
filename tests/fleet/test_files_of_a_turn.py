"""A turn goes from the member of a fleet to PostgreSQL through few files: counted in real calls."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from slowcat_memory.config import Config
from slowcat_memory.fleet import Fleet
from slowcat_memory.records import SessionEdge, Turn
from tests.support.called_files import CalledFiles

pytestmark = pytest.mark.fleet
MOST = 34
# The index hears of the log, and is no part of the way.
BESIDES = ("index/", "runtime/namespaces/")


def test_a_turn_is_in_the_database_by_few_files(worker_config: Callable[..., Config]) -> None:
    calls, now = CalledFiles(), datetime.now(UTC)
    with calls.hearing(), Fleet(worker_config()) as fleet:
        member = fleet.member("anna")
        member.start(30.0)
        member.append(SessionEdge(session="s", scope="anna", kind="start", at=now)).wait(30.0)
        turn = Turn(session="s", scope="anna", speaker="Anna", role="user", text="Hi.", at=now)
        with calls.counted():
            member.append(turn).wait(30.0)
        member.close()
    stations = calls.stations(*BESIDES)
    assert len(stations) <= MOST, stations
