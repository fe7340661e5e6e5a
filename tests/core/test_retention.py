"""Importance by words, use and pins; what holds a turn; and which blocks cool."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core import retention
from slowcat_memory.core.retention import (
    Aging,
    EventRow,
    RetentionOptions,
    TierOptions,
    cooling,
    held,
    share,
)
from slowcat_memory.records import Memory
from tests.support.rows import cases, each_listed
from tests.support.said import memory

DAY = 86_400.0
NOW = 1000 * DAY


@cases("rules/importance.jsonl")
def test_importance_of_words(text, adds):
    assert retention.importance_of_words(text) == pytest.approx(0.5 + adds)


def test_importance_use_score_fades_and_never_outweighs_a_pin():
    once = retention.use_score([NOW], NOW)
    assert once == 1.0
    assert retention.use_score([NOW - 14 * DAY], NOW) == pytest.approx(0.5)
    assert retention.use_score([NOW + DAY], NOW) == 1.0, "a clock that was set back"
    assert retention.use_score([], NOW) == 0.0
    much = retention.importance(0.5, 1e9, pinned=False)
    assert 0.5 < retention.importance(0.5, once, pinned=False) < much < 1.0
    assert retention.importance(0.0, 0.0, pinned=True) == 1.0


# ------------------------------------------------------------------- what holds a turn


def made(kind: str, *sources: int, **fields: object) -> Memory:
    return memory(kind, "words", sources=sources, **fields)


@each_listed("rules/retention.jsonl")
def test_lasting_memories_hold_their_turns(kind, sources, fields, turns):
    assert held([made(kind, *sources, **fields)], RetentionOptions()) - {0} == set(turns)


def test_facts_hold_no_turns_where_evidence_is_not_kept() -> None:
    facts = [made("fact/preference", 1), made("note", 2)]
    assert held(facts, RetentionOptions(keep_evidence=False)) - {0} == {2}


# ------------------------------------------------------------------- tiers

rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(1, 500)), max_size=60
).map(lambda made: [EventRow(n, session, size) for n, (session, size) in enumerate(made, 1)])  # fmt: skip


@given(rows, st.sets(st.sampled_from("abc")), st.integers(1, 4), st.integers(100, 2000))
def test_share_puts_every_event_in_one_block_or_lets_it_wait(events, unfinished, exchanges, most):
    options = TierOptions(block_exchanges=exchanges, block_bytes=most)
    blocks, waiting = share(events, unfinished, options)
    assert sorted([id for block in blocks for id in block] + waiting) == [e.id for e in events]
    by_id = {event.id: event for event in events}
    for block in blocks:
        assert len({by_id[id].session for id in block}) == 1
        assert block == sorted(block)
        assert len(block) <= 2 * exchanges
        assert len(block) == 1 or sum(by_id[id].size for id in block) <= most
    assert {by_id[id].session for id in waiting} <= unfinished


def block(number, **given):
    return Aging(**{"block": number, "turns": 10, "at": NOW - number * DAY, **given})


@pytest.mark.parametrize("matters", [{"words": 0.9}, {"use": 3.0}, {"pinned": True}])
def test_cooling_counts_important_blocks_as_younger(matters):
    assert cooling([block(1), block(9, **matters)], 10, NOW) == [1]
    old = [block(1), block(400, **matters)]
    assert cooling(old, 10, NOW) == ([1] if "pinned" in matters else [400]), "not for ever"
    assert cooling(old, 0, NOW) == ([1, 400] if "pinned" in matters else [400, 1])
