"""undo: what was ordered in a conversation, and taking it back."""

import contextlib
from datetime import UTC, datetime

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import memory_config


@pytest.fixture
def ordered(filled):
    """A store in which somebody ordered to forget turns 2 and 3, and was asked about 4."""
    with contextlib.closing(MemoryEngine(memory_config(filled.store))) as engine:
        engine.wiring.undo_log.hide("forget_that", "user", ["chunk/2", "chunk/3"], [2, 3], 0, 300.0)
        engine.wiring.undo_log.hide("forget_about", "user", ["chunk/4"], [4], 0, None)
    return filled


def texts(sm) -> list[str]:
    return [hit["memory"]["text"] for hit in sm.json("search", "dog Max")["hits"]]


def test_undo_shows_and_asks_and_no_means_no(ordered) -> None:
    assert "My dog is called Max." not in texts(ordered)
    result = ordered("undo", stdin="n\n")
    assert result.exit_code == 1 and "forget that" in result.stderr
    assert "My dog is called Max." not in texts(ordered)
    assert "Undone: forget that." in ordered.ok("undo", stdin="y\n")
    assert "My dog is called Max." in texts(ordered)
    result = ordered("undo", "--yes")
    assert result.exit_code == 1 and "There is nothing to undo." in result.stderr


def test_undo_by_number_and_for_a_script(ordered) -> None:
    assert "Voice command 2 cannot be undone" in ordered.fails("undo", "2", "--yes")
    assert "Voice command 9 cannot be undone" in ordered.fails("undo", "9", "--yes")
    undone = ordered.json("undo", "1", "--yes")
    assert (undone["id"], undone["state"]) == (1, "undone")
    assert ordered.json("undo", "--yes") is None


def test_undo_lists_beside_an_agent(ordered) -> None:
    assert [row["id"] for row in ordered.json("undo", "--list")] == [2, 1]
    shown = ordered.ok("undo", "--list")
    assert "forget about" in shown and "asked" in shown and str(datetime.now(UTC).year) in shown
