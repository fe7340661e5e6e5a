"""Texts that stand beside the wrong turns."""

import pytest

from slowcat_memory.core.extraction.descriptions import Placed, misplaced
from tests.support.rows import each_row, listed

TALK = listed("placement", "a talk")
GERMAN = listed("placement", "a German talk")


def wrong(talk, texts: dict[int, str]) -> set[int]:
    turns, speakers = [one[1] for one in talk], [one[0] for one in talk]
    return misplaced(turns, speakers, [Placed(place, text) for place, text in texts.items()])


@pytest.mark.parametrize("talk", [TALK, GERMAN])
@pytest.mark.parametrize("step", [1, 2])
def test_misplaced_right_texts_stay(talk, step: int) -> None:
    assert wrong(talk, {n: talk[n][2] for n in range(0, len(talk), step)}) == set()


@each_row("talk", [TALK, GERMAN])
@each_row("step", [1, 2])
@each_row("shift", [-1, 1])
def test_misplaced_texts_shifted_by_one_are_found(talk, step: int, shift: int) -> None:
    places = list(range(0, len(talk), step))
    moved = [*places[shift:], *places[:shift]]
    found = wrong(talk, {n: talk[m][2] for n, m in zip(places, moved, strict=True)})
    assert len(found) >= 0.75 * len(places)


def test_misplaced_one_text_of_quite_another_turn_is_found() -> None:
    texts = {n: TALK[n][2] for n in range(0, len(TALK), 2)}
    assert wrong(TALK, texts | {0: TALK[8][2]}) == {0}
    assert wrong(TALK, {8: TALK[0][2]}) == {8}, "alone as well"


def test_misplaced_an_answer_may_have_the_words_of_its_question() -> None:
    assert wrong(TALK, {6: "Ida says that the radio plays."}) == set()


def test_misplaced_numbers_count_however_they_are_written() -> None:
    talk = [("Ida", "I'm on thirty-one eight.", ""), ("Ida", "They offered thirty-six two.", ""), ("Ida", "No reply yet.", "")]  # fmt: skip
    assert wrong(talk, {0: "Ida earns 31,800.", 1: "Ida was offered 36,200."}) == set()
    assert wrong(talk, {0: "Offer: 36,200.", 1: "Salary: 31,800."}) == {0, 1}


def test_misplaced_of_nothing_is_nothing() -> None:
    assert misplaced([], [], []) == set()
    assert wrong(TALK, {}) == set()
