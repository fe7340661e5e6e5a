"""A warm worker keeps nothing of a person: a short run of `tests.harness.warm_workers`, its controls."""

import gc
import json
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.harness.process_search import held
from tests.harness.warm_workers import CONTROLS, Person, whose


def ran(*arguments: str) -> tuple[dict[str, Any], str]:
    """Run the harness in a process of its own: a test runner keeps what is logged."""
    command = [sys.executable, "-m", "tests.harness.warm_workers", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.mark.usefixtures("dsn")  # skipped where no PostgreSQL can be started
def test_warm_workers_nothing_of_the_one_is_in_anything_of_the_next() -> None:
    told, trouble = ran("--people", "4", "--seed", "6")
    assert told["law"] == "", trouble
    assert told["conversations"] >= 4 and told["recalling"] >= 4 and told["beside"] >= 1, told
    assert told["forgotten"] >= 4 and told["notifications"] >= 3, told
    assert told["own words"] > 500 and told["rows"] > 50 and told["process"] >= 2, told


@pytest.mark.slow
@pytest.mark.parametrize("control", [name for name in CONTROLS if name != "cache"])
def test_warm_workers_a_planted_leak_of_another_kind_is_caught_by_its_law(control: str) -> None:
    told, trouble = ran("--people", "4", "--seed", "5", "--control", control)
    assert told["law"] in CONTROLS[control][0].split(), trouble


@pytest.mark.usefixtures("dsn")  # skipped where no PostgreSQL can be started
def test_warm_workers_a_cache_that_keeps_the_last_query_is_caught() -> None:
    told, trouble = ran("--people", "2", "--seed", "5", "--control", "cache")
    assert told["law"] == "process", trouble


def test_warm_workers_words_are_found_again_in_every_spelling() -> None:
    anna, ben = Person(700), Person(701)
    assert whose(f"{anna.name()}s {ben.new().upper()}") == {700, 701}
    assert whose(repr(ben.new().encode())) == {701} and whose("nothing") == set()


class Hidden:
    __slots__ = ("kept",)


def test_warm_workers_the_search_finds_what_an_object_holds_and_names_the_way() -> None:
    hidden, word = Hidden(), "".join(["quib", "blefrax"])
    hidden.kept = ({"a": [word.encode()]},)  # type: ignore[attr-defined]
    del word
    found = held(re.compile("(quibble)(?=frax)"))
    assert found and any("Hidden" in way for _, way in found)
    del hidden
    gc.collect()  # the first search held everything
    assert not [way for _, way in held(re.compile("(quibble)(?=frax)")) if "Hidden" in way]
