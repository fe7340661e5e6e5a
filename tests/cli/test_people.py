"""people, timeline, as-of: who is known, what changed when, and what was true on a day."""

import asyncio
from datetime import UTC, datetime

import pytest

from slowcat_memory.idle.jobs.extraction.facts import Facts
from slowcat_memory.store import Store
from slowcat_memory.testing import think
from tests.support.rows import DATA, listed


@pytest.fixture
def register(sm):
    sm.ok("import", str(DATA / "cli/people.txt"), "--no-embed")
    with Store.open(sm.store) as store:
        asyncio.run(think(store, Facts(), now=datetime(2026, 1, 1, tzinfo=UTC)))
        store.flush(None)
    return sm


def test_people_everybody_and_what_holds(register) -> None:
    text = register.ok("people")
    assert "Anna" in text and "Max" in text and "Clara" in text and "456 Oak Ave" in text
    assert "123 Main St" not in text, "that is over"
    assert {one["name"] for one in register.json("people")} == {"Anna", "Max", "Clara"}
    assert "123 Main St" in register.ok("people", "--all"), "it is a place still"


def test_people_one_person_with_what_held_before(register) -> None:
    text = register.ok("people", "Anna")
    assert "123 Main St" in text and "2025-06-02" in text and "I moved to" in text
    [anna] = register.json("people", "anna")
    assert [line["value"] for line in anna["before"]] == ["123 Main St"]


def test_people_a_timeline_of_a_person_and_of_a_topic(register) -> None:
    said = [one["statement"] for one in register.json("timeline", "Max")]
    ages = [one["object"] for one in said if one["predicate"] == "age"]
    assert ages == ["three", "four"]
    assert "2025-01-06" in register.ok("timeline", "Max")
    assert len(register.json("timeline", "moved")) == 1


def test_people_lists_fit_sixty_columns(register, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    for command in listed("cli/narrow"):
        shown = register.ok(*command).splitlines()
        assert max(map(len, shown)) <= 60, command
        assert not any(len(line.split()) == 1 and len(line.strip()) < 3 for line in shown), command
