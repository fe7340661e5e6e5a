"""Times in words, and the calendar."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import product
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.cli.shell import when
from slowcat_memory.core.render.speech import full_date, spoken_date, spoken_until
from slowcat_memory.core.time import calendar
from slowcat_memory.core.time.calendar import in_zone, zone_of
from slowcat_memory.core.time.expressions import asked_about, statement_times, times
from slowcat_memory.errors import ConfigError
from tests.support.rows import each_listed, each_row, listed

# ------------------------------------------------------------------- times in words. The week of the examples: Wednesday 13 May 2026, 10:00, in Lisbo

LISBON, NEW_YORK = ZoneInfo("Europe/Lisbon"), ZoneInfo("America/New_York")
NOW = datetime(2026, 5, 13, 10, tzinfo=LISBON)
EVER, FOR_EVER = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def spans(text: str, now: datetime = NOW, zone=LISBON, language: str = "english") -> list[str]:
    def show(at: datetime) -> str:
        local = at.astimezone(zone)
        return (
            f"{local:%Y-%m-%d}" if not (local.hour or local.minute) else f"{local:%Y-%m-%d %H:%M}"
        )

    found = times(text, now, zone, language)
    return [f"{show(interval.start)} {show(interval.end)}" for interval in found]


@each_listed("times/english", "")
def test_times_of_one_expression(text: str, span: str) -> None:
    got = [one.replace("1899-12-31 23:23", "1900-01-01") for one in spans(text)]  # mean solar time
    assert got == [span]


@each_listed("times/german", "")
def test_times_in_german(text: str, span: str) -> None:
    assert spans(text, language="german") == [span]


zones = st.sampled_from(
    [LISBON, NEW_YORK, UTC, ZoneInfo("Asia/Kathmandu"), ZoneInfo("Pacific/Apia")]
)
moments = st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1), timezones=st.just(UTC))


@given(st.text(), moments, zones)
def test_times_takes_any_text(text: str, now: datetime, zone) -> None:
    times(text, now, zone)


def test_times_end_at_the_last_year() -> None:
    said = ("yesterday", "next year", "in May", "last winter", "10 years ago", "since May")
    for now, text in product((EVER, FOR_EVER), said):
        for interval in times(text, now, NEW_YORK):
            assert interval.start < interval.end


@each_listed("times/asked_about", "")
def test_asked_about_keeps_past_certain_times_of_questions(text, words) -> None:
    kept = asked_about(text, times(text, NOW, LISBON), NOW)
    assert ", ".join(interval.words for interval in kept) == words


AT = datetime(2026, 11, 4, 18, tzinfo=UTC)


def way(text: str) -> str:
    found = [one for one in statement_times(text, AT, UTC) if not one.vague]
    if not found:
        return "none"
    return "ahead" if found[0].start > AT else "back"


@each_row(("expected", "text"), listed("times/direction"))
@each_row("form", [str, str.lower, lambda text: text.replace("'", "’")])
def test_statement_times_follow_the_tense_of_their_clause(text, expected, form) -> None:
    assert way(form(text)) == expected


NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)
ZONES = [ZoneInfo("Europe/Dublin"), ZoneInfo("America/Los_Angeles"), ZoneInfo("Asia/Tokyo"),
         timezone(timedelta(hours=-12)), UTC]  # fmt: skip


@pytest.mark.parametrize("zone", ZONES, ids=str)
@pytest.mark.parametrize("at", [EVER, FOR_EVER], ids=["ever", "for ever"])
def test_every_date_in_words_bears_the_first_and_the_last_moment(zone, at):
    assert in_zone(at, zone).year == at.year
    assert full_date(at, zone).endswith(f" {at.year}")
    assert spoken_date(at, NOON, zone) and spoken_until(at, NOON, zone)
    assert when(at, zone)[:4] == f"{at.year:04}"


# ------------------------------------------------------------------- calendar

WINTER, SUMMER = (datetime(2026, month, 1, 12, tzinfo=UTC) for month in (1, 7))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine in Lisbon, whatever machine this is; its zone is a link that a test may change."""
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/Europe/Lisbon")
    monkeypatch.setattr(calendar, "LOCALTIME", link)
    monkeypatch.delenv("TZ", raising=False)
    yield link
    monkeypatch.undo()
    time.tzset()


def offsets(name: str = "") -> tuple[timedelta | None, ...]:
    return tuple(day.astimezone(zone_of(name)).utcoffset() for day in (WINTER, SUMMER))


def test_zone_of_a_name() -> None:
    assert offsets("Asia/Tokyo") == (timedelta(hours=9),) * 2
    with pytest.raises(ConfigError, match="there is no 'Nowhere/Land'"):
        zone_of("Nowhere/Land")


@pytest.mark.parametrize("name", ["<+03>-3", ":/etc/localtime", "../../etc/passwd"])
def test_zone_of_this_machine_without_a_name_is_the_current_offset(machine, monkeypatch, name):
    monkeypatch.setenv("TZ", name)
    time.tzset()
    winter, summer = offsets()
    assert winter == summer == datetime.now().astimezone().utcoffset()
