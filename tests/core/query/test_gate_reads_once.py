"""The recall gate splits each sentence into words once."""

import pytest

from slowcat_memory.core.query import recall_gate
from slowcat_memory.core.query.recall_gate import judge


@pytest.mark.parametrize(
    "text",
    [
        "when does my sister come to Graz",
        "why do cats purr",
        "so what is the name of my dentist?",
        "tell me about the boat again",
    ],
)
def test_a_sentence_is_split_into_words_once(text, monkeypatch):
    split, before = list[str](), recall_gate._WORD

    class Counting:
        def __getattr__(self, name: str) -> object:
            def counted(said: str) -> object:
                split.append(said)
                return getattr(before, name)(said)

            return counted

    monkeypatch.setattr(recall_gate, "_WORD", Counting())
    need = judge(text)
    assert split == [text]
    monkeypatch.undo()
    assert judge(text) == need


def test_a_greeting_of_several_words_is_left_out_of_a_long_query() -> None:
    words = "where did we put the spare key of the boat " * 9
    assert judge(f"hey there, {words}").query == words
