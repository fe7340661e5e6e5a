"""Composed commands: free wordings, and sentences with the same words that are none."""

import pytest

from slowcat_memory.core.commands.composition import MAX_TOKENS, Utterance, compose
from slowcat_memory.core.commands.grammar import recognise
from slowcat_memory.core.language import language_of
from tests.support.rows import each_row, listed

LOOK_ALIKES = listed("composed/look_alikes")
ALL = listed("composed/commands")


@each_row(("name", "kind", "sentence"), ALL)
def test_composition_a_free_wording_is_carried_out(name, kind, sentence):
    found = recognise(sentence, name)
    assert found is not None
    assert (found.kind, found.shared) == (("remember", True) if kind == "shared" else (kind, False))


@pytest.mark.parametrize("name", ["english", "german"])
def test_composition_look_alikes_are_conversation(name):
    taken = [one for language, one in LOOK_ALIKES if language == name and recognise(one, name)]
    assert taken == []


@each_row(("sentence", "kind", "argument"), listed("composed/arguments"))
def test_composition_arguments(sentence, kind, argument):
    found = recognise(sentence)
    assert found is not None and (found.kind, found.argument) == (kind, argument)


@pytest.mark.parametrize("word", ["please ", "forget that ", "you can not store what i said "])
def test_composition_a_long_sentence_is_conversation(word):
    table = language_of("english").commands.composed
    assert compose(Utterance(word * MAX_TOKENS, table)) is None
