"""Facts in one slot of one person: who lived where when, and what was believed of it."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.facts.holding import history
from slowcat_memory.core.validity import as_of, supersede
from slowcat_memory.records import Ending, Memory
from tests.support.rows import each_listed
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


@each_listed("rules/history.jsonl", "")
def test_of_one_slot_one_holds_at_a_time_and_what_was_believed_is_kept(name, told, asked) -> None:
    facts = [says(what, since, **more[0] if more else {}) for what, since, *more in told]
    for true, known, expected in asked:
        assert where(facts, true, known) == expected, name


def test_who_moves_lived_somewhere_until_then() -> None:
    facts = [says("123 Main St", 1), says("456 Oak Ave", 5)]
    spans = [(one.valid_from, one.valid_to) for one in as_of(history(facts), None)]
    assert spans == [(DAY[1], DAY[5]), (DAY[5], None)]


def test_what_a_job_superseded_is_as_what_nobody_compared() -> None:
    rome, oslo = says("Rome", 1), says("Oslo", 5, told=20)
    compared = [supersede(rome, oslo, DAY[20]), oslo]
    for day in range(30):
        assert where(compared, day) == where([rome, oslo], day)
        assert where(compared, day, known=15) == where([rome, oslo], day, known=15)


def test_what_is_said_again_holds_once_and_since_the_earliest_day() -> None:
    facts = [says("Rome", 30), says("rome", 40), says("Rome", 10, told=50)]
    [row] = as_of(history(facts), None)
    assert row.valid_from == DAY[10]


def test_who_left_was_employed_there_before() -> None:
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
