"""why: what came to mind at a turn."""

import pytest
from msgspec.structs import replace

from slowcat_memory.cli.look import WORDS, verdicts
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import LedgerEntry, LeftOut, Offer
from slowcat_memory.runtime.recall.query import LeftOutReason
from slowcat_memory.testing import FixedClock, memory_config


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


@pytest.mark.parametrize("columns", [80, 120])
def test_why_the_tables_fit_the_terminal(asked, monkeypatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = asked.ok("why")
    assert max(len(line) for line in text.splitlines()) <= columns
    words = {word for line in text.splitlines() for word in line.split()}
    assert {"dog", "[bold]everything[/]."} <= words and "…" not in text


def test_why_every_reason_has_words() -> None:
    assert {str(reason) for reason in LeftOutReason} <= WORDS.keys()


def test_why_a_row_in_order_and_words_of_reasons_nobody_knows() -> None:
    row = LedgerEntry(
        turn=1, scope="a", session="s", at=FixedClock()(), visible=("chunk/9",),
        offers=(Offer("chunk/1", 0.5),),
        left_out=(LeftOut("chunk/2", "mysterious", 0.7), LeftOut("chunk/3", "share", 0.1)),
    )  # fmt: skip
    told = [(one.memory, one.words) for one in verdicts(row)]
    assert told == [
        ("chunk/2", "mysterious"),
        ("chunk/1", "offered"),
        ("chunk/3", "much weaker than the best"),
        ("chunk/9", "still in the context"),
    ]
