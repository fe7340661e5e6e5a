"""Follow-ups take over words from the dialogue; what stands on its own is left alone."""

from datetime import UTC, datetime, timedelta

from slowcat_memory.core.query.understand import DialogueTurn, leans, with_context
from slowcat_memory.core.text.normalize import content_words
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


def test_with_context_prefers_names_and_then_long_words() -> None:
    dialogue = (turn("I saw Bo with lanterns, kites, whistles, drums, carpets, statues, cakes"),)
    words = with_context("what about it?", dialogue, NOW).split()[3:]
    assert words == "Bo lanterns kites whistles drums carpets statues cakes".split()
    longer = (turn(dialogue[0].text + " and telescopes"),)
    words = with_context("what about it?", longer, NOW).split()[3:]
    assert len(words) == 8 and {"Bo", "telescopes"} <= set(words)


def test_with_context_does_not_repeat_words_of_the_question() -> None:
    text = with_context("and the boat?", DIALOGUE, NOW)
    assert text.lower().split().count("boat") == 0
    assert "boat?" in text


def test_content_words_leaves_out_pronouns_and_fillers() -> None:
    assert content_words("What did she say about the dog's new bed?") == ["dog's", "new", "bed"]
