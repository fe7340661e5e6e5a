"""Two names, one entity: the stages, the vetoes, and F1 on the labelled pairs."""

import pytest

from benchmarks.dedup import cosine, judged, pairs
from slowcat_memory.core.graph.dedup import Candidate, resolve, same
from slowcat_memory.core.graph.given_forms import same_given
from slowcat_memory.core.graph.names import names
from slowcat_memory.core.graph.options import DedupOptions
from tests.support.rows import each_row


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


def test_same_people_without_an_email_are_not_all_one_person() -> None:
    assert same(person("Anna", email=""), person("Ben", email="")) is None
    assert same(person("Anna"), person("Ben", email="b@example.org")) is None


def test_same_what_identifies_decides_against_a_name() -> None:
    two = person("John Smith", email="a@x.org"), person("John Smith", email="b@x.org")
    assert same(*two) is None
    assert same(person("J.", phone="+49 30 123456"), person("Jo", phone="030123456")) is not None


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


def test_same_another_type_is_another_thing() -> None:
    assert same(person("Max"), Candidate("Max", "pet")) is None


@each_row("odd", ["", "  ", "'s", "漢字", "!!!", "x" * 5000, "a's b's c's", "\ud800"])
def test_names_any_text_is_a_name(odd: str) -> None:
    for kind in ("person", "product", "order"):
        assert names(odd, kind)
        same(Candidate(odd, kind), Candidate("Anna", kind))


def test_same_given_forms_of_a_name() -> None:
    assert same_given("bob", "robert") and same_given("sara", "sarah") and same_given("j", "john")
    assert not same_given("tom", "tim") and not same_given("paul", "paula")


def test_same_the_labelled_pairs() -> None:
    every = pairs()
    assert len(every) >= 300 and 140 <= sum(wanted for *_, wanted in every) <= 170
    similar, model = cosine()
    if not model:
        pytest.skip("no embedding model here")
    precision, _, f1, stages = judged(every, similar)
    assert f1 >= 0.95 and precision >= 0.98, stages


def test_same_without_a_model_nothing_is_joined_that_is_two() -> None:
    precision, recall, f1, _ = judged(pairs(), None)
    assert precision >= 0.98 and f1 >= 0.9, recall


def test_same_chance_would_be_seen() -> None:
    swapped = [(one, other, not wanted) for one, other, wanted in pairs()]
    assert judged(swapped, None)[2] < 0.2
