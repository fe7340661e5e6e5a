"""What holds now: of exclusive statements one at a time, with an end for each that is over."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.extraction.slots import exclude, statement_of
from slowcat_memory.core.extraction.stated import read_sentence
from slowcat_memory.core.facts.fact import fact_id
from slowcat_memory.core.facts.fact_index import FactIndex
from slowcat_memory.core.facts.holding import claim_of, history, loser
from slowcat_memory.core.facts.merging import in_order
from slowcat_memory.core.memory import as_of, supersede
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.records import Ending, Memory, Statement
from tests.support.rows import each_listed
from tests.support.said import fact

AT = datetime(2026, 5, 12, 18, tzinfo=UTC)
DAY = timedelta(days=1)


def told(text: str, turn: int, **parts: Any) -> Memory:
    """Return a fact of Anna's ``turn``, a day after the one before it."""
    id_, at = fact_id("anna", text, turn), AT + turn * DAY
    return fact(text, id=id_, valid_from=at, sources=(turn,), **parts)


def said(predicate: str, object_: str, turn: int, *, over: bool = False, **more: Any) -> Memory:
    text = f"Anna {predicate} {object_} {'no longer ' if over else ''}({turn})."
    return told(text, turn, subject="Anna", predicate=predicate, object=object_, over=over, **more)


def sentence(text: str, turn: int) -> Memory:
    """Return a fact as an LLM writes it: a sentence alone, read by rule."""
    read = read_sentence(text, "Anna")
    parts = statement_of(read) if read else Statement(subject="Anna")
    return told(text, turn, statement=replace(parts, quote=""))


def take_up(facts: list[Memory], *, rules: bool = True) -> list[Memory]:
    """Settle facts one after the other, as the merge job does; return all of them."""
    index, every = FactIndex(Tokenizer("english")), dict[str, Memory]()
    for new in facts:
        every[new.id] = new
        index.put(new, None)
        for rival in index.rivals(new) if rules else ():
            one, other = every[new.id], every[rival.id]
            if one.retired_at or other.retired_at or one.valid_to or other.valid_to:
                continue
            pair = in_order(one, other)
            lost = loser(pair.newer, pair.older)
            if lost is not None:
                by = pair.older if lost is pair.newer else pair.newer
                every[lost.id] = supersede(lost, by, AT + 400 * DAY)
                index.put(every[lost.id], None)
    return list(every.values())


def holding(facts: list[Memory]) -> list[Memory]:
    return [one for one in facts if one.retired_at is None and one.valid_to is None]


STATEMENTS = st.lists(
    st.one_of(
        st.tuples(st.just("lives_in"), st.sampled_from(["Rome", "Oslo", "Lima"])),
        st.tuples(st.just("works_at"), st.sampled_from(["Acme", "Bosch"])),
        st.tuples(
            st.sampled_from(["likes", "dislikes", "prefers"]), st.sampled_from(["tea", "jazz"])
        ),
        st.tuples(
            st.sampled_from(["has_boyfriend", "has_partner", "engaged_to", "has_husband"]),
            st.sampled_from(["Tom", "Leon"]),
        ),
        st.tuples(st.just("diet"), st.sampled_from(["vegan", "vegetarian"])),
    ),
    max_size=12,
)


def contradictions(facts: list[Memory]) -> list[tuple[str, str]]:
    claims = [(one.text, claim_of(one)) for one in holding(facts)]
    return [
        (one, other)
        for (one, mine), (other, theirs) in combinations(claims, 2)
        if not (mine.over or theirs.over) and exclude(mine, theirs)
    ]


@given(STATEMENTS)
def test_no_two_facts_that_exclude_each_other_hold(statements: list[tuple[str, str]]) -> None:
    facts = take_up([said(*one, turn) for turn, one in enumerate(statements, start=1)])
    assert contradictions(facts) == []
    for one in facts:
        if one.retired_at is not None:
            assert one.valid_to is not None, "what is over has an end"
            assert any(other.id == one.facets["superseded_by"] for other in facts)
    if statements:
        assert facts[-1] in holding(facts), "the later statement wins"


