"""Two names, one entity: the stages, the vetoes, and F1 on the labelled pairs.

A pair of ``benchmarks/data/entities.tsv`` is two names of one type, with a label that says whether they
mean one entity; hard negatives (two Smiths, two flats of one house, two models of one series) are about
half. Odd lines were looked at while the stages were tuned, even lines were not. Held-out pairs are
judged by ``python -m benchmarks.unseen --list entities``.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.unseen.utterances import cosine
from slowcat_memory.core.extraction.options import DedupOptions
from slowcat_memory.core.graph.dedup import Candidate, Similarity, resolve, same
from slowcat_memory.core.graph.names import names
from tests.support.rows import each_row

FILE = Path(__file__).parents[3] / "benchmarks" / "data" / "entities.tsv"
Pair = tuple[Candidate, Candidate, bool]


def pairs() -> list[Pair]:
    lines = [line for line in FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
    rows = [line.split("\t") for line in lines[1:]]
    return [(_candidate(row[0], row[1]), _candidate(row[0], row[2]), row[3] == "1") for row in rows]


def _candidate(kind: str, told: str) -> Candidate:
    name, *attributes = [part.strip() for part in told.split(";")]
    return Candidate(name, kind, dict(one.split("=") for one in attributes))  # type: ignore[misc]  # two parts each


def judged(
    tried: Sequence[Pair], similar: Similarity | None
) -> tuple[float, float, float, Counter[tuple[str, bool]]]:
    """Return precision, recall, F1, and how often each stage joined a pair, rightly or not."""
    stages: Counter[tuple[str, bool]] = Counter()
    missed = 0
    for one, other, wanted in tried:
        found = resolve(one, [other], similar, DedupOptions())
        if found:
            stages[found[1], wanted] += 1
        else:
            missed += wanted
    right = sum(count for (_, wanted), count in stages.items() if wanted)
    wrong = sum(stages.values()) - right
    precision, recall = right / max(1, right + wrong), right / max(1, right + missed)
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall), stages


def person(name: str, **attributes: str) -> Candidate:
    return Candidate(name, "person", attributes)


def product(name: str) -> Candidate:
    return Candidate(name, "product")


def alike(*near: frozenset[str]):  # type: ignore[no-untyped-def]
    return lambda one, other: 0.9 if frozenset((one, other)) in near else 0.1


def test_same_the_examples_of_the_sources() -> None:
    john = person("John Smith")
    assert same(person("Jon Smith"), john) == "fuzzy"
    assert resolve(person("Customer John"), [john, person("Mary Jones")]) == (0, "fuzzy")
    near = alike(frozenset(("Item purchased", "Product ordered")))
    assert same(product("Item purchased"), product("Product ordered"), near) == "embedding"


def test_same_a_stage_that_is_off_matches_nothing() -> None:
    one, other = person("Jon Smith"), person("John Smith")
    assert same(one, other, options=DedupOptions(fuzzy=False)) is None
    assert same(one, one, options=DedupOptions(exact=False, fuzzy=False)) is None
    by_mail = person("A", email="a@x.org"), person("Weber", email="a@x.org")
    assert same(*by_mail) == "rule" and same(*by_mail, options=DedupOptions(rule=False)) is None


def test_resolve_a_name_alone_means_nobody_where_two_have_it() -> None:
    known = [person("John Smith"), person("John Miller")]
    assert resolve(person("John"), known[:1]) == (0, "fuzzy")
    assert resolve(person("John"), known) is None


def test_same_vectors_never_join_people_or_opposites() -> None:
    def near(one: str, other: str) -> float:
        return 0.99

    assert same(person("Anna Weber"), person("Berta Kunz"), near) is None
    assert same(product("red wine"), product("white wine"), near) is None
    assert same(product("couch"), product("sofa"), near) == "embedding"


@each_row("odd", ["", "  ", "'s", "漢字", "!!!", "x" * 5000, "a's b's c's", "\ud800"])
def test_names_any_text_is_a_name(odd: str) -> None:
    for kind in ("person", "product", "order"):
        assert names(odd, kind)
        same(Candidate(odd, kind), Candidate("Anna", kind))


def test_same_the_labelled_pairs() -> None:
    every = pairs()
    assert len(every) >= 300 and 140 <= sum(wanted for *_, wanted in every) <= 170
    similar = cosine()
    if not similar:
        pytest.skip("no embedding model here")
    precision, _, f1, stages = judged(every, similar)
    assert f1 >= 0.95 and precision >= 0.98, stages
