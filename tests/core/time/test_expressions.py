"""Times in words. The week of the examples: Wednesday 13 May 2026, 10:00, in Lisbon."""

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.time.expressions import (
    BEGINNING,
    END,
    Interval,
    WhenOptions,
    asked_about,
    times,
)
from tests.support.rows import each_row

LISBON, NEW_YORK = ZoneInfo("Europe/Lisbon"), ZoneInfo("America/New_York")
NOW = datetime(2026, 5, 13, 10, tzinfo=LISBON)


def spans(text: str, now: datetime = NOW, zone=LISBON, **options) -> list[str]:
    def show(at: datetime) -> str:
        local = at.astimezone(zone)
        return (
            f"{local:%Y-%m-%d}" if not (local.hour or local.minute) else f"{local:%Y-%m-%d %H:%M}"
        )

    found = times(text, now, zone, WhenOptions(**options))
    return [f"{show(interval.start)} {show(interval.end)}" for interval in found]


ONE = """
today | 2026-05-13 2026-05-14
what did I say yesterday? | 2026-05-12 2026-05-13
the day before yesterday | 2026-05-11 2026-05-12
tomorrow | 2026-05-14 2026-05-15
the day after tomorrow | 2026-05-15 2026-05-16
tonight | 2026-05-13 18:00 2026-05-14 06:00
this morning | 2026-05-13 05:00 2026-05-13 12:00
last night | 2026-05-12 18:00 2026-05-13 06:00
yesterday evening | 2026-05-12 17:00 2026-05-13
last week | 2026-05-04 2026-05-11
this week | 2026-05-11 2026-05-18
next week | 2026-05-18 2026-05-25
last month | 2026-04-01 2026-05-01
next month | 2026-06-01 2026-07-01
last year's holiday | 2025-01-01 2026-01-01
last weekend | 2026-05-09 2026-05-11
this past weekend | 2026-05-09 2026-05-11
this weekend | 2026-05-16 2026-05-18
next weekend | 2026-05-23 2026-05-25
over the weekend | 2026-05-09 2026-05-11
the week before last | 2026-04-27 2026-05-04
on Monday | 2026-05-11 2026-05-12
what did I do on wednesday | 2026-05-06 2026-05-07
last friday | 2026-05-08 2026-05-09
this Friday | 2026-05-15 2026-05-16
next Friday | 2026-05-22 2026-05-23
Monday morning | 2026-05-11 05:00 2026-05-11 12:00
on Friday last week | 2026-05-08 2026-05-09
what will I do on Friday | 2026-05-15 2026-05-16
3 days ago | 2026-05-10 2026-05-11
two weeks ago | 2026-04-27 2026-05-04
a couple of weeks ago | 2026-04-20 2026-05-04
a few days ago | 2026-05-08 2026-05-12
two months ago | 2026-03-01 2026-04-01
a year ago | 2025-01-01 2026-01-01
half a year ago | 2025-09-13 2026-01-13
a year ago today | 2025-05-13 2025-05-14
10 minutes ago | 2026-05-13 09:49 2026-05-13 09:50
in the last 3 days | 2026-05-10 2026-05-13 10:00
over the past month | 2026-04-13 2026-05-13 10:00
in the next two weeks | 2026-05-13 10:00 2026-05-28
in three days | 2026-05-16 2026-05-17
in may | 2026-05-01 2026-06-01
in June | 2025-06-01 2025-07-01
last may | 2025-05-01 2025-06-01
next May | 2027-05-01 2027-06-01
this june | 2026-06-01 2026-07-01
in May 2023 | 2023-05-01 2023-06-01
in May of last year | 2025-05-01 2025-06-01
on 7 May 2023 | 2023-05-07 2023-05-08
on the 7th of may | 2026-05-07 2026-05-08
May 20th | 2025-05-20 2025-05-21
August 11, 2023 | 2023-08-11 2023-08-12
on may twenty first twenty twenty three | 2023-05-21 2023-05-22
2023-05-07 | 2023-05-07 2023-05-08
on 7.5.2023 | 2023-05-07 2023-05-08
in 2022 | 2022-01-01 2023-01-01
on the 5th | 2026-05-05 2026-05-06
on the 20th | 2026-04-20 2026-04-21
on 29 February | 2024-02-29 2024-03-01
in the summer | 2025-06-01 2025-09-01
in the summer of 2022 | 2022-06-01 2022-09-01
last winter | 2025-12-01 2026-03-01
in the winter of 2022 | 2022-12-01 2023-03-01
next fall | 2026-09-01 2026-12-01
at Christmas | 2025-12-24 2025-12-27
at new year | 2025-12-31 2026-01-02
on New Year's Eve 2022 | 2022-12-31 2023-01-01
the other day | 2026-05-03 2026-05-12
recently | 2026-04-29 2026-05-14
this time last year | 2025-05-01 2025-06-01
in early June | 2025-06-01 2025-06-11
mid-June | 2025-06-11 2025-06-21
at the end of June | 2025-06-21 2025-07-01
the first week of June | 2025-06-01 2025-06-08
the last week of June | 2025-06-24 2025-07-01
the last weekend of May 2023 | 2023-05-27 2023-05-29
the first Monday in June | 2025-06-02 2025-06-03
the second half of 2023 | 2023-07-02 2024-01-01
between May and July 2023 | 2023-05-01 2023-08-01
between December and February | 2025-12-01 2026-03-01
between 3 and 7 May | 2026-05-03 2026-05-08
from Monday to Wednesday | 2026-05-04 2026-05-07
from 3 may to 7 june 2023 | 2023-05-03 2023-06-08
since May | 2026-05-01 2026-05-13 10:00
before 2020 | 1900-01-01 2020-01-01
until last week | 1900-01-01 2026-05-11
after Christmas | 2025-12-27 2026-05-13 10:00
two weeks before August 11, 2023 | 2023-07-24 2023-07-31
the weekend before 24 May 2023 | 2023-05-20 2023-05-22
the day after Christmas | 2025-12-27 2025-12-28
the Friday before 15 July 2023 | 2023-07-14 2023-07-15
a fortnight ago | 2026-04-27 2026-05-04
in a fortnight | 2026-05-25 2026-06-01
in a week's time | 2026-05-18 2026-05-25
five days from now | 2026-05-18 2026-05-19
four days back my watch stopped | 2026-05-09 2026-05-10
two nights ago | 2026-05-11 18:00 2026-05-12 06:00
two Fridays ago | 2026-05-01 2026-05-02
the Tuesday before last | 2026-05-05 2026-05-06
the summer before last | 2024-06-01 2024-09-01
the week after next | 2026-05-25 2026-06-01
the weekend after next | 2026-05-30 2026-06-01
the Friday after next | 2026-05-22 2026-05-23
Saturday week | 2026-05-23 2026-05-24
a week on Saturday | 2026-05-23 2026-05-24
a week last Friday | 2026-05-01 2026-05-02
a fortnight tomorrow | 2026-05-28 2026-05-29
two weeks ago on Tuesday | 2026-04-28 2026-04-29
this Sunday gone | 2026-05-10 2026-05-11
this coming Sunday | 2026-05-17 2026-05-18
on Tuesday of next week | 2026-05-19 2026-05-20
this time next year | 2027-05-01 2027-06-01
on the third | 2026-05-03 2026-05-04
on the twenty second | 2026-04-22 2026-04-23
from the third to the ninth of August | 2025-08-03 2025-08-10
at Easter | 2026-04-03 2026-04-07
on Good Friday | 2026-04-03 2026-04-04
at Easter 2025 | 2025-04-18 2025-04-22
at Thanksgiving | 2025-11-27 2025-11-28
"""


