"""A warm worker keeps nothing of a person: a short run of `tests.harness.warm_workers`, and leaks."""

import gc
import re

import pytest

from tests.harness.process_search import held
from tests.harness.warm_workers import Person, whose
from tests.support.harnesses import harness


@pytest.mark.slow
@pytest.mark.usefixtures("dsn")  # skipped where no PostgreSQL can be started
def test_warm_workers_nothing_of_the_one_is_in_anything_of_the_next():
    harness("warm_workers", "--count", "4")


def test_warm_workers_words_are_found_again_in_every_spelling():
    anna, ben = Person(700), Person(701)
    assert whose(f"{anna.name()}s {ben.new().upper()}") == {700, 701}
    assert whose(repr(ben.new().encode())) == {701} and whose("nothing") == set()


class Hidden:
    __slots__ = ("kept",)


def test_warm_workers_the_search_finds_what_an_object_holds_and_names_the_way():
    hidden, word = Hidden(), "".join(["quib", "blefrax"])
    hidden.kept = ({"a": [word.encode()]},)  # type: ignore[attr-defined]
    del word
    found = held(re.compile("(quibble)(?=frax)"))
    assert found and any("Hidden" in way for _, way in found)
    del hidden
    gc.collect()  # the first search held everything
    assert not [way for _, way in held(re.compile("(quibble)(?=frax)")) if "Hidden" in way]
