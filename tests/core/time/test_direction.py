"""Which way a day lies: said on Wednesday 4 November 2026, 18:00."""

from datetime import UTC, datetime

from slowcat_memory.core.time.expressions import possible_times, statement_times
from tests.support.rows import each_row, listed

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
