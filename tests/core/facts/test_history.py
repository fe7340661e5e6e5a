"""Facts in one slot of one person: who lived where when, and what was believed of it."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.facts.holding import history
from slowcat_memory.core.validity import as_of, supersede
from slowcat_memory.records import Ending, Memory
from tests.support.said import fact

DAY = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(400)]


def says(
    object_: str, since: int, told: int | None = None, predicate: str = "lives_in", **more: Any
) -> Memory:
    """Return a fact that was told on a day, in the turn with that number."""
    told = since if told is None else told
    parts = {"subject": "Anna", "predicate": predicate, "object": object_}
    times = {"valid_from": DAY[since], "recorded_at": DAY[told], "sources": (told,)}
    return fact(
        f"Anna {predicate} {object_}.", id=f"fact/{told}-{object_}", **times, **parts, **more
    )


def where(facts: Iterable[Memory], true: int, known: int | None = None) -> list[str]:
    found = as_of(history(facts), DAY[true], None if known is None else DAY[known])
    return [one.statement.object for one in found]


def test_who_moves_lived_somewhere_before() -> None:
    facts = [says("123 Main St", 1), says("456 Oak Ave", 5)]
    assert where(facts, 3) == ["123 Main St"] and where(facts, 5) == ["456 Oak Ave"]
    spans = [(one.valid_from, one.valid_to) for one in as_of(history(facts), None)]
    assert spans == [(DAY[1], DAY[5]), (DAY[5], None)]


def test_what_was_believed_then_is_still_known() -> None:
    facts = [says("Rome", 1), says("Oslo", 5, told=20)]
    assert where(facts, 10) == ["Oslo"], "she had moved, as we know now"
    assert where(facts, 10, known=15) == ["Rome"], "nobody had told us"


def test_what_a_job_superseded_is_as_what_nobody_compared() -> None:
    rome, oslo = says("Rome", 1), says("Oslo", 5, told=20)
    compared = [supersede(rome, oslo, DAY[20]), oslo]
    for day in range(30):
        assert where(compared, day) == where([rome, oslo], day)
        assert where(compared, day, known=15) == where([rome, oslo], day, known=15)


def test_a_correction_leaves_nothing_true_of_the_wrong_one() -> None:
    facts = [says("Rome", 1), says("Oslo", 2, corrects=True)]
    assert where(facts, 1) == where(facts, 300) == ["Oslo"]
    assert where(facts, 1, known=1) == ["Rome"]


def test_news_about_the_past_does_not_undo_the_present() -> None:
    facts = [says("Oslo", 100), says("Rome", 10, told=120)]
    assert where(facts, 20) == ["Rome"] and where(facts, 130) == ["Oslo"]


def test_a_start_shortly_before_a_statement_is_news() -> None:
    """Of the same day: "I moved to Rome today", an hour after "I live in Oslo"."""
    assert where([says("Oslo", 6), says("Rome", 5, told=7)], 8) == ["Rome"]


def test_what_is_said_again_holds_once_and_since_the_earliest_day() -> None:
    facts = [says("Rome", 30), says("rome", 40), says("Rome", 10, told=50)]
    [row] = as_of(history(facts), None)
    assert row.valid_from == DAY[10]


def test_who_comes_back_lives_there_twice() -> None:
    facts = [says("Rome", 1), says("Oslo", 10), says("Rome", 20)]
    assert [where(facts, n) for n in (5, 15, 25)] == [["Rome"], ["Oslo"], ["Rome"]]


def test_the_old_employer_holds_until_the_day_that_the_new_one_begins() -> None:
    facts = [says("Leeds", 1, predicate="works_at"), says("Southmead", 40, 2, "works_at")]
    assert where(facts, 39) == ["Leeds"] and where(facts, 40) == ["Southmead"]


def test_who_left_is_not_employed_there() -> None:
    facts = [says("Siemens", 1, predicate="works_at"), says("", 5, predicate="works_at", over=True)]
    assert where(facts, 3) == ["Siemens"] and where(facts, 6) == []
    left = says("Bosch", 5, predicate="works_at", over=True, ends=(Ending("Anna"),))
    assert where([left], 4) == ["Bosch"] and where([left], 6) == []


told = st.lists(
    st.tuples(st.sampled_from(["Rome", "Oslo", "Lima"]), st.integers(0, 60)), max_size=8
)


@given(told)
def test_the_last_word_counts_and_one_holds(statements: list[tuple[str, int]]) -> None:
    facts = [says(what, since, 100 + n) for n, (what, since) in enumerate(statements)]
    assert where(facts, 399) == [what for what, _ in statements[-1:]]


@given(told, st.integers(0, 60))
def test_what_was_believed_does_not_change_afterwards(statements, asked):
    facts = [says(what, since, 100 + n) for n, (what, since) in enumerate(statements)]
    seen = [where(facts[: n + 1], asked, 100 + n) for n in range(len(facts))]
    assert [where(facts, asked, 100 + n) for n in range(len(facts))] == seen
