"""Texts in one form: characters, numbers, rare words, and how a word sounds."""

import re
import unicodedata
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.text.normalize import Tokenizer, clean, neutralise
from slowcat_memory.core.text.numerals import HALF_DAY, numbers, values
from slowcat_memory.core.text.pronunciations import (
    consonants,
    heard_as,
    pronunciations,
    sound_code,
    sound_likeness,
)
from slowcat_memory.core.text.rare_words import capitalised_names, rare_words
from tests.support.rows import each_listed, each_row, listed

# ------------------------------------------------------------------- normalize

anything = st.text(st.characters(exclude_categories=()))  # surrogates too
odd = st.text(
    st.sampled_from("aé\u0301e\0\x0b\r\n\t \ud800\udfff\u202e\ufeff\U000e0041\u0958\u0344‘’<|>[]:")
)

# ------------------------------------------------------------------- clean


@given(anything | odd, st.integers(1, 40))
def test_clean_returns_text_that_can_be_written(text: str, limit: int) -> None:
    kept, cut = clean(text, limit)
    kept.encode("utf-8")
    assert len(kept) <= limit and cut == max(0, len(text) - limit)
    assert clean(kept, limit) == (kept, 0)
    assert unicodedata.is_normalized("NFC", kept)
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", kept)


# ------------------------------------------------------------------- neutralise

CONTROL_TOKENS = [token for (token,) in listed("text/control_tokens")]
ROLE_HEADERS = [header for (header,) in listed("text/role_headers.jsonl")]
hostile = st.lists(st.sampled_from([*CONTROL_TOKENS, *ROLE_HEADERS]) | anything, max_size=6)


def is_live(text: str) -> bool:
    """Tell whether a text holds something that a chat template could take for its own."""
    return bool(
        re.search(r"[<>|`｜\u2581＜＞]|\[/?\w+\]", text)
        or re.search(r"(^|\s)(#+\s*)?(system|assistant|user|human|instruction)\s*:", text, re.I)
    )


@each_row("token", CONTROL_TOKENS + ROLE_HEADERS)
def test_neutralise_leaves_no_control_token(token: str) -> None:
    assert is_live(token)
    hidden = (token, f"Max {token} barks", f"a{token}b", 2 * token, token[:4] + token + token[4:])
    assert not any(is_live(neutralise(text)) for text in hidden)


def test_neutralise_joins_no_token_hidden_in_a_token() -> None:
    assert not is_live(neutralise("<|im_<|im_end|>end|>"))
    assert not is_live(neutralise("[IN[INST]ST]"))
    assert not is_live(neutralise("[\u200bINST\u2060]"))
    assert not is_live(neutralise("</mem\u200bories>"))


@given(hostile)
def test_neutralise_returns_one_stable_line(parts: list[str]) -> None:
    text, _ = clean(" ".join(parts))
    line = neutralise(text)
    assert not is_live(line)
    assert neutralise(line) == line
    assert line == line.strip() and len(line.splitlines()) <= 1


# ------------------------------------------------------------------- words


@each_listed("text/tokens", "")
def test_tokenizer_folds_and_stems(text: str, tokens: str) -> None:
    tokenizer = Tokenizer()
    assert tokenizer(text) == tokens.split()
    assert tokenizer(text) == tokens.split()  # from its memory


@given(anything)
def test_tokenizer_takes_any_text(text: str) -> None:
    for token in Tokenizer()(text):
        assert token and not re.search(r"\s", token)


# ------------------------------------------------------------------- tokens


@pytest.mark.parametrize("language", ["english", "german", "none"])
def test_tokenizer_for_queries_caches_no_words(language: str) -> None:
    tokenizer = Tokenizer(language)
    passing = tokenizer.for_queries()
    text = "Where did the Zanzibaris' photographs go, für Müllers?"
    assert passing(text) == Tokenizer(language)(text)
    assert "zanzibaris" not in tokenizer._known and not passing._known
    tokenizer(text)
    assert passing(text) == tokenizer(text)  # what is known already may be used
    assert tokenizer._known and passing.version == tokenizer.version


# ------------------------------------------------------------------- numbers as people say and write them


@each_listed("numerals", "")
def test_values_a_number_is_read_in_every_way_it_can_be_meant(text: str, digits: str) -> None:
    assert {Fraction(one) for one in digits.split()} <= values(text)


@each_listed("text/clock_times", "")
def test_numbers_times_of_day(text: str, clock: str) -> None:
    hour, minute = map(int, clock.split(":"))
    assert (60 * hour + minute) % HALF_DAY in {m for one in numbers(text) for m in one.minutes}


# ------------------------------------------------------------------- words that sound alike, and names as a recogniser writes them that does not know


def likeness(name: str, heard: str) -> float:
    return max(
        sound_likeness(sound_code(one), sound_code(other))
        for one in pronunciations(name)
        for other in heard_as(heard)
    )


@each_listed("text/foreign_names", "")
def test_a_name_of_another_language_sounds_like_its_english_spelling(name: str, heard: str) -> None:
    assert likeness(name, heard) >= 0.8


@given(st.text(max_size=20), st.text(max_size=20))
def test_likeness_is_a_share_for_any_text(one: str, other: str) -> None:
    assert 0.0 <= sound_likeness(sound_code(one.lower()), sound_code(other.lower())) <= 1.0


@each_listed("text/misheard_names", "")
def test_sound_of_a_misheard_name_is_the_names(heard: str, name: str) -> None:
    one, other = (sound_code(heard_as(word)[0]) for word in (heard, name))
    assert consonants(one) == consonants(other) != ""


# ------------------------------------------------------------------- which words of a text a recogniser may not know


def names(text: str) -> list[str]:
    return [word.form for word in rare_words(text) if word.named]


@each_listed("text/announced_names", "")
def test_rare_words_finds_names_by_capitals_and_announcing_words(text: str, found: str) -> None:
    assert [one for one in names(text) if one != "rusty"] == found.split()


@each_listed("text/german_names", "")
def test_names_of_german_texts(text: str, expected: str) -> None:
    assert list(capitalised_names(text)) == expected.split()


@given(st.text())
def test_rare_words_takes_any_text(text: str) -> None:
    for word in rare_words(text):
        assert word.form in text
