"""What is read out of a query. The week of the examples: Wednesday 13 May 2026, 10:00."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.query.understand import (
    AskOptions,
    DialogueTurn,
    ParsedQuery,
    leans,
    of_words,
    parse_query,
    speakers_named,
    substance,
    with_context,
)
from slowcat_memory.core.time.expressions import periods_of, times
from tests.support.recall_without_store import memory
from tests.support.rows import each_listed, each_row, listed, listed_texts

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
    own = AskOptions(**options)  # type: ignore[arg-type]
    context = {"speakers": SPEAKERS, "dialogue": dialogue, "language": language}
    return parse_query(text, NOW, UTC, options=own, **context)


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
    german = ask("und wo wohnt sie?", turn("Heute rief Clara an."), language="german")
    assert "Clara" in german.words


def test_parse_query_whom_the_dialogue_named_is_named_by_the_follow_up() -> None:
    said = DialogueTurn("Which instrument does Anna play?", NOW)
    found = ask("and what about her?", said)
    assert "Anna" in found.words.split() and "Anna" not in found.meaning.split()
    assert found.named == ("Anna",)


def turn(text: str, age: float = 30) -> DialogueTurn:
    return DialogueTurn(text, NOW - timedelta(seconds=age))


DIALOGUE = (
    turn("I had dinner with Moritz at the harbour"),
    turn("How was it with Moritz? He had wanted to sell his boat."),
)


@each_listed("rules/understand_follow_up")
def test_leans_accepts_a_follow_up(text: str) -> None:
    assert leans(text)


@each_listed("rules/understand_follow_up", "leans_in_german")
def test_leans_in_german(wanted: str, text: str) -> None:
    assert leans(text, "german") == (wanted == "leans")


@each_row(
    "text",
    ["", *listed_texts("rules/understand_follow_up", "leans_refuses_what_stands_on_its_own")],
)
def test_leans_refuses_what_stands_on_its_own(text: str) -> None:
    assert not leans(text)
    assert with_context(text, DIALOGUE, NOW) == text


MANY = ("Will", "May Berg", "Rose", "Mary Ann", "José", "小林", "O'Neill", "User", "Speaker 1")


@each_listed("rules/speakers", "named")
def test_speakers_named_words_are_names_only_where_they_are_written_as_one(text, speakers) -> None:
    assert ", ".join(speakers_named(text, MANY)) == speakers


@each_listed("rules/substance", "nothing")
def test_fillers_and_questions_about_oneself_say_nothing(text: str, language: str) -> None:
    assert of_words(text, False, language).share == 0


@each_listed("rules/substance", "by_the_agent")
def test_reactions_and_not_knowing_of_the_agent_say_nothing(text: str, language: str) -> None:
    assert of_words(text, True, language).share == 0


@each_listed("rules/substance", "something")
def test_statements_say_something(text: str, language: str) -> None:
    assert of_words(text, False, language).share >= 0.3


def test_only_the_words_of_turns_are_weighed() -> None:
    assert substance(memory("chunk/1", "okay thanks"), "english").share == 0
    assert substance(memory("note/1", "okay thanks", kind="note"), "english").share == 1
    assert substance(memory("chunk/1", "okay thanks", pinned=True), "english").share == 1


LATER = datetime(2026, 5, 20, 15, tzinfo=UTC)  # a Wednesday


@each_row(("text", "first"), listed("rules/overview", "names_of_a_time"))
@each_row("zone", ["UTC", "Europe/Berlin", "Pacific/Honolulu"])
def test_names_of_a_time(text, first, zone):
    there = ZoneInfo(zone)
    told = list(periods_of(times(text, LATER, there), LATER, there))
    assert told[0] == first and len(set(told)) == len(told)
