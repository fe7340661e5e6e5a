"""What is read out of a query. The week of the examples: Wednesday 13 May 2026, 10:00."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

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


def test_parse_query_a_plain_query_is_its_words() -> None:
    text = "what is my dog called"
    assert ask(text) == ParsedQuery(words=text, meaning=text)


@given(st.text(), st.booleans())
def test_parse_query_any_query_can_be_read(text: str, talk: bool) -> None:
    found = ask(text, *(TALK if talk else ()))
    assert found.words.startswith(text)
    assert set(found.named) <= set(SPEAKERS)
    assert parse_query(text, NOW, UTC, dialogue=TALK, options=NOTHING) == ParsedQuery(
        words=text, meaning=text, about_talk=found.about_talk
    )


def test_parse_query_a_name_stays_among_the_words_and_leaves_the_meaning() -> None:
    found = ask("Which instrument does Anna play?")
    assert found.words == "Which instrument does Anna play?"
    assert found.meaning == "Which instrument does they play?"
    assert found.named == ("Anna",)


def test_parse_query_a_part_of_a_name_names_its_speaker() -> None:
    assert ask("what did ben tell Anna").named == ("Ben Berg", "Anna")
    assert ask("what did Moritz tell the assistant").named == ()


def test_parse_query_names_may_be_left_in() -> None:
    text = "Which instrument does Anna play?"
    assert ask(text, names=False) == ParsedQuery(words=text, meaning=text)


def test_parse_query_a_time_that_is_asked_about_is_found() -> None:
    (week,) = ask("What did I do last week?").times
    assert (week.start.day, week.end.day, week.start.month) == (4, 11, 5)
    assert ask("What did I do last week?").words == "What did I do last week?"


def test_parse_query_times_may_be_left_alone_and_are_those_of_the_language() -> None:
    assert ask("What did I do last week?", times=False).times == ()
    assert ask("Was habe ich letzte Woche gemacht?", language="german").times
    assert ask("What did Anna do last week?", names=False).times


def test_parse_query_the_time_is_that_of_the_users_day() -> None:
    late = datetime(2026, 5, 13, 23, 30, tzinfo=UTC)
    zones = (UTC, ZoneInfo("Asia/Tokyo"))
    days = [
        parse_query("What did I say yesterday?", late, zone, options=AskOptions()).times[0]
        for zone in zones
    ]
    assert days[1].start - days[0].start == timedelta(hours=15)  # the day after, nine hours ahead


def test_parse_query_a_follow_up_takes_the_words_that_it_leans_on() -> None:
    found = ask("and what about him?", *TALK)
    assert found.words.startswith("and what about him?")
    assert {"Moritz", "brewery"} <= set(found.words.split())
    assert found.meaning == found.words


def test_parse_query_what_stands_alone_takes_nothing() -> None:
    text = "Where did my grandmother go to school?"
    assert ask(text, *TALK).words == text


def test_parse_query_a_follow_up_takes_nothing_from_long_ago_or_when_it_is_not_wanted() -> None:
    old = tuple(DialogueTurn(said.text, NOW - timedelta(hours=1)) for said in TALK)
    for found in (
        ask("and what about him?", *old),
        ask("and what about him?", *TALK, follow_up=False),
        ask("and what about him?"),
    ):
        assert found.words == "and what about him?"


def test_parse_query_whom_the_dialogue_named_is_named_by_the_follow_up() -> None:
    said = DialogueTurn("Which instrument does Anna play?", NOW)
    found = ask("and what about her?", said)
    assert "Anna" in found.words.split() and "Anna" not in found.meaning.split()
    assert found.named == ("Anna",)
