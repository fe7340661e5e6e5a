"""Orders to the memory in set and in free words, and sentences that only look like one."""

from datetime import UTC, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.core.commands import grammar
from slowcat_memory.core.commands.corrections import Said, find_corrected, mentions, replaced_value
from slowcat_memory.core.commands.grammar import Command, Heard, Sentence, find_argument
from slowcat_memory.core.commands.intent_model import Intent, read_model
from slowcat_memory.core.commands.replies import counted, describe_known, describe_sources
from slowcat_memory.core.language import LANGUAGES, Language, language_of
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.records import Memory
from tests.support.rows import each_listed, listed
from tests.support.said import NOON, memory


@each_listed("commands/yes_and_no", "")
def test_recognise_yes_and_no_only_after_a_question(language: str, said: str, kind: str) -> None:
    assert Heard(said, language).command() is None
    found = Heard(said, language).command(asked=True)
    assert found == (Command(kind=kind) if kind else None)


WORDS = st.sampled_from(
    "forget that please : . , dass merk dir lösch über wann today gestern my Lisa remember".split()
)


@settings(max_examples=600, deadline=None)
@given(
    st.text(max_size=200) | st.lists(WORDS, max_size=70).map(" ".join),
    st.sampled_from([one.name for one in LANGUAGES]),
    st.booleans(),
)
def test_recognise_takes_any_text(text: str, language: str, asked: bool) -> None:
    found = Heard(text, language).command(asked=asked)
    assert found is None or found.argument in text.translate(grammar.QUOTES)


def kind_of(sentence: str, language: str) -> str:
    found = Heard(sentence, language, ("Slowcat",)).command()
    return "" if found is None else found.kind + "_shared" * found.shared


@pytest.mark.parametrize("language", ["english", "german"])
def test_wordings_of_commands_have_the_right_kind(language):
    rows = listed(f"commands/{language}")
    wrong = [sentence for kind, sentence in rows if kind_of(sentence, language) != kind]
    assert len(wrong) <= 0.07 * len(rows), wrong


@each_listed("commands/look_alikes", "")
def test_look_alikes_are_not_carried_out(language, said):
    command = Heard(said, language).command()
    assert command is None or command.kind == "confirm"


# ------------------------------------------------------------------- commands that no rule reads, and how sure the model must be of them


class FixedModel:
    """Judges every utterance alike, and finds no argument."""

    def __init__(self, kind: str, asks: float, share: float) -> None:
        self._intent, self.arguments = Intent(kind, asks, share), None

    def judge(self, words, table) -> Intent:
        return self._intent


def kinds(text: str, model: FixedModel, language: str = "english") -> list[tuple[str, bool]]:
    found = grammar.find_intended(Sentence(text, language_of(language).commands.intents), model)
    return [((found.meant or found).kind, found.meant is None)] if found else []


def test_intent_a_forgetting_without_its_topic_is_asked_about():
    found = kinds("i want you to have less", FixedModel("forget_span", 0.99, 0.99))
    assert found == [("forget_that", False)]


@each_listed("commands/talk", "")
def test_intent_talk_is_no_command(language, said):
    for heard in (said, said.lower(), f"{said}?"):
        assert Heard(heard, language).command() is None


def test_intent_what_is_nearly_a_command_is_told_to_the_llm():
    assert Heard("i need you to put that in your records somehow").asks_change()
    assert not Heard("the fence is green and new").asks_change()


@each_listed("commands/arguments", "")
def test_arguments_are_the_words_of_the_user(language, kind, said, expected):
    utterance = Sentence(said, language_of(language).commands.intents)
    span = find_argument(kind, utterance, read_model(language)) or (0, 0)
    assert said[slice(*span)] == expected


# ------------------------------------------------------------------- which of several texts "that's wrong, it's …" is for


def verdict(said: Said, texts: list[str], correction: str, name: str = "english") -> str:
    command = Heard(correction, name).command()
    assert command is not None and command.kind == "correct", correction
    language = language_of(name)
    found = find_corrected(command.argument, said, texts, language, Tokenizer(name))
    return texts[found] if isinstance(found, int) else found


@each_listed("commands/corrections", "")
def test_corrections_find_corrected_only_what_was_said_from_it(
    name, question, answer, offered, correction, expected
):
    texts = [text for text in offered.split(" | ") if text]
    assert verdict(Said(question, answer), texts, correction, name) == expected


@each_listed("commands/own_corrections", "")
def test_corrections_find_corrected_users_own_statement(statement, answer, correction, expected):
    assert verdict(Said(statement, answer, True), [statement], correction) == expected


@each_listed("commands/replaced_values", "")
def test_corrections_replaced_value_is_told_from_what_to_what(
    text, answer, correction, before, after, name
):
    command = Heard(correction, name).command()
    assert command is not None and command.kind == "correct"
    language = language_of(name)
    found = replaced_value(command.argument, answer, text, language, Tokenizer(name))
    assert found == (before, after)


@each_listed("commands/mentions", "")
def test_mentions(about: str, text: str, expected: str) -> None:
    assert mentions(about, Tokenizer("english"))(text) is (expected == "yes")


# ------------------------------------------------------------------- sentences that can be read aloud

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
