"""Whether a statement is about the person of whom its quote says it."""

from datetime import UTC, datetime

import pytest

from slowcat_memory.core.extraction.attributed import wrong_subject
from slowcat_memory.records import Turn
from tests.support.rows import listed

AT = datetime(2026, 5, 12, 18, tzinfo=UTC)

PEOPLE = ("Felix", "Petra", "Lotte", "Tom", "Ines", "Juno", "Mr Haddad", "Herr Haddad", "Dr Osei")


def shares(rows: list[list[str]], change=str) -> tuple[float, float, list[str]]:
    """Return the shares of right statements kept and of wrong ones kept, and what went wrong."""
    count, bad = {True: [0, 0], False: [0, 0]}, list[str]()
    for text, quote, subject, content in rows:
        right = not content.startswith("!")
        turn = Turn(id=1, session="s", scope="m", speaker="Mira", role="user", text=change(text), at=AT)  # fmt: skip
        refused = wrong_subject(content.lstrip("!"), subject, change(quote), turn, PEOPLE)
        count[right][0] += 1
        count[right][1] += not refused
        if refused == right:
            bad.append(content)
    (n, kept), (m, wrong) = count[True], count[False]
    return kept / n, wrong / m, bad


@pytest.mark.parametrize("change", [str, str.lower])
@pytest.mark.parametrize("language", ["english", "german"])
def test_a_fact_about_the_wrong_person_is_refused_and_a_right_one_kept(language, change) -> None:
    kept, wrong, bad = shares(listed("rules/attributed", language), change)
    assert kept >= 0.95 and wrong <= 0.10, "\n".join(bad)
