"""OpenTelemetry spans of idle steps, if it is installed (extra ``otel``) and set up."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from slowcat_memory.records import Task

Record = Callable[[str, BaseException | None], None]


@contextmanager
def step_span(task: Task, tracer: Any = None) -> Iterator[Record]:
    """Trace one step as ``task_<job>`` with the task's id and outcome, never a text.

    Args:
        tracer: See ``find_tracer``; None traces nothing.

    Yields:
        A function to be called with the outcome, and the error if there was one.
    """
    if tracer is None:
        yield lambda outcome, error: None
        return
    # An exception's message and traceback may quote memories: only its type is kept.
    with tracer.start_as_current_span(
        f"task_{task.job}", record_exception=False, set_status_on_exception=False
    ) as span:
        span.set_attribute("slowcat.task.id", task.id)
        span.set_attribute("slowcat.task.job", task.job)
        span.set_attribute("slowcat.task.attempts", task.attempts)

        def record(outcome: str, error: BaseException | None) -> None:
            span.set_attribute("slowcat.task.outcome", outcome)
            if error is not None:
                span.set_attribute("exception.type", type(error).__name__)

        yield record


def find_tracer() -> Any:
    """Return the process's tracer, which does nothing until it is set up; None if not installed."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("slowcat_memory.idle")
