"""Turns and memories of Anna, who speaks in most tests."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from slowcat_memory.records import Memory, Turn

AT = datetime(2026, 11, 2, 10, tzinfo=UTC)


def turn_at(text: str, at: datetime = AT, **more: Any) -> Turn:
    """Return an unnumbered turn of Anna's."""
    given = {"session": "s", "scope": "anna", "speaker": "Anna", "role": "user", **more}
    return Turn(text=text, at=at, **given)


def said_by_anna(text: str, role: str = "user") -> Turn:
    return turn_at(text, id=1, role=role)


def memory_at(id_: str, text: str, at: datetime = AT, **more: Any) -> Memory:
    """Return a memory of Anna's; its kind is the beginning of its id."""
    given = {"kind": id_.partition("/")[0], "scope": "anna", "speaker": "Anna", **more}
    return Memory(id=id_, text=text, valid_from=at, **given)


def until(holds: Callable[[], bool], wait_s: float = 30.0) -> bool:
    """Wait until something holds; return whether it does."""
    deadline = time.monotonic() + wait_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
