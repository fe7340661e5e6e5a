"""When a statement is true: by its words, and by what an extractor wrote. Said on 2 November 2026."""

from datetime import UTC, datetime

from msgspec.structs import replace

from slowcat_memory.core.extraction.evidence import Dated, dated
from slowcat_memory.core.extraction.grounding import ground, strays
from slowcat_memory.core.facts.prompt import facts_by_rule
from slowcat_memory.core.graph.readings import extract
from slowcat_memory.records import Turn
from tests.support.rows import each_row

AT = datetime(2026, 11, 2, 18, tzinfo=UTC)  # a Monday


def turn(text: str) -> Turn:
    return Turn(session="s", scope="lena", speaker="Lena", role="user", text=text, at=AT, id=3)


def day(text: str, written: str = "", quote: str = "") -> Dated:
    said = turn(text)
    return dated(quote or text, said, written, ground([said], UTC), UTC)


@each_row(
    ("text", "written", "expected"),
    [
        ("I have a dentist appointment on Friday.", "", "2026-11-06"),
        ("I have a job interview on 10 November.", "", "2026-11-10"),
        ("I have a job interview on 10 November.", "2026-11-10", "2026-11-10"),
        ("The wedding is on 12 June.", "2027-06-12", "2027-06-12"),
        ("I went to the doctor on Friday.", "2026-10-30", "2026-10-30"),
        ("I went to the doctor on Friday.", "2026-11-04", "2026-10-30"),
        ("Three weeks ago we planted tomatoes.", "2026-10-14", "2026-10-14"),
        ("We graduated on 12 June 2024.", "2027-06-12", "2024-06-12"),
        ("Am 14. Februar heiraten wir.", "2027-02-14", "2027-02-14"),
        ("I'm on holiday until Friday.", "", "2026-11-06"),
        ("I've been ill since Friday.", "", "2026-10-30"),
    ],
)
def test_dated_an_extractors_date_counts_if_the_words_can_mean_it(text, written, expected) -> None:
    assert day(text, written).day == expected


def test_dated_reads_the_clause_of_a_quote_and_no_other() -> None:
    text = "I live in Graz and on Friday I have a job interview at Bosch."
    assert day(text, quote="I live in Graz").day == ""
    assert day(text, quote="I have a job interview at Bosch").day == "2026-11-06"
    assert day(text, quote="I HAVE a job interview").day == "2026-11-06"


def test_dated_a_span_has_its_last_day() -> None:
    assert day("We're painting the kitchen at the weekend.").last == "2026-11-08"
    assert day("We moved on Friday.").last == ""


def test_dated_what_begins_ahead_begins_on_its_day() -> None:
    starts = day("I start at Southmead on 1 December.")
    assert (starts.since, starts.begins.date().isoformat()) == (AT, "2026-12-01")


def test_strays_a_date_without_a_year_may_be_of_the_next() -> None:
    firm = ground([turn("The wedding is on 12 June.")], UTC)
    assert strays("Lena marries on 12 June 2027.", firm) == []
    assert strays("Lena marries on 12 June 2031.", firm) == ["12 June 2031"]
    firm = ground([turn("Wir fahren am 16. März zum Klassentreffen.")], UTC)
    assert strays("Lena plant das Klassentreffen am 16. März 2027.", firm) == []


def test_a_spoken_appointment_becomes_a_fact_of_the_day_that_was_meant() -> None:
    (fact,) = facts_by_rule(turn("I have a dentist appointment on Friday."), UTC)
    assert (fact.date, fact.since) == ("2026-11-06", AT)


def test_a_relation_begins_on_the_day_that_was_meant() -> None:
    said = turn("I moved to Porto on Friday.")
    read = extract(said, facts_by_rule(said, UTC), UTC)
    assert read
    days = {(one.since or one.until or AT).date().isoformat() for one in read.statements}
    assert days == {"2026-10-30"}


