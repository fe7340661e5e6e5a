"""What is read out of a query. The week of the examples: Wednesday 13 May 2026, 10:00."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.query.understand import AskOptions, DialogueTurn, ParsedQuery, parse_query

NOW = datetime(2026, 5, 13, 10, tzinfo=UTC)
SPEAKERS = ("Anna", "Ben Berg", "Assistant")
TALK = (
    DialogueTurn("Where does my brother Moritz work now?", NOW - timedelta(seconds=40)),
    DialogueTurn("Moritz works at the brewery.", NOW - timedelta(seconds=30)),
)
NOTHING = AskOptions(names=False, times=False, follow_up=False)


def ask(
    text: str, *dialogue: DialogueTurn, language: str = "english", **options: object
) -> ParsedQuery:
    return parse_query(
        text,
        NOW,
        UTC,
        speakers=SPEAKERS,
        dialogue=dialogue,
        language=language,
        options=AskOptions(**options),  # type: ignore[arg-type]
    )


@given(st.text(), st.booleans())
def test_parse_query_any_query_can_be_read(text: str, talk: bool) -> None:
    found = ask(text, *(TALK if talk else ()))
    assert found.words.startswith(text)
    assert set(found.named) <= set(SPEAKERS)
    assert parse_query(text, NOW, UTC, dialogue=TALK, options=NOTHING) == ParsedQuery(
        words=text, meaning=text, about_talk=found.about_talk
    )


def test_parse_query_a_follow_up_takes_the_words_that_it_leans_on() -> None:
    found = ask("and what about him?", *TALK)
    assert found.words.startswith("and what about him?")
    assert {"Moritz", "brewery"} <= set(found.words.split())
    assert found.meaning == found.words


def test_parse_query_whom_the_dialogue_named_is_named_by_the_follow_up() -> None:
    said = DialogueTurn("Which instrument does Anna play?", NOW)
    found = ask("and what about her?", said)
    assert "Anna" in found.words.split() and "Anna" not in found.meaning.split()
    assert found.named == ("Anna",)
