"""Where the wait of a turn goes: the parts are the whole, and what is spent elsewhere is seen."""

import asyncio
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import budget, plots, speed_tables
from benchmarks.budget import Cost, Meter
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.testing import HashEmbedder, memory_config

LAPS = {"gate": 0.1, "parse": 0.2, "lexical": 0.5, "embed": 2.0, "dense": 0.6, "fetch": 0.3}
READY = Packed("", (), 0)


def test_budget_an_inline_recall_is_its_laps_and_the_hop() -> None:
    found = Recollection(stage="full", timings=LAPS)
    parts = budget.parts_of(5.0, {"log": 0.3, "pack": 0.1}, [(4.0, found)])
    assert parts == pytest.approx(LAPS | {"hop": 0.3, "log": 0.3, "pack": 0.1, "turn": 0.6})


def test_budget_what_was_recalled_while_the_user_spoke_is_no_part_of_the_wait() -> None:
    found = Recollection(stage="full", timings=LAPS, packed=READY)
    assert budget.parts_of(0.5, {}, [(0.1, found)]) == pytest.approx({"ahead": 0.1, "turn": 0.4})


def test_budget_the_end_of_a_recall_that_began_ahead_is_divided_among_its_last_laps() -> None:
    found = Recollection(stage="full", timings=LAPS, packed=READY)
    parts = budget.parts_of(1.6, {}, [(1.5, found)])
    assert parts["fetch"] == 0.3 and parts["dense"] == 0.6
    assert parts["embed"] == pytest.approx(0.6) and parts.get("lexical", 0.0) == 0.0


def test_budget_a_recall_past_its_deadline_is_named() -> None:
    found = Recollection(stage="lexical", timings=LAPS)
    assert budget.parts_of(11.0, {}, [(10.5, found)])["late"] == 10.5


MS = st.floats(0.0, 20.0)


@given(
    st.dictionaries(st.sampled_from(budget.LAPS), MS),
    st.floats(0.0, 3.0),
    st.booleans(),
    st.floats(0.0, 30.0),
)
def test_budget_parts_are_the_whole_wait(laps, beside, ahead, waited) -> None:
    packed = READY if ahead else None
    recall = waited if ahead else sum(laps.values()) + waited
    found = Recollection(stage="full", timings=laps, packed=packed)
    parts = budget.parts_of(recall + beside, {}, [(recall, found)])
    assert sum(parts.values()) == pytest.approx(recall + beside)
    assert all(ms >= 0 for ms in parts.values()) and set(parts) <= set(budget.PARTS)


def test_budget_a_meter_sees_what_a_turn_asks_of_its_engine(tmp_path) -> None:
    engine = MemoryEngine(memory_config(tmp_path / "memory"), embedder=HashEmbedder())
    meter = Meter()
    try:
        engine.remember("My dog is called Max", "anna")
        engine.flush(30, indexed=True)
        own = engine.recall
        end = meter.watch(engine)

        async def turn() -> Cost | None:
            meter.begin()
            engine.pack(await engine.recall("What is my dog called?", "anna"))
            return meter.end()

        cost = asyncio.run(turn())
        end()
        assert engine.recall == own and "pack" not in vars(engine)
    finally:
        engine.close()
    assert cost and {"gate", "parse", "lexical", "fetch", "hop", "pack", "turn"} <= set(cost.parts)
    assert sum(cost.parts.values()) == pytest.approx(cost.wait, abs=1e-6)
    assert meter.end() is None  # no turn is under way


def test_budget_what_other_threads_compute_is_seen_by_name() -> None:
    """A library that spins beside a waiting turn: all of it counts, and who it was is told."""
    meter, go, done = Meter(), threading.Event(), threading.Event()

    def spin() -> None:
        assert go.wait(30)
        began = time.thread_time()
        while time.thread_time() - began < 0.02:
            pass
        done.set()
        assert end.wait(30)

    end = threading.Event()
    spinner = threading.Thread(target=spin, name="spinner_0")
    spinner.start()
    meter.begin()
    go.set()
    assert done.wait(30)
    cost = meter.end()
    end.set()
    spinner.join()
    assert cost and cost.cpu >= 20 and cost.threads["spinner"] >= 20
    assert cost.loop_cpu < 20 and cost.threads.get("native", 0.0) < 20


def test_budget_a_wait_for_another_thread_is_a_voluntary_switch() -> None:
    meter = Meter()
    meter.begin()
    go = threading.Event()
    threading.Timer(0.005, go.set).start()
    assert go.wait(30)
    cost = meter.end()
    assert cost and cost.voluntary >= 1


def test_budget_the_picture_is_shown_where_there_is_one() -> None:
    arm = {
        "wait": {"n": 1, "p50": 1.0, "p95": 1.0, "p99": 1.0, "max": 1.0},
        "under_1_ms": 0.0,
        "stages": {"full": 1},
    }
    machine = {"cores": 2, "cpu": "A CPU", "system": "Linux", "python": "3.11"}
    written = {"machine": machine, "load": [0.1], "memories": 10, "turns": 1, "arms": {"a": arm}}
    assert "budget.png" not in speed_tables.turn(written)
    written["arms"]["a"] = arm | budget.summary([cost(1.0)])
    assert "(budget.png)" in speed_tables.turn(written)


def cost(wait: float) -> Cost:
    parts = {"turn": wait / 4, "embed": 3 * wait / 4}
    threads = {"MainThread": wait / 4, "slowcat-recall": wait}
    return Cost(wait, parts, 2 * wait, wait / 4, voluntary=2, involuntary=1, threads=threads)


def test_budget_the_middle_and_the_slow_turns_are_told_apart() -> None:
    found = budget.summary([cost(ms) for ms in (4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 1.0, 40.0)])
    assert found["parts"]["middle"] == {"turn": 1.0, "embed": 3.0}
    assert found["parts"]["slow"] == {"turn": 10.0, "embed": 30.0}
    assert found["threads"] == {"MainThread": 1.825, "slowcat-recall": 7.3}
    assert found["cpu_ratio"] == 2.0 and found["switches"] == {"voluntary": 2, "involuntary": 1}


def test_budget_one_turn_is_both() -> None:
    assert budget.summary([cost(4.0)])["parts"]["middle"] == {"turn": 1.0, "embed": 3.0}


def test_budget_is_drawn_and_written(tmp_path) -> None:
    arm = budget.summary([cost(ms) for ms in (2.0, 3.0, 4.0)])
    written = {"memories": 100, "arms": {"one core: segmented": arm, "both cores": arm}}
    plots.budget(written, tmp_path / "budget.png")
    assert (tmp_path / "budget.png").stat().st_size > 5000
    text = speed_tables.budget(written)
    assert "| one core: segmented |" in text and "embed" in text and "voluntary" in text
    assert "|  | slowcat-recall | MainThread |" in text