NOVEMBER = datetime(2026, 11, 12, 18, tzinfo=UTC)  # a Thursday
# What was said, the quote, the extractor's date, the day, and since when ("" for when it was said).
DATED = [
    ("so it's the fifth of december now, the move", "so it's the fifth of december", "2026-12-05", "2026-12-05", ""),
    ("so it's the fifth of december now, the move", "so it's the fifth of december", "", "2026-12-05", ""),
    ("so the fifth of December", "so the fifth of December", "2026-12-05", "2026-12-05", ""),
    ("so the fifth of December", "so the fifth of December", "2025-12-05", "2026-12-05", ""),
    ("I'm there till the eighteenth of December", "till the eighteenth of December", "2026-12-18", "2026-12-18", ""),
    ("I'm there till the eighteenth of December", "I'm there till the eighteenth of December", "", "2026-12-18", ""),
    ("I need to tell him by Tuesday", "I need to tell him by Tuesday", "2026-11-17", "2026-11-17", ""),
    ("I need to tell him by Tuesday", "I need to tell him by Tuesday", "", "2026-11-17", ""),
    ("mum comes over in January", "mum comes over in January", "2027-01", "2027-01", ""),
    ("mum comes over in January", "mum comes over in January", "2026-01", "2027-01", ""),
    ("mum comes over in January", "mum comes over in January", "", "2027-01", ""),
    ("the vet, Monday at half five", "the vet, Monday at half five", "2026-11-16", "2026-11-16", ""),
    ("the vet is on Monday at half five", "Monday at half five", "2026-11-16", "2026-11-16", ""),
    ("the twenty-eighth, a Saturday", "the twenty-eighth, a Saturday", "2026-11-28", "2026-11-28", ""),
    ("I'll get it on Saturday", "I'll get it on Saturday", "2026-11-14", "2026-11-14", ""),
    ("I'll get it on Saturday", "I'll get it on Saturday", "", "2026-11-14", ""),
    ("and I've to get it seen to, physio on Thursday the nineteenth", "physio on Thursday the nineteenth", "2026-11-19", "2026-11-19", ""),
    ("she wants his bloods done again on Wednesday", "his bloods done again on Wednesday", "2026-11-18", "2026-11-18", ""),
    ("they said come to us on monday the eleventh of january then", "come to us on monday the eleventh of january", "2027-01-11", "2027-01-11", ""),
    ("they said come to us on monday the eleventh of january then", "come to us on monday the eleventh of january", "2026-01-11", "2027-01-11", ""),
    ("I start at Northlight on the first of December", "I start at Northlight on the first of December", "2026-12-01", "2026-12-01", ""),
    ("I start at Northlight on the first of December", "I start at Northlight on the first of December", "2025-12-01", "2026-12-01", ""),
    ("my start, it's the fourth of January", "it's the fourth of January", "2027-01-04", "2027-01-04", ""),
    ("my start, it's the fourth of January", "it's the fourth of January", "2026-01-04", "2027-01-04", ""),
    ("we got married on the third of May", "we got married on the third of May", "2026-05-03", "2026-05-03", "2026-05-03"),
    ("we got married on the third of May in twenty nineteen", "we got married on the third of May", "2019-05-03", "2019-05-03", "2019-05-03"),
    ("I moved here in March", "I moved here in March", "2026-03", "2026-03", "2026-03-01"),
    ("I moved here in March", "I moved here in March", "2027-03", "2026-03", "2026-03-01"),
    ("I've lived here since twenty eighteen", "I've lived here since twenty eighteen", "2018", "2018", "2018-01-01"),
    ("he broke his arm last Tuesday", "he broke his arm last Tuesday", "2026-11-10", "2026-11-10", "2026-11-10"),
    ("he broke his arm on Tuesday", "he broke his arm on Tuesday", "2026-11-10", "2026-11-10", "2026-11-10"),
    ("we had the bloods done yesterday", "we had the bloods done yesterday", "2026-11-11", "2026-11-11", "2026-11-11"),
    ("the wedding is on the twelfth of June", "the wedding is on the twelfth of June", "2027-06-12", "2027-06-12", ""),
    ("my birthday is the ninth of February", "my birthday is the ninth of February", "", "2027-02-09", ""),
    ("Hana's birthday is on 3 March", "Hana's birthday is on 3 March", "2027-03-03", "2027-03-03", ""),
    ("I was born on 3 March 1988", "I was born on 3 March 1988", "1988-03-03", "1988-03-03", "1988-03-03"),
    ("I was born on 3 March 1988", "I was born on 3 March 1988", "1900", "1988-03-03", "1988-03-03"),
    ("the contract runs until the end of March", "the contract runs until the end of March", "2027-03-31", "2027-03-31", ""),
    ("in three weeks I fly to Lisbon", "in three weeks I fly to Lisbon", "2026-12-03", "2026-12-03", ""),
    ("next Friday we have the viewing", "next Friday we have the viewing", "2026-11-20", "2026-11-20", ""),
    ("we had the viewing on the ninth", "we had the viewing on the ninth", "2026-11-09", "2026-11-09", "2026-11-09"),
    ("the viewing is on the twentieth", "the viewing is on the twentieth", "2026-11-20", "2026-11-20", ""),
    ("the viewing is on the third", "the viewing is on the third", "", "2026-12-03", ""),
    ("two years ago we lost the dog", "two years ago we lost the dog", "2024", "2024", "2024"),
    ("two years ago we lost the dog", "two years ago we lost the dog", "2025", "2024", "2024"),
    ("I'm vegan", "I'm vegan", "2025-11-12", "", ""),
    ("I have two sisters", "I have two sisters", "2024", "", ""),
    ("I have one sister and two dogs", "I have one sister and two dogs", "2025-11-12", "", ""),
    ("I swim every morning before work", "I swim every morning before work", "2026-11", "", ""),
    ("I love swimming in october when it's cold", "I love swimming in october", "", "", ""),
    ("it happened on Halloween", "it happened on Halloween", "2026-10-31", "2026-10-31", "2026-10-31"),
    ("we're going skiing in February", "we're going skiing in February", "", "2027-02", ""),
    ("she retired in October", "she retired in October", "2026-10", "2026-10", "2026-10-01"),
    ("the exam's the second of december", "the exam's the second of december", "2025-12-02", "2026-12-02", ""),
    ("rent goes up from January", "rent goes up from January", "2027-01", "2027-01", ""),
    ("New Year's Eve we're at Rossaveal", "New Year's Eve we're at Rossaveal", "2026-12-31", "2026-12-31", ""),
    ("also am fünften Dezember ziehen wir um", "am fünften Dezember ziehen wir um", "2026-12-05", "2026-12-05", ""),
    ("also am fünften Dezember ziehen wir um", "am fünften Dezember ziehen wir um", "2025-12-05", "2026-12-05", ""),
    ("ich bin noch bis zum achtzehnten Dezember da", "bis zum achtzehnten Dezember", "2026-12-18", "2026-12-18", ""),
    ("Mama kommt im Januar", "Mama kommt im Januar", "2027-01", "2027-01", ""),
    ("Mama kommt im Januar", "Mama kommt im Januar", "2026-01", "2027-01", ""),
    ("der Tierarzt ist am Montag um halb fünf", "am Montag um halb fünf", "2026-11-16", "2026-11-16", ""),
    ("wir haben im Mai geheiratet", "wir haben im Mai geheiratet", "2026-05", "2026-05", "2026-05-01"),
    ("ich fange am ersten Februar bei Bosch an", "ich fange am ersten Februar bei Bosch an", "2027-02-01", "2027-02-01", ""),
    ("ich fange am ersten Februar bei Bosch an", "ich fange am ersten Februar bei Bosch an", "2026-02-01", "2027-02-01", ""),
    ("seit letztem Jahr wohne ich hier", "seit letztem Jahr wohne ich hier", "2025", "2025", "2025-01-01"),
    ("vor zwei Jahren sind wir umgezogen", "vor zwei Jahren sind wir umgezogen", "2024", "2024", "2024"),
    ("am 28. November ist der Umzug", "am 28. November ist der Umzug", "2026-11-28", "2026-11-28", ""),
    ("letzten Dienstag hat er sich den Arm gebrochen", "hat er sich den Arm gebrochen", "2026-11-10", "2026-11-10", "2026-11-10"),
    ("ab Januar kostet die Miete mehr", "ab Januar kostet die Miete mehr", "2027-01", "2027-01", ""),
    ("ich liebe das Meer im Oktober", "ich liebe das Meer im Oktober", "", "", ""),
]  # fmt: skip


@each_row(("text", "quote", "written", "expected", "since"), DATED)
def test_dated_the_year_and_the_since_are_those_that_were_meant(
    text: str, quote: str, written: str, expected: str, since: str
) -> None:
    said = replace(turn(text), at=NOVEMBER)
    found = dated(quote, said, written, ground([said], UTC), UTC)
    assert found.day == expected
    assert found.since.isoformat().startswith(since or NOVEMBER.isoformat())
