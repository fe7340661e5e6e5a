"""Which way a day lies: said on Wednesday 4 November 2026, 18:00."""

from datetime import UTC, datetime

from slowcat_memory.core.time.expressions import possible_times, statement_times
from tests.support.rows import each_row

AT = datetime(2026, 11, 4, 18, tzinfo=UTC)


def way(text: str) -> str:
    found = [one for one in statement_times(text, AT, UTC) if not one.vague]
    if not found:
        return "none"
    return "ahead" if found[0].start > AT else "back"


AHEAD = """
I have a dentist appointment on Friday
the marathon's on december the fifth
her wedding's in May
I start at Southmead on 1 December
I've got the nurse on Monday
the plumber's booked for Thursday
my interview got moved to Tuesday
they moved my appointment from Friday to Monday
I heard the wedding is on Saturday
I told you I'm going there on Monday
the hospital rang, my scan's on friday
On Saturday, after work, I'm baking a cake
remember, exam on the fifteenth, half past ten
see you on Friday
she invited us to dinner on saturday
grandma turns ninety in february
the new sofa arrives on the 27th
Ich habe am Freitag einen Zahnarzttermin
am 12. ist die Hochzeit
der Termin wurde von Freitag auf Montag verlegt
wir haben für August eine Hütte gebucht
die straße ist am freitag gesperrt
weil ich am freitag operiert werde
ich hab gehört dass er am montag kommt
am dritten ruft sie an
mein vertrag endet im januar
Ich habe am Freitag Unterricht
""".strip().splitlines()
BACK = """
I went on Friday
we met in March
the party was on the third
I think I left it at the office on Friday
he says he came on Saturday
On Saturday, after work, I baked a cake
I've been to the doctor on Monday
the meeting on Monday was awful
the car wouldn't start on Tuesday
since Monday I've had a cold
the cat died on Sunday
Ich bin am Freitag nach Köln gefahren
am Montag habe ich bei Siemens angefangen
das Auto ist am Freitag kaputtgegangen
weil ich am freitag operiert wurde
ich hab's am Montag abgegeben
seit januar arbeite ich bei bosch
Am zwanzigsten hat es reingeregnet
hierher gezogen sind wir zweitausendzweiundzwanzig
""".strip().splitlines()
NONE = """
I play football every Tuesday
we usually go to Wales at Christmas
a man called Friday
my aunt is called April
April is such a pretty name
I was born on a Friday
I love Christmas
Christmas comes but once a year
Easter eggs are expensive
Friday is fish day
January is a cold month
Monday is the worst day of the week
I was going to see him on Friday
the Friday before my trip
on that awful Friday
on the second floor
June and April are sisters
jeden freitag geh ich schwimmen
am sonntag gehen wir immer in die kirche
der mann heißt freitag
ich wollte am freitag hin
Weihnachten ist das schönste Fest
""".strip().splitlines()


@each_row(
    ("text", "expected"),
    [(t, w) for w, many in (("ahead", AHEAD), ("back", BACK), ("none", NONE)) for t in many],
)
@each_row("form", [str, str.lower, lambda text: text.replace("'", "’")])
def test_statement_times_follow_the_tense_of_their_clause(text, expected, form) -> None:
    assert way(form(text)) == expected


def test_statement_times_each_clause_has_its_own_direction() -> None:
    went, dentist = statement_times("I went on Monday and I have the dentist on Friday", AT, UTC)
    assert (went.start.day, dentist.start.day) == (2, 6)
    went, dentist = statement_times(
        "Am Montag war ich dort und am Freitag habe ich den Zahnarzt", AT, UTC
    )
    assert (went.start.day, dentist.start.day) == (2, 6)


def test_possible_times_has_both_ways() -> None:
    days = {one.start.date().isoformat() for one in possible_times("on Friday", AT, UTC)}
    assert days == {"2026-10-30", "2026-11-06"}


def test_statement_times_of_a_long_text_are_read_in_bounded_work() -> None:
    found = statement_times("hab am freitag und ist " * 10_000, AT, UTC)
    assert len(found) <= 8
