"""Which questions ask for an overview, and of which periods."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from slowcat_memory.core.query.overview import asks_overview, names, without_repeats
from slowcat_memory.core.time.expressions import times
from tests.support.rows import each_row

NOW = datetime(2026, 5, 20, 15, tzinfo=UTC)  # a Wednesday
YES = (
    "What did we talk about last week?",
    "what did we talk about on 8 May",
    "what have we talked about lately",
    "Catch me up.",
    "can you give me a recap",
    "where did we leave off?",
    "summarize last week for me",
    "What happened last week?",
    "What was going on in April?",
    "what did I do yesterday",
    "what were we discussing yesterday?",
    "give me an overview of the last month",
    "Worüber haben wir gesprochen?",
    "worüber haben wir letzte Woche gesprochen",
    "Was haben wir gestern besprochen?",
    "fass mir die letzte Woche zusammen",
    "was war letzte Woche los?",
    "bring mich auf den neuesten Stand",
    "wo waren wir stehen geblieben",
)
NO = (
    "What did Anna say about the dog?",
    "what is the name of my dog",
    "What happened to my bike last week?",
    "what did we say about the rent",
    "When did I go to Lisbon?",
    "what's going on with Max",
    "Where did Caroline move from 4 years ago?",
    "write a summary of the French revolution",
    "a summary of the book, please",
    "did I tell you what we talked about at work",
    "what did the doctor talk about",
    "Wie heißt mein Hund?",
    "was ist mit Max passiert",
    "Was hat Anna über die Wohnung gesagt?",
    "talk to me",
    "I did a lot last week.",
)


@each_row("text", YES)
def test_asks_overview_an_overview_is_asked_for(text):
    assert asks_overview(text)


@each_row("text", NO)
def test_asks_overview_a_thing_is_asked_for(text):
    assert not asks_overview(text)


@each_row(
    ("text", "first"),
    [
        ("what did we talk about last week?", "week/2026-W20"),
        ("what did we talk about yesterday?", "day/2026-05-19"),
        ("what did we talk about on 8 May?", "day/2026-05-08"),
        ("catch me up", "week/2026-W20"),
    ],
)
@each_row("zone", ["UTC", "Europe/Berlin", "Pacific/Honolulu"])
def test_names_of_a_time(text, first, zone):
    there = ZoneInfo(zone)
    told = list(names(times(text, NOW, there), NOW, there))
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
