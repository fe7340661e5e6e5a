"""Texts that stand beside the wrong turns."""

import pytest

from slowcat_memory.core.extraction.descriptions import Placed, misplaced
from tests.support.rows import each_row

TALK = [
    ("Ida", "I have a viewing of the flat in Crookes on Tuesday.", "Ida views a flat in Crookes on Tuesday; housing."),
    ("Otto", "Bring the payslips, they always want those.", "Otto advises Ida to bring payslips to the viewing."),
    ("Ida", "My allotment flooded, all the leeks are gone.", "Ida's leeks on the allotment were lost in a flood; garden."),
    ("Otto", "What a shame, leeks take so long.", "Otto is sorry about the leeks."),
    ("Ida", "Grandad taught me to solder, I fixed the radio.", "Ida repaired the radio; her grandad taught her soldering."),
    ("Otto", "Does it play again?", "Otto asks Ida whether the radio plays."),
    ("Ida", "Yes, jazz, all evening.", "Ida answers Otto that the radio plays jazz all evening."),
    ("Otto", "Sounds lovely.", "Otto talks to Ida."),
    ("Ida", "The dentist pulled my wisdom tooth, two stitches.", "Ida lost a wisdom tooth at the dentist's and has 2 stitches."),
    ("Otto", "Ouch. Soup for a week then.", "Otto suggests soup to Ida after the tooth."),
]  # fmt: skip
GERMAN = [
    ("Ida", "am dienstag schau ich mir die wohnung in crookes an", "Ida besichtigt am Dienstag eine Wohnung in Crookes."),
    ("Otto", "nimm die gehaltszettel mit", "Otto rät Ida, die Gehaltszettel mitzunehmen."),
    ("Ida", "der schrebergarten stand unter wasser, der lauch ist hin", "Idas Lauch im Schrebergarten ist ertrunken."),
    ("Otto", "wie schade um den lauch", "Otto bedauert Ida wegen des Lauchs."),
    ("Ida", "opa hat mir löten beigebracht, das radio geht wieder", "Ida hat das Radio repariert; ihr Opa brachte ihr Löten bei."),
    ("Otto", "das ist ja toll", "Otto spricht mit Ida."),
]  # fmt: skip


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
