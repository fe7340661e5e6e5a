"""Times in words. The week of the examples: Wednesday 13 May 2026, 10:00, in Lisbon."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.time.expressions import (
    BEGINNING,
    END,
    WhenOptions,
    asked_about,
    times,
)
from tests.support.rows import each_row, listed

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


@each_row(("text", "span"), listed("times/english"))
def test_times_of_one_expression(text: str, span: str) -> None:
    got = [one.replace("1899-12-31 23:23", "1900-01-01") for one in spans(text)]  # mean solar time
    assert got == [span]


@each_row("text", [text for (text,) in listed("times/no_times")])
def test_times_ignores_words_that_only_look_like_times(text: str) -> None:
    assert spans(text) == []


@each_row(("text", "span"), listed("times/german"))
def test_times_in_german(text: str, span: str) -> None:
    assert spans(text, language="german") == [span]


def test_times_of_seasons_in_the_south() -> None:
    assert spans("last summer", southern_hemisphere=True) == ["2025-12-01 2026-03-01"]
    assert spans("last winter", southern_hemisphere=True) == ["2025-06-01 2025-09-01"]


def test_times_are_in_the_speakers_zone() -> None:
    late = datetime(2026, 5, 14, 2, 30, tzinfo=UTC)  # still the 13th in New York
    assert spans("today", late, NEW_YORK) == ["2026-05-13 2026-05-14"]
    assert spans("today", late, LISBON) == ["2026-05-14 2026-05-15"]


def test_times_count_hours_across_a_change_of_clocks() -> None:
    now = datetime(2026, 3, 29, 2, 15, tzinfo=LISBON)  # 01:15 UTC; from 01:00 to 02:00 there
    now = now.astimezone(UTC)
    [interval] = times("10 minutes ago", now, LISBON)
    assert interval.start < now - timedelta(minutes=10) < interval.end
    [interval] = times("in the last 2 hours", now, LISBON)
    assert (interval.start, interval.end) == (now - timedelta(hours=2), now)


@each_row(("now", "text", "span"), listed("times/edges"))
def test_times_at_the_edges_of_the_calendar(now: str, text: str, span: str) -> None:
    assert spans(text, datetime.fromisoformat(now).replace(tzinfo=LISBON)) == [span]


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


@each_row(("text", "words"), listed("times/asked_about"))
def test_asked_about_keeps_past_certain_times_of_questions(text, words) -> None:
    kept = asked_about(text, times(text, NOW, LISBON), NOW)
    assert ", ".join(interval.words for interval in kept) == words
