"""Turns, memories and facts of Anna's: a test says only what it is about."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from slowcat_memory.records import Memory, Statement, Turn

NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)  # a Tuesday
AT = datetime(2026, 11, 2, 10, tzinfo=UTC)


def turn(text: str, **more: Any) -> Turn:
    given = {"session": "s", "scope": "anna", "speaker": "Anna", "role": "user", "at": NOON}
    return Turn(text=text, **{"id": 1, **given, **more})  # type: ignore[arg-type]


def memory(kind: str, text: str, **more: Any) -> Memory:
    given = {"id": f"{kind}/{text}", "scope": "anna", "speaker": "Anna", "valid_from": NOON}
    return Memory(kind=kind, text=text, **{**given, **more})


def fact(text: str, type: str = "person", **more: Any) -> Memory:
    """Return a fact; ``more`` has fields of its memory and of its statement."""
    own = {name: more.pop(name) for name in Statement.__struct_fields__ if name in more}
    given = {"id": f"fact/{text}", "sources": (1,), "statement": Statement(**own)}
    return memory(f"fact/{type}", text, **{**given, **more})


def turn_at(text: str, at: datetime = AT, **more: Any) -> Turn:
    """Return an unnumbered turn of Anna's."""
    return turn(text, **{"id": 0, "at": at, **more})


def said_by_anna(text: str, role: str = "user") -> Turn:
    return turn(text, role=role, at=AT)


def memory_at(id_: str, text: str, at: datetime = AT, **more: Any) -> Memory:
    """Return a memory of Anna's; its kind is the beginning of its id."""
    kind = more.pop("kind", id_.partition("/")[0])
    return memory(kind, text, **{"id": id_, "valid_from": at, **more})


def until(holds: Callable[[], Any], wait_s: float = 30.0) -> bool:
    """Wait until something holds; return whether it does."""
    deadline = time.monotonic() + wait_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True
