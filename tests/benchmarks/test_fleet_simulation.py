"""What the simulation of a fleet plays: sizes of people, load of a server, where it stops."""

import statistics
from typing import Any

import pytest
from msgspec.structs import replace

from benchmarks import fleet_simulation, fleet_sizing
from benchmarks.fleet import people, server_load
from benchmarks.fleet.recorded import Recorded
from benchmarks.fleet.server_load import Reading
from slowcat_memory.store.disk.outbox import Unsent

BEFORE = Reading(
    at=10.0, cpu_s=4.0, wal=1000, commits=50, bytes=9000,
    tables={"log": 5000, "owner": 100}, dead={"log": 0, "owner": 7}, vacuums={"log": 1, "owner": 0},
)  # fmt: skip


def test_people_have_log_normal_memories() -> None:
    sizes = people.memories_of(10_000, 200)
    assert statistics.median(sizes) == pytest.approx(200, rel=0.05)
    assert statistics.mean(sizes) == pytest.approx(200 * 2.054, rel=0.1)  # exp(sigma² / 2)
    assert min(sizes) >= 1 and max(sizes) <= people.MOST
    assert sizes == people.memories_of(10_000, 200)


def test_what_a_server_spent_is_given_for_a_turn() -> None:
    after = replace(
        BEFORE, at=20.0, cpu_s=9.0, wal=6000, commits=150, bytes=11_000,
        tables={"log": 6500, "owner": 100}, vacuums={"log": 1, "owner": 2},
    )  # fmt: skip
    found = server_load.between(BEFORE, after, turns=100)
    assert (found["cores"], found["cpu_ms_per_turn"], found["wal_per_turn"]) == (0.5, 50.0, 50)
    assert (found["commits_per_s"], found["growth_per_turn"]) == (10.0, 20)
    assert found["grown"] == {"log": 1500, "owner": 0} and found["vacuums"]["owner"] == 2
    assert server_load.between(replace(BEFORE, cpu_s=None), after, 1)["cores"] is None


def test_what_was_recorded_is_given_for_a_turn() -> None:
    one = Unsent(1, 1, 1, b"1234")
    said = Recorded([[[one], [one, one]], [[one]]], [[one]])
    assert said.sizes() == {"statements": 1.5, "sets": 2.0, "bytes": 8, "idle_bytes": 2}


def test_a_database_stops_at_the_first_step_with_slow_appends() -> None:
    def step(turns: float, p99: float) -> dict[str, Any]:
        return {"turns_per_s": turns, "ms": {"append": {"p99": p99}}}

    steps = {"1": step(20.0, 4.0), "2": step(40.0, 20.0)}
    assert fleet_simulation.stops_at(steps) is None
    assert fleet_simulation.stops_at(steps | {"4": step(75.0, 20.1), "8": step(90.0, 80.0)}) == 75.0


def test_what_a_database_needs_grows_with_its_people() -> None:
    database = {"cpu_ms_per_turn": 3.0, "wal_per_turn": 5000}
    written = {
        "steps": {"1": {"database": database}},
        "recorded": {"statements": 4.0, "sets": 4.0, "bytes": 2400},
        "seeded": {"snapshot_bytes_per_memory": 1300},
    }
    small = fleet_sizing.sizes(written, fleet_sizing.Talk(people=10_000))
    assert (small["talking"], small["turns_s"], small["appends_s"]) == (200, 20, 80)
    assert small["cores"] == pytest.approx(20 * 0.003 / 0.5)
    assert small["wal_gb_day"] == pytest.approx(20 * 3600 * 6 * 5000 / 1e9)
    large = fleet_sizing.sizes(written, fleet_sizing.Talk(people=1_000_000))
    assert {name: pytest.approx(100 * value) for name, value in small.items()} == large
