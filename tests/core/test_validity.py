"""Relations that change: who lived where when, and what we thought of it."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.extraction.slots import exclude
from slowcat_memory.core.validity import as_of, assert_relation, order, revised
from slowcat_memory.records import Memory, Statement

DAY = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(400)]


def lives(
    where: str, since: int, told: int | None = None, predicate: str = "lives_in", **more: Any
) -> Memory:
    said = Statement(subject="entity/anna", predicate=predicate, object=where)
    values = {
        "id": "", "kind": "relation", "scope": "anna", "speaker": "Anna", "statement": said,
        "text": "", "valid_from": DAY[since], **more,
    }  # fmt: skip
    return revised(Memory(**values), recorded_at=DAY[since if told is None else told])


def assert_all(rows: Iterable[Memory], new: Memory) -> list[Memory]:
    known = as_of(rows, None)
    others = [one for one in known if exclude(new.statement, one.statement)]
    return assert_relation(known, new, others)


def after(*said: Memory) -> list[Memory]:
    """Take up statements one after the other, as a store would keep them: by id, the last wins."""
    rows: dict[str, Memory] = {}
    for one in said:
        rows |= {changed.id: changed for changed in assert_all(rows.values(), one)}
    return list(rows.values())


def where(relations: Iterable[Memory], true: int, known: int | None = None) -> list[str]:
    found = as_of(relations, DAY[true], None if known is None else DAY[known])
    return [one.statement.object for one in found]


def test_assert_relation_who_moves_lived_somewhere_before() -> None:
    rows = after(lives("123 Main St", 1), lives("456 Oak Ave", 5))
    assert where(rows, 3) == ["123 Main St"] and where(rows, 5) == ["456 Oak Ave"]
    assert [(one.valid_from, one.valid_to) for one in sorted(as_of(rows, None), key=order)] == [
        (DAY[1], DAY[5]),
        (DAY[5], None),
    ]


def test_as_of_what_was_thought_then_is_still_known() -> None:
    rows = after(lives("123 Main St", 1), lives("456 Oak Ave", 5, told=20))
    assert where(rows, 10) == ["456 Oak Ave"], "she had moved, as we know now"
    assert where(rows, 10, known=15) == ["123 Main St"], "nobody had told us"


def test_assert_relation_a_correction_leaves_nothing_true_of_the_wrong_one() -> None:
    rows = after(lives("123 Main St", 1), lives("132 Main St", 1, told=2))
    assert where(rows, 1) == where(rows, 300) == ["132 Main St"]
    assert where(rows, 1, known=1) == ["123 Main St"]


def test_assert_relation_news_about_the_past_does_not_undo_the_present() -> None:
    rows = after(lives("Oak Ave", 50), lives("Main St", 10, told=60))
    assert where(rows, 20) == ["Main St"] and where(rows, 70) == ["Oak Ave"]


def test_assert_relation_what_is_said_again_changes_nothing() -> None:
    rows = after(lives("Main St", 1))
    assert assert_all(rows, lives("main st.", 30)) == []


def test_assert_relation_it_began_earlier_than_was_believed() -> None:
    rows = after(lives("Main St", 30), lives("Main St", 10, told=40))
    assert [one.valid_from for one in sorted(as_of(rows, None), key=order)] == [DAY[10]]


def test_assert_relation_who_comes_back_lives_there_twice() -> None:
    rows = after(lives("Rome", 1), lives("Oslo", 10), lives("Rome", 20))
    assert [where(rows, n) for n in (5, 15, 25)] == [["Rome"], ["Oslo"], ["Rome"]]


def test_assert_relation_several_of_a_predicate_that_may_have_several() -> None:
    def likes(what: str, since: int, **more: object) -> Memory:
        return lives(what, since, predicate="likes", **more)

    rows = after(likes("tea", 1), likes("chess", 2), likes("tea", 3))
    assert sorted(where(rows, 5)) == ["chess", "tea"]
    rows = after(*rows, likes("tea", 9, valid_to=DAY[9]))
    assert where(rows, 20) == ["chess"] and sorted(where(rows, 5)) == ["chess", "tea"]


said = st.lists(
    st.tuples(st.sampled_from(["Rome", "Oslo", "Lima"]), st.integers(0, 60), st.integers(0, 60)),
    max_size=8,
)


@given(said)
def test_assert_relation_one_at_a_time_and_nothing_is_lost(
    statements: list[tuple[str, int, int]],
) -> None:
    rows: dict[str, Memory] = {}
    for place, (object_, since, told) in enumerate(statements):
        new = lives(object_, since, told=min(399, 100 + place), text=str(told))
        before = dict(rows)
        rows |= {one.id: one for one in assert_all(rows.values(), new)}
        assert rows.keys() >= before.keys(), "superseded, never deleted"
        assert where(list(rows.values()), since) == [object_], "the last word counts"
    for day in range(0, 61, 3):
        assert len(where(list(rows.values()), day)) <= 1


@given(said, st.integers(0, 60))
def test_assert_relation_what_was_believed_does_not_change_afterwards(
    statements: list[tuple[str, int, int]], asked: int
) -> None:
    rows: dict[str, Memory] = {}
    seen: list[list[str]] = []
    for place, (object_, since, _) in enumerate(statements):
        rows |= {
            one.id: one
            for one in assert_all(rows.values(), lives(object_, since, told=100 + place))
        }
        seen.append(where(list(rows.values()), asked, known=100 + place))
    assert [where(list(rows.values()), asked, 100 + n) for n in range(len(seen))] == seen
