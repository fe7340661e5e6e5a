import re
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.language import LANGUAGES, language_of
from slowcat_memory.core.render import speech
from slowcat_memory.core.render.memory_block import spoken_now
from slowcat_memory.core.render.speech import (
    speakable,
    spoken_date,
    spoken_until,
)
from tests.support.rows import each_row

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)  # a Tuesday
GERMAN = language_of("german")
LATE = NOW.replace(hour=21)
DAYS = st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1)).map(
    lambda one: one.replace(tzinfo=UTC)
)


@each_row(
    ("at", "now", "spoken", "german"),
    [
        (NOW, NOW, "today", "heute"),
        (NOW, LATE, "this afternoon", "heute Nachmittag"),
        (NOW - timedelta(hours=4), LATE, "this morning", "heute früh"),
        (LATE - timedelta(hours=2.9), LATE, "today", "heute"),
        (NOW - timedelta(hours=9), NOW, "last night", "heute Nacht"),
        (NOW - timedelta(hours=12), NOW, "today", "heute"),  # a date without a time
        (NOW - timedelta(hours=13), NOW, "yesterday", "gestern"),
        (NOW - timedelta(days=2), NOW, "last Sunday", "letzten Sonntag"),
        (NOW + timedelta(days=3), NOW + timedelta(days=5), "on Friday", "am Freitag"),
        (NOW - timedelta(days=6), NOW, "last Wednesday", "letzten Mittwoch"),
        (NOW - timedelta(days=7), NOW, "5 May", "5. Mai"),
        (NOW - timedelta(days=400), NOW, "7 April 2025", "7. April 2025"),
        (NOW + timedelta(days=1), NOW, "13 May", "13. Mai"),
    ],
)
def test_spoken_date_is_as_people_say_it(
    at: datetime, now: datetime, spoken: str, german: str
) -> None:
    assert spoken_date(at, now, UTC) == spoken
    assert spoken_date(at, now, UTC, GERMAN.dates) == german


def test_spoken_date_is_in_the_users_zone() -> None:
    late = datetime(2026, 5, 11, 23, 30, tzinfo=UTC)
    assert spoken_date(late, NOW, UTC) == "yesterday"
    assert spoken_date(late, NOW, ZoneInfo("Europe/Berlin")) == "last night"
    assert spoken_date(late, NOW, timezone(timedelta(hours=14))) == "yesterday"
    auckland, hour = ZoneInfo("Pacific/Auckland"), timedelta(hours=1)  # where NOW is midnight
    assert spoken_date(NOW - hour, NOW + hour, auckland) == "yesterday"


@given(DAYS, DAYS, st.sampled_from([one.dates for one in LANGUAGES]))
def test_spoken_date_has_digits_of_day_and_year_only(at: datetime, now: datetime, words) -> None:  # type: ignore[no-untyped-def]
    for said in (spoken_date(at, now, UTC, words), spoken_until(at, now, UTC, words)):
        assert all(len(part) in (1, 2, 4) for part in re.findall(r"\d+", said))
        assert not set(said) & set("-/:") and len(said) < 30


def test_spoken_until() -> None:
    assert spoken_until(NOW - timedelta(days=1), NOW, UTC) == "until yesterday"
    assert spoken_until(NOW - timedelta(days=9), NOW, UTC) == "until 3 May"
    assert spoken_until(NOW - timedelta(days=99), NOW, UTC) == "until February 2026"
    assert spoken_until(NOW - timedelta(days=99), NOW, UTC, GERMAN.dates) == "bis Februar 2026"


def test_spoken_now_is_in_the_users_zone() -> None:
    assert spoken_now(NOW, UTC) == "(now) Tuesday 12 May, 12:00"
    assert spoken_now(LATE, ZoneInfo("Asia/Tokyo")) == "(now) Wednesday 13 May, 6:00"
    assert spoken_now(NOW, UTC, GERMAN) == "(jetzt) Dienstag, 12. Mai, 12:00 Uhr"


@each_row(
    ("text", "spoken"),
    [
        ("My dog is called Max.", "My dog is called Max."),
        ("**Note**: it is _really_ late", "Note: it is really late"),
        ("# Plans\n- milk\n* eggs\n> so", "Plans\nmilk\neggs\nso"),
        ("2 * 3 is 6, snake_case, ~5 km, ~~no~~", "2 * 3 is 6, snake_case, ~5 km, no"),
        ("see [the page](https://example.org/x) now", "see the page now"),
        ("https://www.example.org/a/b?c=1 is it", "example.org is it"),
        ("fun \U0001f600\U0001f44d\U0001f3fd!", "fun !"),
        ("on 2023-05-12 and 2023-05-12T10:30:00Z", "on 12 May 2023 and 12 May 2023, 10:30"),
        ("version 2023-13-45, 555-2023-05-12", "version 2023-13-45, 555-2023-05-12"),
        ("call 004917012345678", "call 004917012345678"),
        ("20 °C and 5 € — naïve", "20 °C and 5 € — naïve"),
        ("\U0001f600", "\U0001f600"),
    ],
)
def test_speakable_puts_in_words(text: str, spoken: str) -> None:
    assert speakable(text) == spoken


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=300))
def test_speakable_takes_any_text(text: str) -> None:
    assert bool(speakable(text).strip()) == bool(text.strip()) or not text.strip()


@pytest.mark.parametrize("text", ["*" * 200_000, "[" * 200_000, "_a" * 100_000, "# " * 100_000])
def test_speakable_is_linear(text: str) -> None:
    assert len(speakable(text)) <= len(text)  # a slow expression would not come back


SPELT = st.text("aA b.-*_~#>`[]():/w1490\t\n•é🙂T", max_size=40)


@given(SPELT)
def test_a_text_without_marks_is_what_all_replacements_leave(text):
    """The one search that spares the others finds whatever they would replace."""
    if speech._MARKED.search(text) is None:
        patterns = (speech._NAMED_LINK, speech._LINK, speech._ISO, speech._EMOJI)
        patterns += (speech._EMPHASIS, speech._LINE_MARK, speech._SPACES)
        assert not any(pattern.search(text) for pattern in patterns) and "`" not in text
        assert speakable(text) == (text.strip() or text)
