from datetime import UTC

from slowcat_memory.core.facts.fact import why_transient
from slowcat_memory.idle.jobs.extraction.facts import facts_of_note
from tests.support.rows import each_listed
from tests.support.said import NOON, memory


@each_listed("rules/fact")
def test_why_transient_passes_what_will_still_hold(type_: str, content: str, why: str) -> None:
    assert (why_transient(type_, content) or "") == why


@each_listed("rules/noted")
def test_facts_of_note_are_read_as_if_the_user_had_said_them(text: str, fact: str) -> None:
    found = facts_of_note(memory("note", text), UTC)
    assert [one.content for one in found] == [fact]
    assert (found[0].quote, found[0].since, found[0].sources) == (text, NOON, ())


@each_listed("rules/noted")
def test_facts_of_note_what_states_nothing_of_the_user_is_none(text: str) -> None:
    assert facts_of_note(memory("note", text), UTC) == []
