"""Summaries without an LLM."""

import numpy as np

from slowcat_memory.core.summaries.extractive import (
    ExtractiveOptions,
    Line,
    as_text,
    choose_sentences,
    split_turn,
)
from slowcat_memory.core.text.normalize import Tokenizer

SAID = [
    ("Anna", "Hi there. How are you?"),
    ("Agent", "Fine, thank you!"),
    ("Anna", "I had an interview at Acme in Lisbon on Monday. It was for a data job."),
    ("Agent", "How did the interview at Acme go?"),
    ("Anna", "The interview at Acme went well. They want to call me on Friday about the job."),
    ("Anna", "By the way, nice weather."),
    ("Agent", "Good luck with the job at Acme."),
]
TOKENIZE = Tokenizer("english")


def said() -> list[Line]:
    return [
        line
        for turn, (who, text) in enumerate(SAID, 1)
        for line in split_turn(who, text, turn, agent=who == "Agent")
    ]


def test_extractive_options_chosen_what_it_was_about_stays_and_small_talk_goes() -> None:
    text = as_text(choose_sentences(said(), TOKENIZE, options=ExtractiveOptions(share=0.5)))
    assert "interview at Acme" in text and "Friday" in text
    assert "weather" not in text and "How are you" not in text


def test_extractive_options_chosen_no_more_words_than_were_allowed() -> None:
    whole = sum(len(line.text.split()) for line in said())
    for share in (0.2, 0.3, 0.5):
        kept = choose_sentences(said(), TOKENIZE, options=ExtractiveOptions(share=share))
        assert 0 < sum(len(line.text.split()) for line in kept) <= share * whole + 1
    kept = choose_sentences(said(), TOKENIZE, options=ExtractiveOptions(words=12, share=1.0))
    assert sum(len(line.text.split()) for line in kept) <= 12


def test_extractive_options_chosen_in_the_order_in_which_it_was_said_and_nothing_twice() -> None:
    twice = [*said(), *said()]
    kept = choose_sentences(twice, TOKENIZE, options=ExtractiveOptions(share=1.0, words=500))
    places = [twice.index(line) for line in kept]
    assert places == sorted(places) and len({line.text for line in kept}) == len(kept)


def test_extractive_options_chosen_vectors_decide_where_there_are_some() -> None:
    vectors = np.tile([1.0, 0.0], (len(said()), 1))
    odd = next(n for n, line in enumerate(said()) if "weather" in line.text)
    vectors[odd] = [0.0, 1.0]
    few = ExtractiveOptions(share=0.6, words=500)
    assert not any(
        "weather" in line.text for line in choose_sentences(said(), TOKENIZE, vectors, few)
    )


def test_extractive_chosen_nothing_said_nothing_told() -> None:
    assert choose_sentences([], TOKENIZE) == [] and as_text([]) == ""
    long = split_turn("Anna", "word " * 4000, 1)
    assert len(choose_sentences(long, TOKENIZE)) == 1, (
        "one sentence is left even where it is too long"
    )
