from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import chunk, chunk_id, indexed_text, turn_of
from slowcat_memory.records import Turn

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
