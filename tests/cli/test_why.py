"""why and replay: what came to mind at a turn, then and now."""

import pytest
from msgspec.structs import replace

from slowcat_memory.cli.look import WORDS
from slowcat_memory.core.ranking.offering import LeftOutReason
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import memory_config


@pytest.fixture
def asked(filled):
    """The store after a recall for turn 8, of which one hit was offered."""
    engine = MemoryEngine(memory_config(filled.store))
    with engine.store.snapshot() as snapshot:
        turn = replace(snapshot.turn(7), text="What does Max eat?")
    found = engine.search("what is the dog Max called, and what does he eat", "user", 3)
    engine.note_recall(turn, found, Packed("block", tuple(found.hits[:1]), 42))
    engine.close()
    return filled


def test_why_what_was_left_out_is_told_with_its_reason(asked) -> None:
    text = asked.ok("why")
    assert "turn 7" in text and "Ben: We moved to Lisbon." in text
    assert "offered" in text and "no room in the block" in text
    assert "stage lexical (by words alone" in text and "candidates" in text
    found = asked.json("why")
    first, *left = found["weighed"]
    assert first["verdict"] == "offered" and {one["verdict"] for one in left} == {"room"}
    assert {one["memory"] for one in left} <= found["memories"].keys()
    assert found["asked"] == "We moved to Lisbon."


def test_why_every_reason_has_words() -> None:
    assert {str(reason) for reason in LeftOutReason} <= WORDS.keys()


def test_why_replay_shows_then_and_now_side_by_side(asked) -> None:
    text = asked.ok("replay", "--turn", "7")
    assert "then" in text and "now" in text and "Ben: We moved to Lisbon." in text
    assert text.count("stage lexical") == 2
    found = asked.json("replay", "--turn", "7")
    assert found["turn"]["id"] == 7 and found["then"][0]["verdict"] == "offered"
    assert not {"chunk/7", "chunk/8"} & {one["memory"] for one in found["now"]}
