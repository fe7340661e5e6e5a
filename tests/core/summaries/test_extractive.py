"""Summaries without an LLM: which clauses are chosen."""

from slowcat_memory.core.extraction.options import ExtractiveOptions
from slowcat_memory.core.summaries.extractive import Line, choose_clauses, split_turn
from slowcat_memory.core.text.normalize import Tokenizer

SAID = [
    ("Anna", "Hi there. How are you?"),
    ("Agent", "Fine, thank you!"),
    ("Anna", "I had an interview at Acme in Lisbon on Monday. It was for a data job."),
    ("Agent", "How did the interview at Acme go?"),
    ("Anna", "The interview at Acme went really well, and they want to call me on Friday."),
    ("Anna", "Great idea, thank you."),
    ("Agent", "Good luck with the job at Acme."),
    ("Agent", "You should ask them about the salary."),
]
TOKENIZE = Tokenizer("english")


def said() -> list[Line]:
    return [
        line
        for turn, (who, text) in enumerate(SAID, 1)
        for line in split_turn(who, text, turn, agent=who == "Agent")
    ]


def test_choose_clauses_in_the_order_in_which_it_was_said_and_nothing_twice() -> None:
    twice = [*said(), *said()]
    kept = choose_clauses(twice, TOKENIZE, ExtractiveOptions(share=1.0, words=500))
    assert [line.turn for line in kept] == sorted(line.turn for line in kept)
    assert len({line.text for line in kept}) == len(kept)
