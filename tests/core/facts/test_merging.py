"""One fact or two: bands, guards, numbers, denials; and which known facts are compared."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.extraction.options import MergeOptions
from slowcat_memory.core.extraction.slots import statement_of
from slowcat_memory.core.extraction.stated import read_sentence
from slowcat_memory.core.facts.fact_index import FactIndex
from slowcat_memory.core.facts.matter import days_in, may_replace, numbers
from slowcat_memory.core.facts.merging import (
    Pair,
    compare,
    decide_by_words,
    in_order,
    is_worth_asking,
    merge,
    outcome_of_verdict,
)
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.records import Ending, Memory, Statement
from tests.support import said
from tests.support.rows import cases, each_listed, each_row, listed
from tests.support.said import NOON, fact

TOKENIZE = Tokenizer("english")


AT = NOON


def claim(content: str, type: str = "person", **facets: str) -> Memory:
    """Return a fact as an LLM writes it: a sentence, read by rule."""
    read = read_sentence(content, facets.get("subject") or content.split()[0])
    parts = statement_of(read) if read else Statement()
    statement = replace(parts, quote="", **facets)
    return fact(content, type, id="fact/1", sources=(), statement=statement)


@each_listed("rules/merging.jsonl")
def test_compare_bands_and_what_overrides_them(new, old, cosine, verdict):
    assert compare(Pair(claim(old), claim(new)), cosine, TOKENIZE) == verdict


@each_listed("rules/merging.jsonl")
def test_decide_by_words_without_an_llm(old: str, new: str, decided: str | None) -> None:
    assert decide_by_words(Pair(claim(old), claim(new)), TOKENIZE) == decided


@each_listed("rules/merging.jsonl")
def test_is_worth_asking_is_guarded(old, new, type, cosine, days, worth):
    earlier = replace(claim(old, type), valid_from=AT - timedelta(days=days))
    assert is_worth_asking(Pair(earlier, claim(new, type)), cosine, TOKENIZE) is worth


@each_row(
    ("one", "other"), listed("rules/merging", "different_things_are_never_one_without_an_llm")
)
@each_row("cosine", [None, 0.7, 0.97])
def test_different_things_are_never_one_without_an_llm(one, other, cosine):
    pair = Pair(claim(one), claim(other))
    assert compare(pair, cosine, TOKENIZE) not in ("same", "update")
    assert decide_by_words(pair, TOKENIZE) is None


def test_facts_of_two_types_are_never_one_without_an_llm() -> None:
    task = claim("Anna gets her whole deposit back from the landlord.", "task_completed")
    thread = claim("Anna has to ask the landlord about her deposit.", "open_thread")
    assert compare(Pair(thread, task), 0.9, TOKENIZE) == "ask"
    assert decide_by_words(Pair(thread, task), TOKENIZE) is None


def test_what_a_newer_fact_adds_is_kept_and_nothing_is_over() -> None:
    short, full = claim("Anna plays chess."), claim("Anna plays chess on Mondays.")
    full = replace(full, id="fact/2", sources=(2,))
    kept, gone = merge(Pair(short, full), "fuller", AT)
    assert kept.text == full.text and gone.facets["why"] == "same" and gone.valid_to is None


def test_what_two_facts_add_to_one_thing_is_kept_without_an_llm() -> None:
    """ "Same" would drop what the older one adds, and keep the newer alone."""
    named = {"subject": "Anna", "predicate": "works_at", "object": "Lindner"}
    baker = claim("Anna works at Lindner as a baker.", **named)
    since = claim("Anna works at Lindner since May.", **named)
    pair = Pair(baker, since)
    assert compare(pair, 0.95, TOKENIZE) == "ask"
    assert decide_by_words(pair, TOKENIZE) is None
    plain = claim("Anna works at Lindner.", **named)
    assert compare(Pair(baker, plain), 0.95, TOKENIZE) == "same"


def test_the_order_of_two_facts_is_that_of_the_turns_that_say_them() -> None:
    """A turn that only helped to understand an earlier statement makes it no later one."""
    older = replace(claim("Anna starts in May."), id="fact/1", sources=(3, 20, 21))
    newer = replace(claim("Anna starts in June."), id="fact/2", sources=(9,))
    for pair in (in_order(older, newer), in_order(newer, older)):
        assert (pair.older.id, pair.newer.id) == ("fact/1", "fact/2")


# ------------------------------------------------------------------- whether the later of two facts can have taken the earlier one's place

NOVEMBER = datetime(2026, 11, 2, 18, tzinfo=UTC)


def of_nell(
    text: str, type: str = "plan", day: int = 0, subject: str = "Nell", **more: str
) -> Memory:
    given = {"id": f"fact/{day}", "valid_from": NOVEMBER + timedelta(days=day)}
    return said.fact(text, type, subject=subject, sources=(day + 1,), **given, **more)


@each_listed("rules/matter")
def test_a_clear_change_is_asked_about_and_a_yes_is_believed(
    type: str, older: str, day: str, other_type: str, newer: str, other_day: str
) -> None:
    subject = "Tom" if older.startswith("Tom") else "The bakery" if "offered" in older else "Nell"
    one = of_nell(older, type, 0, subject, date=day)
    other = of_nell(newer, other_type, 9, subject, date=other_day)
    pair = Pair(one, other)
    assert compare(pair, 0.75, TOKENIZE) in ("ask", "update")
    assert outcome_of_verdict(pair, "", TOKENIZE) == "update"


@each_listed("rules/matter")
def test_a_yes_for_two_matters_is_not_believed(one: str, other: str) -> None:
    """A small model says of all pairs that they are the same."""
    pair = Pair(of_nell(one, "person"), of_nell(other, "person", 9))
    assert outcome_of_verdict(pair, "", TOKENIZE) is None
    assert compare(pair, 0.97, TOKENIZE) not in ("same", "update")
    assert decide_by_words(pair, TOKENIZE) is None


def test_a_home_does_not_take_the_place_of_an_employer_at_the_same_address() -> None:
    where = {"object": "Mercy hospital"}
    work = of_nell("Nell works at the Mercy hospital.", "person", predicate="works_at", **where)
    home = "Nell lives at the Mercy hospital now."
    pair = Pair(work, of_nell(home, "person", 9, predicate="lives_in", **where))
    assert outcome_of_verdict(pair, "", TOKENIZE) is None


def test_another_day_is_a_change_by_rule_only_where_the_words_say_so() -> None:
    first = of_nell("Nell sees the dentist on 3 May 2027.", "event", date="2027-05-03")
    second = of_nell("Nell sees the dentist on 9 June 2027.", "event", 5, date="2027-06-09")
    moved = of_nell(second.text, "event", 5, date="2027-06-09", quote="it's the ninth of June now")
    assert compare(Pair(first, second), 0.99, TOKENIZE) == "ask"
    assert decide_by_words(Pair(first, second), TOKENIZE) is None, "two appointments"
    assert decide_by_words(Pair(first, moved), TOKENIZE) == "update"


def test_a_trip_that_is_over_by_its_day_may_be_replaced_by_how_it_was() -> None:
    trip = of_nell("Nell flies to Oslo on 5 November 2026.", "event", date="2026-11-05")
    before, after = (of_nell("Oslo was grey, says Nell.", "event", day) for day in (1, 6))
    assert may_replace(after, trip, TOKENIZE) and not may_replace(before, trip, TOKENIZE)


@cases("rules/matter.jsonl")
def test_days_are_read_in_both_languages_and_are_no_numbers(text: str, days: set) -> None:
    assert days_in(text) == set(map(tuple, days))
    assert not days or not numbers(text)


# ------------------------------------------------------------------- the index proposes every known fact that comparing with all of them would merge

OPTIONS = MergeOptions()
WORDS = (
    "green tea every morning with her sister Lena in Porto since two years on Friday 3 4".split()
)


def numbered(n: int, text: str, **more: Any) -> Memory:
    at = NOON + timedelta(hours=n)
    return said.fact(text, "other", id=f"fact/{n}", valid_from=at, sources=(n,), **more)


def facts(seed: int, n: int = 60) -> list[Memory]:
    chance, found = random.Random(seed), list[Memory]()
    for number in range(1, n + 1):
        subject = chance.choice(("Anna", "Max"))
        denied = chance.choice(("drinks", "does not drink"))
        words = " ".join(chance.sample(WORDS, chance.randrange(2, 7)))
        facets = {"subject": subject}
        if chance.random() < 0.5:
            predicate = chance.choice(("likes", "lives_in", "works_at"))
            facets |= {"predicate": predicate, "object": chance.choice(WORDS[:5])}
        found.append(numbered(number, f"{subject} {denied} {words}", **facets))
    return found


def index_of(known: list[Memory]) -> FactIndex:
    index = FactIndex(TOKENIZE)
    for one in known:
        index.put(one, None)
    return index


@each_row("seed", range(6))
def test_fact_index_misses_nothing_that_would_be_merged_or_asked_about(seed) -> None:
    known = facts(seed)
    index = index_of(known)
    for new in known:
        found = {one.id for one, _ in index.candidates(new, OPTIONS)}
        others = [one for one in known if one.id != new.id]
        verdicts = {one.id: compare(in_order(new, one), None, TOKENIZE, OPTIONS) for one in others}
        wanted = {id_ for id_, verdict in verdicts.items() if verdict != "other"}
        assert wanted <= found, (new, [one for one in known if one.id in wanted - found])
        assert new.id not in found


def test_fact_index_forgets_what_is_retired_or_dropped() -> None:
    known = facts(1, 10)
    index = index_of(known)
    for one in known[:5]:
        index.drop(one.id)
    for one in known[5:]:
        index.put(replace(one, retired_at=NOON), None)
    assert all(index.get(one.id) is None for one in known)
    assert index.candidates(known[0], OPTIONS) == [] and not index._group_of


def test_fact_index_finds_what_ends_a_fact_of_another_subject_in_both_orders() -> None:
    dog = numbered(
        1, "Anna has a dog called Rex.", subject="Anna", predicate="has_pet", object="Rex"
    )
    ends = (Ending("Anna", ("has_pet",)),)
    dead = numbered(
        2, "Anna's dog died.", subject="Anna's dog", predicate="died", over=True, ends=ends
    )
    index = index_of([dead, dog])
    assert index.rivals(dog) == [dead] and index.rivals(dead) == [dog]
    index.drop(dead.id)
    assert index.rivals(dog) == []


# ------------------------------------------------------------------- which names of a subject mean one


def about(number: int, subject: str, entity: str, **parts: str) -> Memory:
    return numbered(number, f"{subject} {number}.", subject=subject, subject_id=entity, **parts)


def test_a_subject_has_the_other_names_of_its_entity_and_what_it_is_to_somebody() -> None:
    sister = about(1, "Mira", "entity/1", predicate="has_sister", object="Hana")
    hana, hanni = about(2, "Hana", "entity/2"), about(3, "Hanni", "entity/2")
    described, tom = about(4, "Mira's sister", ""), about(5, "Tom", "entity/5")
    index = index_of([sister, hana, hanni, described, tom])
    assert index.of_one_subject(hana, hanni) and index.of_one_subject(hana, described)
    assert index.of_one_subject(described, hanni) and not index.of_one_subject(hana, tom)
    index.put(about(6, "Mira", "entity/1", predicate="has_sister", object="Bea"), None)
    assert not index.of_one_subject(described, hana), "she has two"
    index.put(about(7, "Hana", "entity/7"), None)
    assert not index.of_one_subject(hana, hanni), "two have that name"


def test_facts_of_two_names_of_one_person_are_compared_with_their_cosine() -> None:
    index = FactIndex(TOKENIZE)
    every = [
        numbered(
            1, "Priya Nair brings a cake on 9 May.", subject="Priya Nair", subject_id="entity/1"
        ),
        numbered(2, "Priya brings a cake on 16 May.", subject="Priya", subject_id="entity/1"),
        numbered(3, "Tom brings a cake on 16 May.", subject="Tom", subject_id="entity/2"),
    ]
    for one in every:
        index.put(one, np.array([1.0, 0.0], np.float32))
    found = index.candidates(every[1], OPTIONS)
    assert [(one.id, near) for one, near in found] == [("fact/1", 1.0)]
