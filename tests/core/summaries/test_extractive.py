"""Summaries without an LLM: which clauses are chosen."""

from slowcat_memory.core.summaries.extractive import Line, as_text, choose_clauses, split_turn
from slowcat_memory.core.summaries.options import ExtractiveOptions
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


def test_choose_clauses_what_it_was_about_stays_and_fillers_go() -> None:
    text = as_text(choose_clauses(said(), TOKENIZE))
    assert "interview at Acme in Lisbon on Monday" in text and "call me on Friday" in text
    assert not any(filler in text for filler in ("Great idea", "How are you", "really", "Fine"))


def test_choose_clauses_the_agent_is_quoted_for_advice_alone() -> None:
    text = as_text(choose_clauses(said(), TOKENIZE))
    assert text.endswith("Agent: You should ask them about the salary.")
    assert "Good luck" not in text and "How did" not in text


def test_choose_clauses_no_more_words_than_were_allowed() -> None:
    whole = sum(line.length for line in said())
    for share in (0.2, 0.3, 0.5):
        kept = choose_clauses(said(), TOKENIZE, ExtractiveOptions(share=share, least=0))
        assert 0 < sum(line.length for line in kept) <= share * whole + 1
    kept = choose_clauses(said(), TOKENIZE, ExtractiveOptions(words=12, share=1.0))
    assert 0 < sum(line.length for line in kept) <= 12


def test_choose_clauses_a_short_conversation_leaves_more_than_one_sentence() -> None:
    turns = (
        "The landlord has not paid the deposit back.",
        "I sold the car on Saturday for 2,400 pounds.",
        "I bought my sister a necklace for her birthday.",
    )
    lines = [line for n, text in enumerate(turns, 1) for line in split_turn("Anna", text, n)]
    kept = choose_clauses(lines, TOKENIZE)
    assert [line.turn for line in kept] == [1, 2, 3]


def test_choose_clauses_in_the_order_in_which_it_was_said_and_nothing_twice() -> None:
    twice = [*said(), *said()]
    kept = choose_clauses(twice, TOKENIZE, ExtractiveOptions(share=1.0, words=500))
    assert [line.turn for line in kept] == sorted(line.turn for line in kept)
    assert len({line.text for line in kept}) == len(kept)


def test_choose_clauses_facts_come_first_and_their_sentence_is_not_repeated() -> None:
    lines = [
        Line("Anna", "Anna moved to Porto.", 2, fact=True),
        *split_turn("Anna", "The bakery near the river closed.", 1),
        *split_turn("Anna", "I moved to Porto.", 2),
    ]
    text = as_text(choose_clauses(lines, TOKENIZE))
    assert text == "Anna moved to Porto. Anna: The bakery near the river closed."


def test_choose_clauses_nothing_said_nothing_told() -> None:
    assert choose_clauses([], TOKENIZE) == [] and as_text([]) == ""
    fillers = ("Great idea, thank you.", "Sorry, the line broke.", "Okay thanks.", "Ha ha, nice.")
    lines = [line for n, text in enumerate(fillers) for line in split_turn("Anna", text, n)]
    assert choose_clauses(lines, TOKENIZE) == []
    german = ("Super, danke dir!", "Die Verbindung war weg.", "Ja, genau.", "Bis später dann.")
    lines = [line for n, text in enumerate(german) for line in split_turn("Jana", text, n)]
    assert choose_clauses(lines, TOKENIZE) == []


def test_choose_clauses_a_sentence_said_a_thousand_times_displaces_nothing() -> None:
    lines = [Line("Anna", "We went home by tram.", n) for n in range(2_000)]
    lines += [Line("Anna", f"I bought a lamp{n} near the station{n}", n) for n in range(100)]
    kept = choose_clauses(lines, TOKENIZE)
    assert 190 <= sum(line.length for line in kept) <= 200
    assert sum("tram" in line.text for line in kept) == 1