@each_row("line", ONE.strip().splitlines())
def test_times_of_one_expression(line: str) -> None:
    text, _, span = line.partition(" | ")
    got = [one.replace("1899-12-31 23:23", "1900-01-01") for one in spans(text)]  # mean solar time
    assert got == [span]


@each_row(
    "text",
    [
        "",
        "May I ask you something?",
        "I may",
        "in may I ask, which",
        "no one may know",
        "this may be wrong",
        "he may have 3 dogs",
        "wait a second",
        "we march to the sea",
        "second march",
        "the sun is out, he sat down",
        "the last time",
        "last but not least",
        "a last-minute change",
        "the fall broke my leg",
        "spring is here",
        "June told me about April",
        "a week",
        "a day or two",
        "on Mondays",
        "on my birthday",
        "7/5",
        "at 7:30",
        "2000 steps",
        "3.5 km",
        "5000 years ago",
        "31 June",
        "in 99999 days",
        "😀🎉",
        "0 0000 ০৭",
    ],
)
def test_times_ignores_words_that_only_look_like_times(text: str) -> None:
    assert spans(text) == []


def test_times_come_in_order_with_their_words() -> None:
    found = times("Was it last week, or on Monday?", NOW, LISBON)
    assert [interval.words for interval in found] == ["last week", "Monday"]
    assert all(interval.start.tzinfo is UTC for interval in found)


