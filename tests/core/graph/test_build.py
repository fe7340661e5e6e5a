"""Relations from readings: exclusive ones one at a time, endings, and the same after a replay."""

from datetime import UTC, datetime, timedelta
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.extraction.slots import exclude
from slowcat_memory.core.graph.build import StoredGraph, graph_changes, relations
from slowcat_memory.core.graph.readings import ReadStatement, TurnReading, ending
from slowcat_memory.core.validity import as_of
from slowcat_memory.records import Ending, Made, Memory

AT = datetime(2026, 5, 12, 18, tzinfo=UTC)
DAY = timedelta(days=1)
LATER = AT + 400 * DAY


def says(predicate: str, object_: str, **more: object) -> ReadStatement:
    text = f"Anna {predicate} {object_}."
    return ReadStatement(subject="anna", predicate=predicate, object=object_, text=text, **more)  # type: ignore[arg-type]


def turn(number: int, *statements: ReadStatement) -> TurnReading:
    at = AT + number * DAY
    return TurnReading(
        scope="anna", turn=number, speaker="Anna", said=at, at=at, made=Made(job="entities"),
        statements=statements,
    )  # fmt: skip


def holds(rows: list[Memory], at: datetime = LATER) -> set[str]:
    return {f"{one.statement.predicate} {one.statement.object}" for one in as_of(rows, at)}


STATEMENT = st.one_of(
    st.builds(says, st.sampled_from(["lives_in", "works_at"]), st.sampled_from(["Rome", "Oslo"])),
    st.builds(says, st.sampled_from(["likes", "dislikes"]), st.sampled_from(["tea", "jazz"])),
    st.builds(
        says, st.sampled_from(["has_boyfriend", "has_partner", "has_husband"]),
        st.sampled_from(["Tom", "Leon"]),
    ),
    st.builds(lambda name: says("works_at", name, over=True), st.sampled_from(["Rome", "Oslo", ""])),
    st.builds(
        lambda what: ending(Ending("anna", ("likes", "works_at"), what), "It is over.", "", None),
        st.sampled_from(["tea", "Rome", ""]),
    ),
)  # fmt: skip


@given(st.lists(STATEMENT, max_size=10))
def test_no_two_relations_that_exclude_each_other_hold(said: list[ReadStatement]) -> None:
    rows = relations([turn(n, one) for n, one in enumerate(said, start=1)])
    for day in range(0, 12):
        true = [one.statement for one in as_of(rows, AT + day * DAY + DAY / 2)]
        assert [pair for pair in combinations(true, 2) if exclude(*pair)] == []
    if said and not said[-1].over:
        assert f"{said[-1].predicate} {said[-1].object}" in holds(rows), "the later one wins"


@given(st.lists(STATEMENT, max_size=8))
def test_one_turn_at_a_time_gives_what_all_turns_give(said: list[ReadStatement]) -> None:
    readings = [turn(n, one) for n, one in enumerate(said, start=1)]
    stored, known = {}, list[TurnReading]()
    for reading in readings:
        kept = StoredGraph(known, [], list(stored.values()))
        changes = graph_changes(kept, [reading], reading.at)
        stored |= {one.id: one for one in changes.put if one.id.startswith("relation/")}
        for _, id in changes.drop:
            stored.pop(id, None)
        known.append(reading)
    one_by_one, at_once = as_of(stored.values(), None), as_of(relations(readings), None)
    assert {one.id for one in one_by_one} == {one.id for one in at_once}


def test_who_left_is_not_employed_there() -> None:
    rows = relations(
        [turn(1, says("works_at", "Siemens")), turn(5, says("works_at", "", over=True))]
    )
    assert holds(rows) == set() and holds(rows, AT + 3 * DAY) == {"works_at Siemens"}


def test_a_start_that_lies_before_a_recent_statement_is_news() -> None:
    """Corrections of the same day: "I moved to Rome today", an hour after "I live in Oslo"."""
    today = AT + 5 * DAY - timedelta(hours=18)
    rows = relations(
        [turn(5, says("lives_in", "Oslo")), turn(6, says("lives_in", "Rome", since=today))]
    )
    assert holds(rows) == {"lives_in Rome"}
    long_ago = says("lives_in", "Lima", since=AT - 2000 * DAY)
    rows = relations([turn(5, says("lives_in", "Oslo")), turn(6, long_ago)])
    assert holds(rows) == {"lives_in Oslo"} and holds(rows, AT - 10 * DAY) == {"lives_in Lima"}


def test_the_old_employer_holds_until_the_day_that_the_new_one_begins() -> None:
    ahead = says("works_at", "Southmead", since=AT + 30 * DAY)
    rows = relations([turn(1, says("works_at", "Leeds General")), turn(2, ahead)])
    assert holds(rows, AT + 10 * DAY) == {"works_at Leeds General"}
    assert holds(rows, AT + 31 * DAY) == {"works_at Southmead"}
