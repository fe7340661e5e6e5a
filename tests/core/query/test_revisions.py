import pytest

from tests.support.wordings import revises

OLD = "The movers come on the sixteenth."


@pytest.mark.parametrize(
    ("newer", "query", "language", "changes"),
    [
        ("the movers now come on the twentieth", "when do the movers come", "english", True),
        ("The movers were rescheduled.", "When do the movers come?", "english", True),
        ("The movers were friendly.", "When do the movers come?", "english", False),
        ("the plumber comes on friday instead", "when do the movers come", "english", False),
        ("the movers now come on the twentieth", "who is my boss", "english", False),
    ],
)
def test_a_word_of_change_about_what_is_asked_revises(
    newer: str, query: str, language: str, changes: bool
) -> None:
    assert revises(newer, OLD, query, language) == changes


def test_words_without_content_join_no_two_matters() -> None:
    old, new = "Mein Chef heißt Felix.", "Mein Impftermin ist verlegt, jetzt am Montag."
    assert not revises(new, old, "Weißt du, wie mein Vater heißt?", "german")


def test_german_forms_of_a_word_are_one() -> None:
    old, new = "Der Umzugswagen kommt am Montag.", "der umzugswagen wurde verschoben"
    assert revises(new, old, "wann kommt der Umzugswagen?", "german")
