"""Sessions that were held, as the events of a log."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from slowcat_memory.records import Event, SessionEdge, Turn


def session(
    name: str,
    said: Iterable[str | tuple[str, str]],
    at: datetime,
    *,
    step_s: float = 0.0,
    scope: str = "anna",
    speaker: str = "Anna",
    role: Any = "user",
    reason: str = "",
    kind: Any = "start",
    ended: bool = True,
    **more: Any,
) -> list[Event]:
    """Return a session's events; a pair is what the speaker says, and what the agent answers.

    Args:
        step_s: The time between two turns, and between the last one and the end.
        kind: Whether it starts or resumes.
        more: What else is known of each turn.
    """
    edge, made = {"session": name, "scope": scope}, list[Event]()
    for words in said:
        told = (words,) if isinstance(words, str) else words
        for text, who, part in zip(told, (speaker, "Assistant"), (role, "assistant"), strict=False):
            when = at + timedelta(seconds=step_s * len(made))
            made.append(Turn(**edge, speaker=who, role=part, text=text, at=when, **more))
    over = at + timedelta(seconds=step_s * len(made))
    end = SessionEdge(**edge, kind="end", at=over, reason=reason)
    return [SessionEdge(**edge, kind=kind, at=at), *made, *([end] if ended else [])]


def hold(log: Any, *held: Any, **how: Any) -> list[int]:
    """Append a session to a store or an engine; return its turns' log ids."""
    acks = [log.append(event) for event in session(*held, **how)]
    return [ack.event.id for ack in acks if isinstance(ack.event, Turn)]
