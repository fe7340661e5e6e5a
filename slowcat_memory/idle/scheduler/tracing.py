"""OpenTelemetry spans of idle steps, for whoever has it installed (extra ``otel``) and set up."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from slowcat_memory.records import Task

Note = Callable[[str, BaseException | None], None]


@contextmanager
def span(task: Task, tracer: Any = None) -> Iterator[Note]:
    """Trace one step: ``task_<job>``, with the task's id and what came of it; never a text.

    Args:
        task: The task.
        tracer: See ``find_tracer``; None traces nothing.

    Yields:
        To be told the outcome, and the error if there was one.
    """
    if tracer is None:
        yield lambda outcome, error: None
        return
    # An exception's message and traceback may quote memories: only its type is kept.
    with tracer.start_as_current_span(
        f"task_{task.job}", record_exception=False, set_status_on_exception=False
    ) as current:
        current.set_attribute("slowcat.task.id", task.id)
        current.set_attribute("slowcat.task.job", task.job)
        current.set_attribute("slowcat.task.attempts", task.attempts)

        def note(outcome: str, error: BaseException | None) -> None:
            current.set_attribute("slowcat.task.outcome", outcome)
            if error is not None:
                current.set_attribute("exception.type", type(error).__name__)

        yield note


def find_tracer() -> Any:
    """Find the process's tracer.

    Returns:
        The tracer, which does nothing until the application sets one up; None without the library.
    """
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("slowcat_memory.idle")
