"""The engine of the jobs that read sessions: its notes and its splits."""

from datetime import UTC, datetime

import pytest

from slowcat_memory.idle.job import payload_of
from slowcat_memory.idle.jobs.extraction.facts import FactsCursor
from slowcat_memory.idle.jobs.extraction.session_extractor import Asked, asked_of
from slowcat_memory.idle.jobs.session_log import Progress, SessionsCursor
from slowcat_memory.records import Cursor, Task

AT = datetime(2026, 5, 12, 18, tzinfo=UTC)


def task_with(note: str) -> Task:
    return Task(id="facts/anna/s:1-4/9", job="facts", key="s:1-4/9", scope="anna", created=AT,
                rank=45, note=note, sources=tuple(range(1, 10)))  # fmt: skip


@pytest.mark.parametrize(
    ("note", "asked"),
    [
        ('{"turns":[1,2]}', Asked([1, 2])),
        ('{"turns":[7],"again":true}', Asked([7], again=True)),
        ("", Asked([])),
    ],
)
def test_asked_of_reads_a_tasks_note(note: str, asked: Asked) -> None:
    assert asked_of(task_with(note)) == asked


@pytest.mark.parametrize(
    ("note", "cursor"),
    [
        ('{"version":"2.0","open":{"s":7}}', SessionsCursor("2.0", {"s": 7})),
        ("no JSON", None),
    ],
)
def test_payload_of_reads_cursors(note: str, cursor: SessionsCursor | None) -> None:
    assert payload_of(Cursor(name="contextualize", position=9, note=note), SessionsCursor) == cursor


def test_payload_of_reads_both_positions_of_the_facts() -> None:
    note = '{"version":1,"rules":{"upto":9,"open":{"s":8}},"llm":{"upto":4}}'
    found = payload_of(Cursor(name="facts", position=9, note=note), FactsCursor)
    assert found == FactsCursor(1, Progress(9, {"s": 8}), Progress(4))
