"""Counters and histograms, kept in memory; nothing here exports them.

Safe to use from any thread: a counter's and a histogram's update is one short lock.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

WINDOW = 4096  # samples a histogram keeps: enough for a p99 with 40 samples beyond it


class Metrics:
    """Named counters and histograms of milliseconds."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._samples: dict[str, deque[float]] = {}

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter.

        Args:
            name: The counter.
            by: How much to add.
        """
        with self._lock:
            self._counts[name] += by

    def observe(self, name: str, ms: float) -> None:
        """Add a sample to a histogram.

        Args:
            name: The histogram.
            ms: The sample, in milliseconds.
        """
        with self._lock:
            self._samples.setdefault(name, deque(maxlen=WINDOW)).append(ms)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Observe how long the body takes.

        Args:
            name: The histogram.

        Yields:
            Nothing.
        """
        start = time.perf_counter()
        try:
            yield
        finally:
            self.observe(name, (time.perf_counter() - start) * 1e3)

    def counts(self) -> dict[str, int]:
        """Return every counter.

        Returns:
            Value by name.
        """
        with self._lock:
            return dict(self._counts)

    def summary(self) -> dict[str, dict[str, float]]:
        """Summarise every histogram over its last samples.

        Returns:
            By name: ``n``, ``p50``, ``p95``, ``p99``, ``max``, in milliseconds.
        """
        with self._lock:
            samples = {name: list(values) for name, values in self._samples.items()}
        return {name: percentiles(values) for name, values in sorted(samples.items()) if values}


def percentiles(ms: list[float]) -> dict[str, float]:
    """Summarise samples.

    Args:
        ms: Samples in milliseconds, at least one.

    Returns:
        ``n``, ``p50``, ``p95``, ``p99``, ``max``.
    """
    p50, p95, p99 = np.percentile(ms, (50, 95, 99))
    return {
        "n": len(ms),
        "p50": round(float(p50), 4),
        "p95": round(float(p95), 4),
        "p99": round(float(p99), 4),
        "max": round(max(ms), 4),
    }
