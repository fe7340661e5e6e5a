"""Composed commands: free wordings, and sentences with the same words that are none."""

import re

import pytest

from slowcat_memory.core.commands import composition
from slowcat_memory.core.commands.composition import MAX_TOKENS, Utterance, compose
from slowcat_memory.core.commands.grammar import recognise
from slowcat_memory.core.language import LANGUAGES, language_of
from tests.support.rows import each_row, listed

LOOK_ALIKES = listed("composed/look_alikes")
# Kinds that differ by a pause alone.
SIMILAR = {"undo": ("on_record", "forget_that"), "forget_that": ("off_record",)}
ALL = listed("composed/commands")


@each_row(("name", "kind", "sentence"), ALL)
def test_composition_a_free_wording_is_carried_out(name, kind, sentence):
    found = recognise(sentence, name)
    assert found is not None
    assert (found.kind, found.shared) == (("remember", True) if kind == "shared" else (kind, False))


@each_row(("name", "kind", "sentence"), ALL)
def test_composition_case_and_punctuation_make_no_difference_to_a_kind(name, kind, sentence):
    """Streaming recognisers write neither; a sentence may be lost by it, never be another one."""
    found = recognise(re.sub(r"[^\w\s']", "", sentence).lower(), name)
    wanted = "remember" if kind == "shared" else kind
    assert found is None or found.kind in (wanted, "confirm", *SIMILAR.get(wanted, ()))


@pytest.mark.parametrize("name", ["english", "german"])
def test_composition_look_alikes_are_conversation(name):
    taken = [one for language, one in LOOK_ALIKES if language == name and recognise(one, name)]
    assert taken == []


@pytest.mark.parametrize("name", ["english", "german"])
def test_composition_without_what_speaks_against_it_takes_look_alikes(name, monkeypatch):
    """The look-alikes must be able to fail."""
    plain = composition._Slots.__call__
    against = ("veto", "question", "foreign", "third")
    blind = lambda slots, *names: (  # noqa: E731
        "addressed" in names or plain(slots, *(one for one in names if one not in against))
    )
    monkeypatch.setattr(composition._Slots, "__call__", blind)
    table = language_of(name).commands.composed
    look_alikes = [one for language, one in LOOK_ALIKES if language == name]
    assert any(compose(Utterance(one, table)) for one in look_alikes)


@pytest.mark.parametrize(
    ("sentence", "kind", "argument"),
    [
        ("Everything concerning my divorce should be deleted.", "forget_about", "my divorce"),
        ("please scrub my address from your memory", "forget_about", "my address"),
        ("Wipe the past hour from your memory.", "forget_span", "the past hour"),
        ("delete everything from this morning", "forget_span", "this morning"),
        ("tell me what you have noted about the garden", "what_known", "the garden"),
        ("Please write down that the boiler was serviced in May.", "remember",
         "the boiler was serviced in May"),
        ("Keep everything regarding my medication on this machine.", "local", "my medication"),
    ],
)  # fmt: skip
def test_composition_arguments(sentence, kind, argument):
    found = recognise(sentence)
    assert found is not None and (found.kind, found.argument) == (kind, argument)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.name)
def test_composition_every_language_has_every_slot(language):
    assert (
        language.commands.composed.slots.keys()
        == language_of("english").commands.composed.slots.keys()
    )
    assert language.commands.composed.compiled


@pytest.mark.parametrize("word", ["please ", "forget that ", "you can not store what i said "])
def test_composition_a_long_sentence_is_conversation(word):
    table = language_of("english").commands.composed
    assert compose(Utterance(word * MAX_TOKENS, table)) is None