GERMAN_LINES = """
gestern Abend | 2026-05-12 17:00 2026-05-13
vorgestern | 2026-05-11 2026-05-12
letzte Woche | 2026-05-04 2026-05-11
am Wochenende | 2026-05-09 2026-05-11
vor zwei Wochen | 2026-04-27 2026-05-04
vor ein paar Tagen | 2026-05-08 2026-05-12
vor einem halben Jahr | 2025-09-13 2026-01-13
im Mai 2023 | 2023-05-01 2023-06-01
am 7. Mai | 2026-05-07 2026-05-08
letzten Sommer | 2025-06-01 2025-09-01
Anfang Juni | 2025-06-01 2025-06-11
der erste Montag im Juni | 2025-06-02 2025-06-03
letzte Woche Montag | 2026-05-04 2026-05-05
in den letzten drei Wochen | 2026-04-22 2026-05-13 10:00
seit Weihnachten | 2025-12-24 2026-05-13 10:00
zwischen Mai und Juli 2023 | 2023-05-01 2023-08-01
Was werde ich am Freitag tun? | 2026-05-15 2026-05-16
vorletzten Dienstag | 2026-05-05 2026-05-06
vorletzte Woche | 2026-04-27 2026-05-04
übernächste Woche | 2026-05-25 2026-06-01
kommenden Freitag | 2026-05-15 2026-05-16
heute in acht Tagen | 2026-05-20 2026-05-21
heute in vierzehn Tagen | 2026-05-27 2026-05-28
Montag in einer Woche | 2026-05-25 2026-05-26
vor acht Tagen | 2026-05-06 2026-05-07
vor zwei Nächten | 2026-05-11 18:00 2026-05-12 06:00
am dritten | 2026-05-03 2026-05-04
am 3. war das | 2026-05-03 2026-05-04
am zweiundzwanzigsten November | 2025-11-22 2025-11-23
am 12.6. | 2025-06-12 2025-06-13
zwischen dem zehnten und dem vierzehnten März | 2026-03-10 2026-03-15
an Ostern | 2026-04-03 2026-04-07
Pfingsten 2026 | 2026-05-24 2026-05-26
am ersten Weihnachtstag | 2025-12-25 2025-12-26
am ersten Advent | 2025-11-30 2025-12-01
zweitausendzweiundzwanzig | 2022-01-01 2023-01-01
letztes Jahr um diese Zeit | 2025-05-01 2025-06-01
"""


@each_row("line", GERMAN_LINES.strip().splitlines())
def test_times_in_german(line: str) -> None:
    text, _, span = line.partition(" | ")
    assert spans(text, language="german") == [span]


def test_times_of_seasons_in_the_south() -> None:
    assert spans("last summer", southern_hemisphere=True) == ["2025-12-01 2026-03-01"]
    assert spans("last winter", southern_hemisphere=True) == ["2025-06-01 2025-09-01"]


def test_times_are_in_the_speakers_zone() -> None:
    late = datetime(2026, 5, 14, 2, 30, tzinfo=UTC)  # still the 13th in New York
    assert spans("today", late, NEW_YORK) == ["2026-05-13 2026-05-14"]
    assert spans("today", late, LISBON) == ["2026-05-14 2026-05-15"]


@pytest.mark.parametrize(
    ("now", "text", "hours"),
    [
        (datetime(2026, 3, 30, 9, tzinfo=LISBON), "yesterday", 23),  # clocks went forward
        (datetime(2026, 10, 26, 9, tzinfo=LISBON), "yesterday", 25),
        (datetime(2026, 3, 9, 9, tzinfo=NEW_YORK), "last weekend", 47),
        (datetime(2026, 11, 2, 9, tzinfo=NEW_YORK), "last weekend", 49),
    ],
)
def test_times_of_days_of_23_and_25_hours(now: datetime, text: str, hours: int) -> None:
    [interval] = times(text, now, now.tzinfo)
    assert interval.end - interval.start == timedelta(hours=hours)


def test_times_count_hours_across_a_change_of_clocks() -> None:
    now = datetime(2026, 3, 29, 2, 15, tzinfo=LISBON)  # 01:15 UTC; from 01:00 to 02:00 there
    now = now.astimezone(UTC)
    [interval] = times("10 minutes ago", now, LISBON)
    assert interval.start < now - timedelta(minutes=10) < interval.end
    [interval] = times("in the last 2 hours", now, LISBON)
    assert (interval.start, interval.end) == (now - timedelta(hours=2), now)


