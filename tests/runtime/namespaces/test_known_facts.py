"""What facts and their endings say of the turns that they come from."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.core.facts.fact import add_sources, stating_turns
from slowcat_memory.core.memory import chunk, supersede
from slowcat_memory.core.query.recall_gate import AskedFact
from slowcat_memory.records import Memory, Turn
from slowcat_memory.runtime.namespaces.known_facts import KnownFacts
from tests.support.rows import each_listed, each_row, listed
from tests.support.said import fact as a_fact
from tests.support.said import turn_at

# ------------------------------------------------------------------- A question about a fact leads to the memory that states it, whatever the words o

MAY = datetime(2026, 5, 1, tzinfo=UTC)


def stored_fact(
    turn: int, text: str, kind: str = "person", who: str = "Anna", **more: Any
) -> Memory:
    times = dict.fromkeys(("valid_from", "recorded_at"), MAY + timedelta(hours=turn))
    return a_fact(text, kind, id=f"fact/{turn}", sources=(turn,), subject=who, **times, **more)


def known_of(*facts: Memory, language: str = "english") -> KnownFacts:
    made = KnownFacts(language)
    for one in facts:
        made.put(one)
    return made


STORED = [
    stored_fact(turn, text, kind, who, **more)
    for turn, text, kind, who, more in listed("fact_questions/facts.jsonl", "facts")
]
HOME = STORED[0]


@each_row(("query", "turns"), listed("fact_questions/english"))
def test_a_question_leads_to_the_turns_that_state_what_is_asked(query, turns):
    assert known_of(*STORED).stating(query, MAY) == [f"chunk/{turn}" for turn in turns.split()]


def test_what_held_before_is_another_question_than_what_holds():
    old = stored_fact(2, "Anna lives in Bonn.", predicate="lives_in", object="Bonn")
    facts = known_of(HOME, replace(old, valid_to=MAY))
    assert facts.stating("where do I live", MAY) == ["chunk/1"]
    assert facts.stating("where did I live before", MAY) == ["chunk/2"]


def test_an_uncertain_fact_and_a_forgotten_one_answer_nothing():
    doubtful = stored_fact(1, "Anna lives in Graz.", predicate="lives_in", confidence="low")
    assert known_of(doubtful).stating("where do I live", MAY) == []
    facts = known_of(HOME)
    facts.drop(HOME.id)
    assert facts.stating("where do I live", MAY) == []


# ------------------------------------------------------------------- A turn that states what is over leads to its end and to what holds instead

DAY = timedelta(days=1)


def fact(id_: str, value: str, turn: int, days: int = 0) -> Memory:
    times = dict.fromkeys(("valid_from", "recorded_at"), MAY + days * DAY)
    stated = {"subject": "Anna", "predicate": "lives_in", "object": value, "quote": value}
    text, sources = f"Anna lives in {value}.", (turn,)
    return a_fact(text, "other", id=f"fact/{id_}", sources=sources, **stated, **times)


def said(id_: int, text: str, days: int = 0) -> Turn:
    return turn_at(text, MAY + days * DAY, id=id_)


LISBON, PORTO = fact("l", "Lisbon", 1), fact("p", "Porto", 2, 30)
MOVED = supersede(LISBON, PORTO, MAY + 31 * DAY)


def test_the_turn_of_a_superseded_fact_knows_its_end_and_the_newer_turn():
    (ending,) = known_of(MOVED, PORTO).endings("chunk/1", MAY + 40 * DAY)
    assert (ending.until, ending.newer) == (PORTO.valid_from, "chunk/2")
    assert known_of(MOVED, PORTO).endings("chunk/2", MAY + 40 * DAY) == ()
    assert known_of(MOVED, PORTO).endings("chunk/1", MAY + 10 * DAY) == ()


@pytest.mark.parametrize(
    "kept",
    [
        LISBON,
        supersede(LISBON, PORTO, MAY + DAY, same=True),
        replace(LISBON, retired_at=MAY + DAY),
        replace(MOVED, kind="fact/quarantined"),
        replace(MOVED, sources=()),
    ],
)
def test_what_is_only_said_again_or_forgotten_has_no_end(kept):
    assert known_of(kept, PORTO).endings("chunk/1", MAY + 90 * DAY) == ()


def test_of_a_turn_that_says_more_only_who_somebody_was_is_over() -> None:
    text = "I just moved to Graz with my boyfriend Tom"
    tom = stored_fact(1, "", predicate="has_boyfriend", object="Tom", quote=text)
    home = replace(HOME, statement=replace(HOME.statement, quote=text))
    facts = known_of(home, supersede(replace(tom, id="fact/tom"), PORTO, MAY + DAY))
    (ending,) = facts.endings("chunk/1", MAY + 40 * DAY)
    assert ending.quote == "boyfriend Tom"


def heard(*turns: Turn) -> KnownFacts:
    made = KnownFacts()
    for turn in turns:
        made.hear(turn)
    return made


def test_a_new_value_by_a_turns_own_words_ends_the_earlier_one_before_idle_work():
    endings = heard(said(1, "I live in Lisbon."), said(2, "I live in Porto now.", 30))
    (ending,) = endings.endings("chunk/1", MAY + 31 * DAY)
    assert (ending.until, ending.newer) == (MAY + 30 * DAY, "chunk/2")
    assert endings.endings("chunk/2", MAY + 31 * DAY) == ()


def test_a_turn_that_is_indexed_again_ends_what_it_ended_and_one_that_is_gone_nothing():
    before, after = said(1, "I live in Lisbon."), said(2, "I live in Porto now.", 30)
    endings = heard(before, after)
    for turn in (before, after):
        endings.put(chunk(turn))
    assert endings.endings("chunk/1", MAY + 31 * DAY)
    assert endings.changing(["porto"]) == ["chunk/2"]
    endings.put(replace(chunk(after), retired_at=MAY + 31 * DAY))
    assert not endings.endings("chunk/1", MAY + 31 * DAY) and not endings.changing(["porto"])


@each_listed("rules/endings")
def test_the_same_value_or_another_matter_ends_nothing(text):
    endings = known_of(LISBON)
    endings.hear(said(2, text, 30))
    assert endings.endings("chunk/1", MAY + 31 * DAY) == ()


@each_listed("rules/endings")
def test_opposites_and_partners_end_each_other_before_idle_work(before, after):
    endings = heard(said(1, before), said(2, after, 30))
    assert [one.newer for one in endings.endings("chunk/1", MAY + 31 * DAY)] == ["chunk/2"]


def test_a_fact_that_is_asked_for_leads_to_the_turns_that_state_it_now():
    endings = known_of(MOVED, PORTO)
    home = AskedFact(frozenset({"lives_in"}))
    assert endings.answering(home, MAY) == ["chunk/2"]
    endings.drop(PORTO.id)
    assert endings.answering(home, MAY) == []


def test_what_a_turn_says_is_over_is_over_before_idle_work_has_read_it():
    texts = ("I work at Siemens.", "I work as a nurse.", "I quit my job.")
    endings = heard(*(said(n, text, 30 * (n == 3)) for n, text in enumerate(texts, 1)))
    for id_ in ("chunk/1", "chunk/2"):
        assert [one.newer for one in endings.endings(id_, MAY + 31 * DAY)] == ["chunk/3"]
    assert endings.endings("chunk/1", MAY + 20 * DAY) == ()


def test_only_the_turn_that_says_a_fact_is_over_with_it_and_not_those_that_explain_it():
    endings = known_of(replace(MOVED, sources=(1, 7, 8)), PORTO)
    assert endings.endings("chunk/1", MAY + 40 * DAY)
    for id_ in ("chunk/7", "chunk/8"):
        assert endings.endings(id_, MAY + 40 * DAY) == ()


def test_every_turn_that_says_a_fact_again_is_over_with_it():
    again = fact("l", "Lisbon", 5)
    merged = supersede(add_sources(LISBON, again), PORTO, MAY + 31 * DAY)
    assert stating_turns(merged) == (1, 5)
    endings = known_of(merged, PORTO)
    assert endings.endings("chunk/1", MAY + 40 * DAY) and endings.endings("chunk/5", MAY + 40 * DAY)
