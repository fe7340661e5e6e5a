"""What holds a turn, and how events are shared among blocks."""

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.retention import (
    EventRow,
    RetentionOptions,
    TierOptions,
    held,
    share,
)
from slowcat_memory.records import Memory
from tests.support.rows import each_listed
from tests.support.said import memory

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