@given(STATEMENTS, st.randoms(use_true_random=False))
def test_what_holds_does_not_depend_on_the_order_of_extraction(statements, random):
    facts = [said(*one, turn) for turn, one in enumerate(statements, start=1)]
    shuffled = list(facts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # Hypothesis' Random
    assert contradictions(take_up(shuffled)) == []
    assert {one.id for one in holding(take_up(facts))} <= {one.id for one in facts}


def test_without_the_rules_opposites_are_found() -> None:
    """The negative control of the laws above."""
    facts = [said("likes", "coffee", 1), said("dislikes", "coffee", 2)]
    assert len(contradictions(take_up(facts, rules=False))) == 1
    assert contradictions(take_up(facts)) == []


@each_listed("rules/holding")
def test_a_sentence_ends_what_it_says_to_be_over_and_nothing_else(earlier, later, ends):
    older, newer = sentence(earlier, 1), sentence(later, 2)
    assert loser(newer, older) is (older if ends else None)


def test_a_joke_ends_no_certain_fact() -> None:
    joke = said("lives_in", "Atlantis", 2, confidence="low")
    assert loser(joke, said("lives_in", "Rome", 1)) is None


def appointment(day: str, quote: str, turn: int, **facets: Any) -> Memory:
    made = said("has", "dentist appointment", turn, quote=quote, date=day, **facets)
    return replace(made, kind="fact/event")


def test_an_appointment_that_was_moved_is_on_its_new_day_alone() -> None:
    old = appointment("2026-05-20", "I have a dentist appointment on the 20th", 1)
    moved = appointment("2026-05-22", "my dentist appointment is now on the 22nd", 2)
    corrected = appointment("2026-05-23", "the dentist is on the 23rd", 3, corrects=True)
    assert loser(moved, old) == old and loser(corrected, moved) == moved


# ------------------------------------------------------------------- facts in one slot of one person: who lived where when, and what was believed of it

ON_DAY = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(400)]


def says(
    object_: str, since: int, told: int | None = None, predicate: str = "lives_in", **more: Any
) -> Memory:
    """Return a fact that was told on a day, in the turn with that number."""
    told = since if told is None else told
    parts = {"subject": "Anna", "predicate": predicate, "object": object_}
    times = {"valid_from": ON_DAY[since], "recorded_at": ON_DAY[told], "sources": (told,)}
    return fact(
        f"Anna {predicate} {object_}.", id=f"fact/{told}-{object_}", **times, **parts, **more
    )


def where(facts: Iterable[Memory], true: int, known: int | None = None) -> list[str]:
    found = as_of(history(facts), ON_DAY[true], None if known is None else ON_DAY[known])
    return [one.statement.object for one in found]


@each_listed("rules/history.jsonl", "")
def test_of_one_slot_one_holds_at_a_time_and_what_was_believed_is_kept(name, told, asked) -> None:
    facts = [says(what, since, **more[0] if more else {}) for what, since, *more in told]
    for true, known, expected in asked:
        assert where(facts, true, known) == expected, name


def test_who_moves_lived_somewhere_until_then() -> None:
    facts = [says("123 Main St", 1), says("456 Oak Ave", 5)]
    spans = [(one.valid_from, one.valid_to) for one in as_of(history(facts), None)]
    assert spans == [(ON_DAY[1], ON_DAY[5]), (ON_DAY[5], None)]


def test_what_a_job_superseded_is_as_what_nobody_compared() -> None:
    rome, oslo = says("Rome", 1), says("Oslo", 5, told=20)
    compared = [supersede(rome, oslo, ON_DAY[20]), oslo]
    for day in range(30):
        assert where(compared, day) == where([rome, oslo], day)
        assert where(compared, day, known=15) == where([rome, oslo], day, known=15)


def test_what_is_said_again_holds_once_and_since_the_earliest_day() -> None:
    facts = [says("Rome", 30), says("rome", 40), says("Rome", 10, told=50)]
    [row] = as_of(history(facts), None)
    assert row.valid_from == ON_DAY[10]


def test_who_left_was_employed_there_before() -> None:
    left = says("Bosch", 5, predicate="works_at", over=True, ends=(Ending("Anna"),))
    assert where([left], 4) == ["Bosch"] and where([left], 6) == []


PLACES = st.lists(
    st.tuples(st.sampled_from(["Rome", "Oslo", "Lima"]), st.integers(0, 60)), max_size=8
)


@given(PLACES)
def test_the_last_word_counts_and_one_holds(statements: list[tuple[str, int]]) -> None:
    facts = [says(what, since, 100 + n) for n, (what, since) in enumerate(statements)]
    assert where(facts, 399) == [what for what, _ in statements[-1:]]


@given(PLACES, st.integers(0, 60))
def test_what_was_believed_does_not_change_afterwards(statements, asked):
    facts = [says(what, since, 100 + n) for n, (what, since) in enumerate(statements)]
    seen = [where(facts[: n + 1], asked, 100 + n) for n in range(len(facts))]
    assert [where(facts, asked, 100 + n) for n in range(len(facts))] == seen
