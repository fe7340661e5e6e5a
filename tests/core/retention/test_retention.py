from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk
from slowcat_memory.core.retention import RetentionOptions, due
from slowcat_memory.records import Memory, Turn

NOW = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)
DAYS = RetentionOptions(raw_days=90)


def turn(id: int, days: float) -> Turn:
    at = NOW - timedelta(days=days)
    return Turn(id=id, session="s", scope="anna", speaker="anna", role="user", text="words", at=at)


def made(kind: str, *sources: int, **fields: object) -> Memory:
    given = {"id": f"{kind}/1", "kind": kind, "scope": "anna", "speaker": "anna", "text": "words"}
    return Memory(**given, valid_from=NOW, sources=sources, **fields)  # type: ignore[arg-type]


OLD, OLDER, YOUNG = turn(1, 91), turn(2, 400), turn(3, 89)


def test_due_yields_old_turns_in_log_order() -> None:
    assert list(due([OLD, YOUNG, OLDER], [], NOW, DAYS)) == [1, 2]


def test_due_by_default_is_nothing() -> None:
    assert list(due([OLD, OLDER], [], NOW, RetentionOptions())) == []


@pytest.mark.parametrize(
    ("memory", "left"),
    [
        (replace(chunk(OLD), pinned=True), [2]),
        (made("summary/day", 1, 2, pinned=True), []),
        (made("note", 1), [2]),
        (made("fact/preference", 2), [1]),
        (made("summary/day", 1, 2), [1, 2]),
        (made("fact/preference", 2, retired_at=NOW), [1, 2]),
    ],
)
def test_due_keeps_turns_of_lasting_memories(memory: Memory, left: list[int]) -> None:
    assert list(due([OLD, OLDER], [memory], NOW, DAYS)) == left


@given(st.lists(st.floats(0, 1000), max_size=20), st.floats(0.1, 500))
def test_due_never_yields_young_or_held_turns(ages: list[float], days: float) -> None:
    turns = [turn(n, age) for n, age in enumerate(ages, 1)]
    held = [made("note", *range(1, len(turns) + 1, 2))]
    found = set(due(turns, held, NOW, RetentionOptions(raw_days=days)))
    assert found == {one.id for one in turns if one.id % 2 == 0 and NOW - one.at > timedelta(days)}
