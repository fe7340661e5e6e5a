"""Pairs of statements about one matter: the later changes the earlier in what is asked."""

from slowcat_memory.core.query.asked_facts import lacks_value
from tests.support.rows import each_row, listed
from tests.support.wordings import revises

PAIRS = listed("revisions")


def test_there_are_at_least_sixty_pairs() -> None:
    assert len(PAIRS) >= 60


@each_row("lower", [False, True])
@each_row(("older", "newer", "query", "language"), PAIRS)
def test_a_later_statement_changes_the_earlier_one(
    older: str, newer: str, query: str, language: str, lower: bool
) -> None:
    if lower:
        older, newer, query = older.lower(), newer.lower(), query.lower()
    assert revises(newer, older, query, language)
    assert not revises(newer, older, "who painted the piano and the pump", language)


@each_row(
    ("older", "newer", "query", "language"),
    listed("rules/revisions", "other_matters_and_the_same_value_change_nothing"),
)
def test_other_matters_and_the_same_value_change_nothing(
    older: str, newer: str, query: str, language: str
) -> None:
    assert not revises(newer, older, query, language)


@each_row(
    ("query", "text", "language", "missing"),
    [
        ("How much does the ramp cost?", "We're getting a ramp put in.", "english", 1.0),
        ("how much does the ramp cost", "the ramp is ninety pounds", "english", 0.0),
        ("How many aunts does Linda have?", "My cousin Linda sells boats.", "english", 1.0),
        ("How many aunts does Linda have?", "Linda's aunt is called Jo.", "english", 0.0),
        ("What time does the library close?", "I like our library.", "english", 1.0),
        ("When did I buy the kayak?", "I bought a kayak.", "english", 0.0),
        ("How much does a blue whale weigh?", "Whales are big.", "english", 0.0),
        ("Wie viel kostet die Rampe?", "Wir bauen eine Rampe.", "german", 1.0),
        ("wie viel kostet die rampe", "die rampe kostet neunzig euro", "german", 0.0),
        ("Wann ist das Sommerfest?", "Das Sommerfest wird schön.", "german", 1.0),
        ("wann ist das sommerfest", "das sommerfest ist am samstag", "german", 0.0),
    ],
)
def test_a_question_for_a_value_is_not_answered_without_one(
    query: str, text: str, language: str, missing: float
) -> None:
    assert lacks_value(query, [text], language) == missing


def test_a_value_of_something_else_counts_less() -> None:
    assert 0 < lacks_value("How much is the ramp?", ["Bob is forty."], "english") < 1


def test_words_without_content_join_no_two_matters() -> None:
    old, new = "Mein Chef heißt Felix.", "Mein Impftermin ist verlegt, jetzt am Montag."
    assert not revises(new, old, "Weißt du, wie mein Vater heißt?", "german")
