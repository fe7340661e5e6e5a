"""Which questions ask for an overview, and of which periods."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from slowcat_memory.core.query.understand import asks_overview
from slowcat_memory.core.summaries.summary import without_repeats
from slowcat_memory.core.time.expressions import times
from slowcat_memory.core.time.periods import periods_of
from tests.support.rows import each_row, listed

NOW = datetime(2026, 5, 20, 15, tzinfo=UTC)  # a Wednesday


@each_row(("asked", "text"), listed("overviews"))
def test_asks_overview_of_a_time_and_not_of_a_thing(asked, text):
    assert asks_overview(text) is (asked == "yes")


@each_row(("text", "first"), listed("rules/overview", "names_of_a_time"))
@each_row("zone", ["UTC", "Europe/Berlin", "Pacific/Honolulu"])
def test_names_of_a_time(text, first, zone):
    there = ZoneInfo(zone)
    told = list(periods_of(times(text, NOW, there), NOW, there))
    assert told[0] == first and len(set(told)) == len(told)


def test_without_repeats_a_sentence_is_kept_once_with_its_speaker() -> None:
    week = "Anna: The dog barks. The vet was here."
    day = "Anna: The vet was here. It rained. Ben: Too much."
    assert without_repeats([week, day, week]) == [week, "Anna: It rained. Ben: Too much.", ""]


def test_without_repeats_a_day_stays_with_what_is_left_of_it() -> None:
    week = "11. Mai: Anna hat einen Hund. Anna: Es regnet. 12. Mai: Anna: Der Hund ist krank."
    session = "Anna hat einen Hund. Anna: Die Lampe ist kaputt."
    assert without_repeats([week, session]) == [week, "Anna: Die Lampe ist kaputt."]
    later = "13 May: Anna: It rained. 14 May: Anna: The lamp broke."
    assert without_repeats(["Anna: It rained.", later])[1] == "14 May: Anna: The lamp broke."
