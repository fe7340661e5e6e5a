"""Which later sentence closes an open matter."""

from datetime import UTC, datetime

import pytest

from slowcat_memory.core.proactive.closing import Later, change_of, closed_by
from tests.support.rows import each_row

AT = datetime(2026, 4, 19, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("matter", "later", "outcome"),
    [
        ("Ida has to see to her passport renewal.", "I passed the theory test today.", None),
        ("Ida has to see to her passport renewal.", "The passport is done.", "done"),
        ("Ida muss die Garage aufräumen.", "Die Garage, die Kisten holen sie nächste Woche, ist erledigt.", "done"),
        ("Ida muss die Garage aufräumen.", "Die Garage mache ich nächste Woche.", None),
    ],
)  # fmt: skip
def test_only_its_own_words_close_a_matter(matter, later, outcome):
    found = closed_by(matter, "Ida", 1, [Later(later, AT, 2)])
    assert (found[0] if found else None) == outcome


def test_a_sentence_that_calls_off_or_moves_says_so():
    assert change_of("Friday's concert is cancelled.") == "off"
    assert change_of("Der Termin wurde auf Montag verschoben.") == "moved"
    assert change_of("The concert is on Friday.") is None


@each_row(
    ("matter", "later"),
    [
        ("Ida will ring Two Blokes.", "Two Blokes are booked, a hundred and eighty."),
        ("Ida has to book the dentist.", "The dentist's booked."),
        ("Ida promised to train Tadhg.", "I've Tadhg trained."),
        ("Ida has to renew her passport.", "The passport came on Tuesday."),
        ("Ida is waiting for the test results.", "The results are in, all clear."),
        ("Ida has to fix the bike.", "The bike runs again."),
        ("Ida has to find a plumber.", "We got a plumber now."),
        ("Ida muss den Reisepass verlängern.", "Der Reisepass ist verlängert."),
        ("Ida muss das Formular ausfüllen.", "Das Formular ist ausgefüllt."),
        ("Ida wartet auf die Laborwerte.", "Die Laborwerte sind da."),
        ("Ida muss das Fahrrad reparieren.", "Das Fahrrad fährt wieder."),
    ],
)
def test_a_result_closes_a_matter_whoever_did_it(matter, later):
    found = closed_by(matter, "Ida", 1, [Later(later, AT, 2)])
    assert found and found[0] == "done"


@pytest.mark.parametrize(
    ("matter", "later"),
    [
        ("Ida has to pay the deposit.", "The deposit is still not paid."),
        ("Ida has to pay the deposit.", "The deposit has to be paid."),
        ("Ida waits for answers from Google and Siemens.", "Google answered, I have an interview."),
        ("Ida has to book the dentist.", "The dentist is booked out until June."),
        ("Ida has to order the cake.", "I love cake."),
        ("Ida muss das Formular ausfüllen.", "Das Formular liegt noch da."),
    ],
)
def test_what_is_not_done_yet_or_only_in_part_stays_open(matter, later):
    found = closed_by(matter, "Ida", 1, [Later(later, AT, 2)])
    assert found is None or found[0] == "told", "told closes no task"
