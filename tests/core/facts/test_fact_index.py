"""The index proposes every known fact that comparing with all of them would merge."""

import random
from datetime import timedelta
from typing import Any

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.extraction.options import MergeOptions
from slowcat_memory.core.facts.fact_index import FactIndex, Subjects
from slowcat_memory.core.facts.merging import compare, in_order
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.records import Ending, Memory
from tests.support import said
from tests.support.rows import each_row
from tests.support.said import NOON, memory

TOKENIZE, OPTIONS = Tokenizer("english"), MergeOptions()
WORDS = (
    "green tea every morning with her sister Lena in Porto since two years on Friday 3 4".split()
)


def fact(n: int, text: str, **more: Any) -> Memory:
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
        found.append(fact(number, f"{subject} {denied} {words}", **facets))
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
        wanted = {
            one.id
            for one in others
            if compare(in_order(new, one), None, TOKENIZE, OPTIONS) != "other"
        }
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
    dog = fact(1, "Anna has a dog called Rex.", subject="Anna", predicate="has_pet", object="Rex")
    ends = (Ending("Anna", ("has_pet",)),)
    dead = fact(2, "Anna's dog died.", subject="Anna's dog", predicate="died", over=True, ends=ends)
    index = index_of([dead, dog])
    assert index.rivals(dog) == [dead] and index.rivals(dead) == [dog]
    index.drop(dead.id)
    assert index.rivals(dog) == []


# ------------------------------------------------------------------- which names of a subject mean one


def entity(id: str, name: str, also: str = "") -> Memory:
    facets = {"name": name} | ({"also": also} if also else {})
    return memory("entity/person", name, id=f"entity/{id}", facets=facets)


def sister(id: str, of: str, object: str) -> Memory:
    parts = {
        "predicate": "has_sister",
        "subject_id": f"entity/{of}",
        "object_id": f"entity/{object}",
    }
    return said.fact("", id=f"fact/{id}", **parts)


def test_an_entity_has_its_other_names_and_what_it_is_to_somebody() -> None:
    names = Subjects()
    for one in (
        entity("1", "Mira"),
        entity("2", "Hana", "Hanni; Schwesterherz"),
        sister("3", "1", "2"),
    ):
        names.put(one)
    assert set(names.same("hana", ["hanni", "mira's sister", "tom"])) == {"hanni", "mira's sister"}
    assert names.same("mira's sister", ["hana", "tom"]) == ["hana"]
    names.put(entity("4", "Bea"))
    names.put(sister("5", "1", "4"))
    assert names.same("mira's sister", ["hana", "bea"]) == [], "she has two"


def test_a_retired_entity_joins_no_names() -> None:
    names = Subjects()
    names.put(entity("2", "Hana", "Hanni"))
    names.put(replace(entity("2", "Hana", "Hanni"), retired_at=NOON))
    assert names.same("hana", ["hanni"]) == []


def test_facts_of_two_names_of_one_person_are_compared_with_their_cosine() -> None:
    index = FactIndex(Tokenizer("english"))
    every = [
        fact(1, "Priya Nair brings the cake on 9 May.", subject="Priya Nair"),
        fact(2, "Priya brings the cake on 16 May.", subject="Priya"),
        fact(3, "Tom brings the cake on 16 May.", subject="Tom"),
    ]
    for one in every:
        index.put(one, np.array([1.0, 0.0], np.float32))
    found = index.candidates(every[1], MergeOptions())
    assert [(one.id, near) for one, near in found] == [("fact/1", 1.0)]
