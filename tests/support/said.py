"""Turns of Anna, who speaks in tests of facts by rule."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from slowcat_memory.records import Turn


def turn_at(text: str, session: str = "s", scope: str = "anna") -> Turn:
    """Return an unnumbered turn of Anna's."""
    return Turn(
        session=session, scope=scope, speaker="Anna", role="user", text=text,
        at=datetime(2026, 11, 2, 10, tzinfo=UTC),
    )  # fmt: skip


def said_by_anna(text: str, role: str = "user") -> Turn:
    return Turn(
        id=1,
        session="s",
        scope="anna",
        speaker="Anna",
        role="user" if role == "user" else "assistant",
        text=text,
        at=datetime(2026, 11, 2, 10, tzinfo=UTC),
    )


def until(holds: Callable[[], bool], wait_s: float = 30.0) -> bool:
    """Wait until something holds; return whether it does."""
    deadline = time.monotonic() + wait_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
