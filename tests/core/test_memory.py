from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk, chunk_id, indexed_text, turn_of
from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.core.validity import holds
from slowcat_memory.records import Memory, Turn

TURN = Turn(
    id=7,
    session="s",
    scope="anna",
    speaker="Anna",
    role="user",
    text="My dog is called Max.",
    at=datetime(2026, 5, 12, tzinfo=UTC),
)


@given(st.integers(1, 2**63))
def test_chunk_a_chunk_names_its_turn(turn: int) -> None:
    assert turn_of(chunk_id(turn)) == turn


@pytest.mark.parametrize(
    "other", ["", "note/7", "chunk", "chunk/", "chunk/x", "chunk/-1", "chunk/²"]
)
def test_chunk_nothing_else_names_a_turn(other: str) -> None:
    assert turn_of(other) == 0


def test_chunk_a_chunk_is_the_speakers_own_words() -> None:
    made = chunk(TURN)
    assert (made.id, made.text, made.speaker, made.scope) == ("chunk/7", TURN.text, "Anna", "anna")
    assert made.valid_from == TURN.at and made.sources == (7,)
    assert (made.role, made.trust) == ("user", "user")
    agents = chunk(replace(TURN, role="assistant"))
    assert (agents.role, agents.trust) == ("assistant", "agent")


def test_chunk_it_is_indexed_with_its_speaker_and_its_context() -> None:
    made = chunk(TURN)
    assert indexed_text(made) == "Anna: My dog is called Max."
    assert (
        indexed_text(replace(made, context="About pets.")) == f"About pets.\n{indexed_text(made)}"
    )


# ------------------------------------------------------------------- validity

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)
YEAR = timedelta(days=365)
ROME = Memory(
    id="note/1", kind="note", scope="anna", speaker="Anna", text="Anna lives in Rome.",
    valid_from=NOW - 3 * YEAR, valid_to=NOW - YEAR,
)  # fmt: skip


def asked(start: datetime, end: datetime) -> tuple[Interval, ...]:
    return (Interval(start=start, end=end, words="then"),)


def test_holds_what_is_over_is_offered_only_for_its_own_time() -> None:
    assert not holds(ROME, NOW)
    assert holds(ROME, NOW, asked(NOW - 2 * YEAR, NOW - 1.9 * YEAR))
    assert not holds(ROME, NOW, asked(NOW - 0.5 * YEAR, NOW))
    assert not holds(ROME, NOW, asked(NOW - 5 * YEAR, NOW - 4 * YEAR))
    assert holds(ROME, NOW - 1.5 * YEAR)  # asked as of then


def test_holds_what_was_superseded_is_never_offered() -> None:
    gone = replace(ROME, valid_to=None, retired_at=NOW)
    assert not holds(gone, NOW) and not holds(gone, NOW, asked(NOW - 2 * YEAR, NOW))
    assert holds(replace(ROME, valid_to=None), NOW)
    assert holds(replace(ROME, valid_to=NOW + YEAR), NOW)
