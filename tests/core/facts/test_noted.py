"""Notes of other programs become facts: in the third person, without a subject, in two languages."""

from datetime import UTC, datetime

from slowcat_memory.idle.jobs.extraction.facts import facts_of_note
from slowcat_memory.records import Memory
from tests.support.rows import each_row, listed, listed_texts

AT = datetime(2026, 5, 12, 18, tzinfo=UTC)


def note(text: str, speaker: str = "Anna") -> Memory:
    return Memory(id="note/1", kind="note", scope="a", speaker=speaker, text=text, valid_from=AT)


@each_row(
    ("text", "fact"), listed("rules/noted", "facts_of_note_are_read_as_if_the_user_had_said_them")
)
def test_facts_of_note_are_read_as_if_the_user_had_said_them(text: str, fact: str) -> None:
    found = facts_of_note(note(text), UTC)
    assert [one.content for one in found] == [fact]
    assert (found[0].quote, found[0].since, found[0].sources) == (text, AT, ())


@each_row(
    "text", listed_texts("rules/noted", "facts_of_note_what_states_nothing_of_the_user_is_none")
)
def test_facts_of_note_what_states_nothing_of_the_user_is_none(text: str) -> None:
    assert facts_of_note(note(text), UTC) == []
