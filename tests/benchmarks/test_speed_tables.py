"""What is written of latency."""

from benchmarks import run_all
from slowcat_memory.runtime.recall.query import RecallOptions


def test_speed_tables_what_is_denied_was_measured_at_todays_threshold() -> None:
    written = run_all.kept()["unknown.json"]
    assert written["judged"]["below"] == RecallOptions().unknown_below, "run benchmarks.unknown"
