import asyncio
import time
from types import SimpleNamespace

import pytest

from benchmarks import corpus, growth, latency, rhythms, stores
from slowcat_memory.records import Turn
from slowcat_memory.runtime.recall.query import Recollection


def test_latency_the_same_seed_says_the_same_words():
    def words(seed, after=0):
        return [
            event.text
            for _, events in corpus.turns(60, seed, after)
            for event in events
            if isinstance(event, Turn)
        ]

    assert words(1) == words(1) and len(words(1)) == 60
    assert words(1) != words(2) and words(1) != words(1, after=60)
    assert len(set(corpus.questions(500, 1))) == 500


def test_latency_a_loop_that_is_held_up_is_late():
    async def hold():
        await asyncio.sleep(0.02)
        time.sleep(0.05)
        await asyncio.sleep(0.02)

    assert max(asyncio.run(latency.lag(hold()))) > 40


class Fake:
    """An engine that notes its recalls, and which activity holds its gate."""

    def __init__(self, log: list) -> None:
        self.log, self.held, self.blocks = log, set[str](), self

    async def recall(self, text: str, scope: str, **_) -> Recollection:
        self.log.append((text, bool(self.held)))
        return Recollection()

    def pack(self, found, now) -> None:
        self.log.append("packed")

    def set_activity(self, name: str, busy: bool) -> None:
        (self.held.add if busy else self.held.discard)(name)


@pytest.fixture
def log(monkeypatch) -> list:
    made: list = []

    async def passes(seconds: float) -> None:
        made.append(seconds)

    monkeypatch.setattr(rhythms, "asyncio", SimpleNamespace(sleep=passes, run=asyncio.run))
    return made


def test_rhythms_each_pause_and_recalls_back_to_back_take_turns(log: list) -> None:
    texts = [f"question {n}" for n in range(2 * rhythms.A_ROUND + 1)]
    found = asyncio.run(rhythms.after_pauses(Fake(log), texts))
    events = [event for event in log if event != "packed"]
    one_round = events[: len(events) // 2]
    assert [e for e in one_round if isinstance(e, float)] == [0.05, 0.3]
    assert [type(e) for e in one_round] == [float, tuple, float, tuple, tuple, tuple, tuple]
    asked = [event[0] for event in events if isinstance(event, tuple)]
    assert asked == texts[:-1]  # each once
    assert found["50"]["n"] == found["300"]["n"] == 2 and found["together"]["n"] == 6
    assert set(found["ratio"]) == {"50", "300"} == set(found["cpu"]) - {"together"}


def test_rhythms_the_gate_is_shut_for_every_other_recall(log: list) -> None:
    engine = Fake(log)
    found = asyncio.run(rhythms._alternate(engine, ["a", "b", "c", "d"]))
    asked = [event for event in log if isinstance(event, tuple)]
    assert asked == [("a", True), ("b", False), ("c", True), ("d", False)]
    assert found["alone"]["n"] == found["beside"]["n"] == 2
    assert set(found["ratio"]) == {"p50", "p95"} and found["idle_share"] >= 0


def test_growth_a_million_only_where_it_is_kept(tmp_path, monkeypatch) -> None:
    assert growth.sizes(None) == growth.sizes(tmp_path) == list(growth.SIZES)
    monkeypatch.setattr(stores, "is_kept", lambda *_: True)
    assert growth.sizes(tmp_path)[-1] == growth.LARGEST


PERCENTILES = {"n", "p50", "p95", "p99", "max"}


@pytest.mark.slow
def test_latency_the_figures_of_a_small_store_have_their_documented_shape(model_config):
    found = latency.measure(200, 20, 40, exchanges=5, idle_s=0.1, cold_runs=1, rounds=2)
    assert found["memories"] == 200
    assert set(found["inline"]) == set(found["ahead"]) == PERCENTILES
    assert found["inline"]["n"] == found["ahead"]["n"] == 20
    assert {"lexical", "embed", "dense", "fuse", "fetch", "pack", "hop"} <= set(found["stages"])
    assert found["beside_busy"]["n"] == 20 and found["during_build"]["n"] > 0
    assert found["rss_mb"] > found["rss_anonymous_mb"] > 0
    assert set(found["loop_lag"]) == {"idle", "talk", "flood"}
    for pace in ("talk", "burst"):
        assert set(found["store"][pace]) == {"accept", "durable"}
        assert found["store"][pace]["durable"]["n"] == 10
    assert {"lexical", "full", "imports"} == set(found["cold"])
    assert found["rss_mb"] > found["rss_imports_mb"] > 0
    assert found["but_embedding"]["p50"] < found["inline"]["p50"]
    assert found["cpu"]["n"] == 20 and found["cpu_ratio"] > 0
    assert set(found["pauses"]["ratio"]) == {"50", "300"}
    assert found["beside_idle"]["ratio"]["p50"] > 0
    assert found["tiers"] == {}  # so small a store has no cold tier
