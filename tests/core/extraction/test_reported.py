"""What is read aloud or repeated from a text is marked so."""

from datetime import UTC, datetime

from slowcat_memory.core.blocks.statements import valid_of_kind
from slowcat_memory.core.facts.fact import fact_key, fact_memory
from slowcat_memory.core.facts.prompt import FactReply, FactsReply, check_reply
from slowcat_memory.core.proactive.open_threads import of_turns
from slowcat_memory.core.proactive.policy import BringUpOptions
from slowcat_memory.core.summaries.extractive import split_turn
from slowcat_memory.records import Made, Turn

AT = datetime(2026, 5, 12, 18, tzinfo=UTC)


def turn(text: str) -> Turn:
    return Turn(id=1, session="s", scope="m", speaker="Mira", role="user", text=text, at=AT)


LETTER = "I live in Leeds. The letter says the dentist sees me on Friday at nine."


def test_a_reported_fact_is_uncertain_and_never_shown_by_itself() -> None:
    one = FactReply(1, "event", "Mira", "The dentist sees Mira on Friday.",
                    "the dentist sees me on Friday", "high", "")  # fmt: skip
    (fact,) = check_reply(FactsReply([one]), {1: turn(LETTER)}, [turn(LETTER)], UTC).kept
    memory = fact_memory(fact, AT, Made(job="facts"))
    assert (memory.statement.reported, memory.statement.confidence) == (True, "low")
    assert fact_key(memory) is None
    assert valid_of_kind([memory], "fact") == []


def test_what_is_read_aloud_is_neither_summed_up_nor_brought_up() -> None:
    said = [line.text for line in split_turn("Mira", LETTER, 1)]
    assert said == ["I live in Leeds."]
    plain = "I have a dentist appointment on Friday at nine."
    read = "The letter says I have a dentist appointment on Friday at nine."
    options = BringUpOptions()
    assert of_turns([turn(plain)], AT, UTC, options)
    assert not of_turns([turn(read)], AT, UTC, options)