@each_row(
    ("now", "text", "span"),
    [
        (datetime(2026, 1, 1, 9), "last month", "2025-12-01 2026-01-01"),
        (datetime(2026, 1, 1, 9), "yesterday", "2025-12-31 2026-01-01"),
        (datetime(2026, 1, 1, 9), "last week", "2025-12-22 2025-12-29"),
        (datetime(2026, 1, 15, 9), "this winter", "2025-12-01 2026-03-01"),
        (datetime(2026, 1, 1, 9), "at New Year", "2025-12-31 2026-01-02"),
        (datetime(2025, 12, 31, 9), "next week", "2026-01-05 2026-01-12"),
        (datetime(2024, 2, 29, 9), "this time last year", "2023-02-01 2023-03-01"),
        (datetime(2024, 2, 29, 9), "a year ago today", "2023-02-28 2023-03-01"),
        (datetime(2026, 3, 31, 9), "last month", "2026-02-01 2026-03-01"),
        (datetime(2026, 5, 11, 9), "this weekend", "2026-05-09 2026-05-11"),  # on a Monday
        (datetime(2026, 5, 17, 9), "last weekend", "2026-05-09 2026-05-11"),  # on a Sunday
        (datetime(2026, 5, 17, 9), "this week", "2026-05-11 2026-05-18"),
    ],
)
def test_times_at_the_edges_of_the_calendar(now: datetime, text: str, span: str) -> None:
    assert spans(text, now.replace(tzinfo=LISBON)) == [span]


vocabulary = sorted({word for one in LANGUAGES for word in one.time.table})
text_of_times = st.lists(
    st.sampled_from([*vocabulary, "2023", "7", "31", "7th", "9999", "2023-05-07", "dog", ".", ","]),
    max_size=12,
).map(" ".join)
zones = st.sampled_from(
    [LISBON, NEW_YORK, UTC, ZoneInfo("Asia/Kathmandu"), ZoneInfo("Pacific/Apia")]
)
moments = st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1), timezones=st.just(UTC))


@given(text_of_times, moments, zones, st.sampled_from(["english", "german"]))
def test_times_of_any_words_are_sound(text: str, now: datetime, zone, language: str) -> None:
    for interval in times(text, now, zone, WhenOptions(language=language)):
        assert BEGINNING <= interval.start < interval.end <= END
        assert interval.words and interval.words in text


@given(st.text(), moments, zones)
def test_times_takes_any_text(text: str, now: datetime, zone) -> None:
    times(text, now, zone)


@given(moments, zones)
def test_times_of_last_this_and_next_meet(now: datetime, zone) -> None:
    for unit in ("week", "month", "year"):
        [last], [this], [following] = (
            times(f"{which} {unit}", now, zone) for which in ("last", "this", "next")
        )
        assert last.end == this.start <= now < this.end == following.start
    [monday] = times("this week", now, zone)
    assert monday.start.astimezone(zone).weekday() == 0


@given(moments, zones, st.integers(1, 400))
def test_times_of_days_ago_are_days(now: datetime, zone, days: int) -> None:
    [interval] = times(f"{days} days ago", now, zone)
    day = (now.astimezone(zone) - timedelta(days)).date()
    middle = interval.start + (interval.end - interval.start) / 2
    assert middle.astimezone(zone).date() == day


def test_times_end_at_the_last_year() -> None:
    for now in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        for text in (
            "yesterday",
            "next year",
            "in May",
            "last winter",
            "10 years ago",
            "since May",
        ):
            for interval in times(text, now, NEW_YORK):
                assert interval.start < interval.end


def test_times_of_a_memory_are_relative_to_its_own_day() -> None:
    monday = datetime(2026, 5, 11, 20, tzinfo=LISBON)
    [spoken_of] = times("On Saturday we went to Sintra.", monday, LISBON)
    [asked] = times("what did I do last weekend", NOW, LISBON)
    assert asked.start <= spoken_of.start < spoken_of.end <= asked.end
    [plan] = times("I'm going to see Ruth on Saturday.", monday, LISBON)
    assert plan.start.astimezone(LISBON).date().isoformat() == "2026-05-16"
    assert isinstance(plan, Interval)


@each_row(
    ("text", "words"),
    [
        (
            "What did I do last week, recently, today, this month and since May?",
            ["last week", "since May"],
        ),
        ("what did I cook last week", ["last week"]),
        ("remind me who called yesterday", ["yesterday"]),
        ("I slept badly last night. What should I do?", []),
        ("I was ill last week", []),
        ("We flew on Friday. Where did we stay in 2022?", ["2022"]),
        ("What will I do tomorrow?", []),
        ("", []),
    ],
)
def test_asked_about_keeps_past_certain_times_of_questions(text, words) -> None:
    kept = asked_about(text, times(text, NOW, LISBON), NOW)
    assert [interval.words for interval in kept] == words


def best_us(text: str, rounds: int = 40) -> float:
    laps = []
    for _ in range(rounds):
        began = time.thread_time()
        times(text, NOW, LISBON)
        laps.append(time.thread_time() - began)
    return min(laps) * 1e6


def test_times_reads_the_beginning_of_a_long_text() -> None:
    assert len(times("yesterday " * 10_000, NOW, LISBON)) <= 8
    assert best_us("word " * 10_000, 3) < 20_000
