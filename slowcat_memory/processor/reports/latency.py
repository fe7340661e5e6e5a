"""Percentiles of recall and of a turn's wait, for Pipecat's metrics frames."""

from pipecat.frames.frames import MetricsFrame
from pipecat.metrics.metrics import MetricsData

from slowcat_memory.metrics import Metrics

RECALL, WAIT = "recall", "turn_wait"


class MemoryLatencyMetricsData(MetricsData):
    """Percentiles of the last turns of this process, in milliseconds.

    Parameters:
        recall: "n", "p50", "p95", "p99" and "max" of the work of a recall, whoever waited for it.
        turn_wait: The same of what turns waited for their memories.
    """

    recall: dict[str, float]
    turn_wait: dict[str, float]


def latency_frame(name: str, metrics: Metrics) -> MetricsFrame | None:
    """Return the percentiles as a frame; None before the first turn. Takes half a millisecond."""
    found = metrics.summary((RECALL, WAIT))
    if WAIT not in found:
        return None
    data = MemoryLatencyMetricsData(
        processor=name, recall=found.get(RECALL, {}), turn_wait=found[WAIT]
    )
    return MetricsFrame(data=[data])
