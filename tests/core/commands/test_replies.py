"""Sentences that can be read aloud."""

from datetime import UTC, timedelta

import pytest

from slowcat_memory.core.commands.replies import counted, describe_known, describe_sources
from slowcat_memory.core.language import LANGUAGES, Language, language_of
from slowcat_memory.records import Memory
from tests.support.said import NOON, memory

ENGLISH, GERMAN = language_of("english"), language_of("german")


def chunk(text: str, **fields: object) -> Memory:
    return memory("chunk", text, **fields)


def test_counted_things_and_minutes() -> None:
    said = [counted(ENGLISH, n, "thing") for n in (0, 1, 2)]
    assert said == ["0 things", "1 thing", "2 things"]
    assert [counted(GERMAN, n, "minute") for n in (1, 5)] == ["einer Minute", "5 Minuten"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_describe_known_is_one_sentence(language: Language) -> None:
    kept = [chunk(f"thing {n}.") for n in range(9)]
    said = describe_known(language, kept, 5)
    assert said.count("“") == 5 and "thing 4" in said and "thing 5" not in said
    assert said.endswith(".") and "4" in said.rpartition("thing 4")[2]
    assert "thing 8" in describe_known(language, kept, 9)
    assert describe_known(language, [], 5) == language.replies["know_nothing"]


def test_describe_sources_names_speaker_and_day() -> None:
    offered = [
        chunk("Max is a dog."),
        chunk("Max is nice.", role="assistant", valid_from=NOON - timedelta(days=2)),
        memory("note", "Max barks.", valid_from=NOON - timedelta(days=1)),
    ]
    assert describe_sources(ENGLISH, offered, 5, NOON, UTC) == (
        "I had this in mind: today Anna said “Max is a dog”; on 10 May I said “Max is nice”; "
        "yesterday you asked me to remember “Max barks”."
    )
    assert describe_sources(ENGLISH, offered, 1, NOON, UTC).count("“") == 1
    assert describe_sources(ENGLISH, [], 5, NOON, UTC) == ENGLISH.replies["why_nothing"]
