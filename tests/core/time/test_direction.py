"""Which way a day lies: said on Wednesday 4 November 2026, 18:00."""

from datetime import UTC, datetime

from slowcat_memory.core.time.expressions import statement_times
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
