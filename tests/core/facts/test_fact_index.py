"""The index proposes every known fact that comparing with all of them would merge."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from slowcat_memory.core.extraction.options import MergeOptions
from slowcat_memory.core.facts.fact_index import FactIndex
from slowcat_memory.core.facts.merging import compare, in_order
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.records import Ending, Memory, Statement
from tests.support.rows import each_row

AT = datetime(2026, 5, 12, tzinfo=UTC)
TOKENIZE, OPTIONS = Tokenizer("english"), MergeOptions()
WORDS = (
    "green tea every morning with her sister Lena in Porto since two years on Friday 3 4".split()
)


def fact(n: int, text: str, **facets: Any) -> Memory:
    return Memory(
        id=f"fact/{n}", kind="fact/other", scope="anna", speaker="Anna", text=text, valid_from=AT +
        timedelta(hours=n), sources=(n,), statement=Statement(**facets),
    )  # fmt: skip


def facts(seed: int, n: int = 60) -> list[Memory]:
    chance, found = random.Random(seed), list[Memory]()
    for number in range(1, n + 1):
        subject = chance.choice(("Anna", "Max"))
        denied = chance.choice(("drinks", "does not drink"))
        said = " ".join(chance.sample(WORDS, chance.randrange(2, 7)))
        facets = {"subject": subject}
        if chance.random() < 0.5:
            predicate = chance.choice(("likes", "lives_in", "works_at"))
            facets |= {"predicate": predicate, "object": chance.choice(WORDS[:5])}
        found.append(fact(number, f"{subject} {denied} {said}", **facets))
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
        index.put(Memory(**{f: getattr(one, f) for f in one.__struct_fields__} | {"retired_at": AT}),
                  None)  # fmt: skip
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
