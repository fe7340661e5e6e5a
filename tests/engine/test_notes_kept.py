"""What a note keeps: its pin when it is said again, and when it was true when it is corrected."""

from datetime import timedelta

import pytest

from slowcat_memory.records import Memory, WriteBatch
from tests.support.memories import engine_of


@pytest.mark.parametrize("days", [None, 30])
def test_notes_a_correction_is_true_as_long_as_what_it_replaces(config, days: int | None) -> None:
    with engine_of(config) as engine:
        now = engine.clock()
        until = None if days is None else now - timedelta(days=days)
        fact = Memory(
            id="fact/1", kind="fact/home", scope="user", speaker="Anna", text="Anna lives in York",
            valid_from=now - timedelta(days=90), valid_to=until, recorded_at=now,
        )  # fmt: skip
        engine.apply("job", WriteBatch(memories=(fact,)))
        made = engine.edit("user", fact.id, text="Anna lived in Leeds")
        assert made is not None and (made.valid_from, made.valid_to) == (fact.valid_from, until)
        with engine.snapshot() as snapshot:
            [entry] = snapshot.commands()
        engine.undo(entry)
        with engine.snapshot() as snapshot:
            back = snapshot.memory("user", fact.id)
    assert back == fact


def test_notes_what_is_remembered_again_stays_pinned(config) -> None:
    with engine_of(config) as engine:
        engine.remember("Max is a dog", "user", pinned=True)
        again = engine.remember("Max is a dog", "user")
        other = engine.remember("Max is a cat", "user")
        corrected = engine.edit("user", other.id, text="Max is a dog")
    assert again.pinned and corrected is not None and corrected.pinned
