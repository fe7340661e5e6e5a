from datetime import UTC, datetime

import pytest

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.retention import RetentionOptions, held
from slowcat_memory.records import Memory

NOW = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)


def made(kind: str, *sources: int, **fields: object) -> Memory:
    given = {"id": f"{kind}/1", "kind": kind, "scope": "anna", "speaker": "anna", "text": "words"}
    return Memory(**(given | fields), valid_from=NOW, sources=sources)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("memory", "turns"),
    [
        (made("chunk", 1, id=chunk_id(1), pinned=True), {1}),
        (made("summary/day", 1, 2, pinned=True), {1, 2}),
        (made("note", 1), {1}),
        (made("fact/preference", 2), {2}),
        (made("summary/day", 1, 2), set()),
        (made("fact/preference", 2, retired_at=NOW), set()),
    ],
)
def test_lasting_memories_hold_their_turns(memory: Memory, turns: set[int]) -> None:
    assert held([memory], RetentionOptions()) - {0} == turns


def test_facts_hold_no_turns_where_evidence_is_not_kept() -> None:
    facts = [made("fact/preference", 1), made("note", 2)]
    assert held(facts, RetentionOptions(keep_evidence=False)) - {0} == {2}
