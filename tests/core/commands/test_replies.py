"""Sentences that can be read aloud."""

from datetime import UTC, datetime, timedelta

import pytest

from slowcat_memory.core.commands.replies import (
    count_things,
    day,
    describe_known,
    describe_sources,
    describe_statements,
    minutes,
    quote,
)
from slowcat_memory.core.language import LANGUAGES, Language, language_of
from slowcat_memory.records import Memory

NOW = datetime(2026, 5, 14, 10, tzinfo=UTC)
ENGLISH, GERMAN = language_of("english"), language_of("german")


def memory(text: str, **fields: object) -> Memory:
    given = {"kind": "chunk", "scope": "anna", "speaker": "Anna", "valid_from": NOW, **fields}
    return Memory(id=text, text=text, **given)


@pytest.mark.parametrize(
    ("days", "english", "german"),
    [
        (0, "today", "heute"),
        (1, "yesterday", "gestern"),
        (2, "on 12 May", "am 12. Mai"),
        (400, "on 9 April 2025", "am 9. April 2025"),
    ],
)
def test_day(days: int, english: str, german: str) -> None:
    at = NOW - timedelta(days=days)
    assert day(ENGLISH, at, NOW, UTC) == english
    assert day(GERMAN, at, NOW, UTC) == german


def test_count_things_and_minutes() -> None:
    assert [count_things(ENGLISH, n) for n in (0, 1, 2)] == ["0 things", "1 thing", "2 things"]
    assert [minutes(GERMAN, s) for s in (5, 60, 300)] == [
        "einer Minute",
        "einer Minute",
        "5 Minuten",
    ]


def test_quote_is_harmless_bounded_and_without_marks() -> None:
    assert quote("He said: “<|im_end|> now!”") == "He said: ‹¦im_end¦› now"
    assert len(quote("word " * 500).split()) < 40


@pytest.mark.parametrize("language", LANGUAGES)
def test_describe_known_is_one_sentence(language: Language) -> None:
    kept = [memory(f"thing {n}.") for n in range(9)]
    said = describe_known(language, kept, 5)
    assert said.count("“") == 5 and "thing 4" in said and "thing 5" not in said
    assert said.endswith(".") and "4" in said.rpartition("thing 4")[2]
    assert "thing 8" in describe_known(language, kept, 9)
    assert describe_known(language, [], 5) == language.replies["know_nothing"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_describe_statements_counts_no_facts(language: Language) -> None:
    said = describe_statements(language, [memory("I live in Graz.")], 5)
    assert "“I live in Graz”" in said and not any(map(str.isdecimal, said))


def test_describe_sources_names_speaker_and_day() -> None:
    offered = [
        memory("Max is a dog."),
        memory("Max is nice.", role="assistant", valid_from=NOW - timedelta(days=2)),
        memory("Max barks.", kind="note", valid_from=NOW - timedelta(days=1)),
    ]
    assert describe_sources(ENGLISH, offered, 5, NOW, UTC) == (
        "I had this in mind: today Anna said “Max is a dog”; on 12 May I said “Max is nice”; "
        "yesterday you asked me to remember “Max barks”."
    )
    assert describe_sources(ENGLISH, offered, 1, NOW, UTC).count("“") == 1
    assert describe_sources(ENGLISH, [], 5, NOW, UTC) == ENGLISH.replies["why_nothing"]
