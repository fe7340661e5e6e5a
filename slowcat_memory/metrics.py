"""Counters and histograms, kept in memory. Safe to use from any thread.

Our own: the log line at the end of a session, ``stats`` and the benchmarks read percentiles of the
last samples, which OpenTelemetry gives to an exporter alone, and only with its SDK.
Where spans are written, it can read the same numbers (``processor.reports``).
"""

import threading
from collections import Counter, deque
from collections.abc import Collection

import numpy as np

WINDOW = 4096  # samples a histogram keeps: enough for a p99 with 40 samples beyond it


class Metrics:
    """Named counters and histograms of milliseconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._samples: dict[str, deque[float]] = {}

    def count(self, name: str, by: int = 1) -> None:
        with self._lock:
            self._counts[name] += by

    def observe(self, name: str, ms: float) -> None:
        with self._lock:
            self._samples.setdefault(name, deque(maxlen=WINDOW)).append(ms)

    def counts(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)

    def summary(self, only: Collection[str] = ()) -> dict[str, dict[str, float]]:
        """Return ``percentiles`` of the histograms' last samples, by name.

        ``only`` names the histograms; none means all.
        """
        with self._lock:
            wanted = (only or self._samples).__contains__
            samples = {name: list(ms) for name, ms in self._samples.items() if wanted(name)}
        return {name: percentiles(values) for name, values in sorted(samples.items()) if values}


def percentiles(ms: list[float]) -> dict[str, float]:
    """Return ``n``, ``p50``, ``p95``, ``p99`` and ``max`` of at least one sample."""
    p50, p95, p99 = np.percentile(ms, (50, 95, 99)).round(4).tolist()
    return {
        "n": len(ms),
        "p50": p50,
        "p95": p95,
        "p99": p99,
        "max": round(max(ms), 4),
    }
