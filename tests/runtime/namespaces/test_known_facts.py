"""A question about a fact leads to the memory that states it, whatever the words of both."""

from datetime import UTC, datetime, timedelta
from typing import Any

from slowcat_memory.records import Memory, Statement
from slowcat_memory.runtime.namespaces.known_facts import KnownFacts
from tests.support.rows import each_row, listed

MAY = datetime(2026, 5, 1, tzinfo=UTC)


def fact(
    turn: int, text: str, kind: str = "person", subject: str = "Anna", **facets: Any
) -> Memory:
    at = MAY + timedelta(hours=turn)
    return Memory(
        id=f"fact/{turn}", kind=f"fact/{kind}", scope="anna", speaker="Anna", text=text,
        valid_from=at, recorded_at=at, sources=(turn,), statement=Statement(subject=subject, **facets),
    )  # fmt: skip


def known(*facts: Memory, language: str = "english") -> KnownFacts:
    made = KnownFacts(language=language)
    for one in facts:
        made.put(one)
    return made


HOME = fact(1, "Anna lives in Graz.", predicate="lives_in", object="Graz")
OLD = fact(2, "Anna lives in Bonn.", predicate="lives_in", object="Bonn")
CAR = fact(3, "Anna drives a Fiat.", "possession", predicate="owns", quote="my new car, a Fiat")
TOM = fact(4, "Tom lives in Rome.", subject="Tom", predicate="lives_in", object="Rome")
GOAL = fact(5, "Anna wants to run a marathon.", "plan", quote="I want to run a marathon")
DENTIST = fact(6, "Anna has a dentist appointment.", "event", predicate="has", date="2026-05-20")
OPTICIAN = fact(7, "Anna has an optician's appointment.", "event", date="2026-05-10")
TAX = fact(8, "Anna still has to deal with the tax return.", "open_thread")
ILL = fact(9, "Anna has bronchitis.", "health", predicate="has")
NUTS = fact(10, "Anna is allergic to nuts.", "health", predicate="allergic_to")
EVERYTHING = (HOME, CAR, TOM, GOAL, DENTIST, OPTICIAN, TAX, ILL, NUTS)


@each_row(("query", "turns"), listed("fact_questions/english"))
def test_a_question_leads_to_the_turns_that_state_what_is_asked(query: str, turns: str) -> None:
    assert known(*EVERYTHING).stating(query, MAY) == [f"chunk/{turn}" for turn in turns.split()]


def test_what_held_before_is_another_question_than_what_holds() -> None:
    over = Memory(**{f: getattr(OLD, f) for f in OLD.__struct_fields__} | {"valid_to": MAY})
    facts = known(HOME, over)
    assert facts.stating("where do I live", MAY) == ["chunk/1"]
    assert facts.stating("where did I live before", MAY) == ["chunk/2"]


def test_an_uncertain_fact_and_a_forgotten_one_answer_nothing() -> None:
    doubtful = fact(1, "Anna lives in Graz.", predicate="lives_in", confidence="low")
    assert known(doubtful).stating("where do I live", MAY) == []
    facts = known(HOME)
    facts.drop(HOME.id)
    assert facts.stating("where do I live", MAY) == []
