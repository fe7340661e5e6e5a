from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from slowcat_memory.core.memory import chunk, indexed_text
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


def test_holds_what_was_superseded_is_never_offered() -> None:
    gone = replace(ROME, valid_to=None, retired_at=NOW)
    assert not holds(gone, NOW) and not holds(gone, NOW, asked(NOW - 2 * YEAR, NOW))
    assert holds(replace(ROME, valid_to=None), NOW)
    assert holds(replace(ROME, valid_to=NOW + YEAR), NOW)
