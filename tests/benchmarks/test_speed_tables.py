"""What is written of latency."""

from benchmarks import run_all, speed_tables
from slowcat_memory.runtime.recall.query import RecallOptions

ONE = {"n": 4, "p50": 2.0, "p95": 3.0, "p99": 4.0, "max": 5.0}
RESULT = {
    "memories": 1000,
    "queries": 4,
    "inline": ONE,
    "ahead": ONE,
    "stages": {"embed": ONE},
    "loop_lag": {"idle": ONE},
    "store": {pace: {"accept": ONE, "durable": ONE} for pace in ("talk", "burst")},
    "cold": {"lexical": 50.0, "full": 100.0, "imports": 300.0},
    "rss_mb": 150.0,
    "rss_imports_mb": 80.0,
    "over_deadline": 0,
    "beside_busy": ONE,
    "during_build": ONE,
    "but_embedding": ONE,
    "cpu": ONE,
    "cpu_ratio": 1.08,
    "pauses": {
        **dict.fromkeys(("50", "300", "together"), ONE),
        "ratio": {"300": {"p50": 1.25, "p95": 1.65}},
    },
    "beside_idle": {
        "alone": ONE,
        "beside": ONE,
        "ratio": {"p50": 1.1, "p95": 1.2},
        "idle_share": 0.5,
    },
    "tiers": {"hot": ONE | {"found": 0.9}, "cold": ONE | {"found": 0.8}},
}


def test_speed_tables_latency_writes_every_row_and_ratio() -> None:
    text = speed_tables.latency({"results": [RESULT]})
    assert "| recall, embedded while the turn waits | 2.00 | 3.00 | 4.00 | 5.00 |" in text
    assert "| after a pause of 300 ms | 2.00 |" in text
    assert "Processor time over wait, inline: 1.08." in text
    assert "the median back to back: 1.25 (p50), 1.65 (p95)." in text
    assert "1.10 (p50), 1.20 (p95); it took 50.0 % of a core" in text
    assert "| answer in the cold tier | 2.00 |" in text


def test_speed_tables_what_is_denied_was_measured_at_todays_threshold() -> None:
    written = run_all.kept()["unknown.json"]
    assert written["judged"]["below"] == RecallOptions().unknown_below, "run benchmarks.unknown"
