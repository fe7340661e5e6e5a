"""Follow-ups take over words from the dialogue; what stands on its own is left alone."""

from datetime import UTC, datetime, timedelta

from slowcat_memory.core.query.understand import DialogueTurn, leans, with_context
from tests.support.rows import each_row, listed_texts

NOW = datetime(2026, 5, 13, 10, tzinfo=UTC)


def turn(text: str, age: float = 30) -> DialogueTurn:
    return DialogueTurn(text, NOW - timedelta(seconds=age))


DIALOGUE = (
    turn("I had dinner with Moritz at the harbour"),
    turn("How was it with Moritz? He had wanted to sell his boat."),
)


@each_row("text", listed_texts("rules/understand_follow_up", "leans_accepts_a_follow_up"))
def test_leans_accepts_a_follow_up(text: str) -> None:
    assert leans(text)


@each_row(
    "text",
    ["", *listed_texts("rules/understand_follow_up", "leans_refuses_what_stands_on_its_own")],
)
def test_leans_refuses_what_stands_on_its_own(text: str) -> None:
    assert not leans(text)
    assert with_context(text, DIALOGUE, NOW) == text
