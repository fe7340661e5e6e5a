import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core import retention as tiering
from slowcat_memory.core.retention import Aging, Row, TierOptions, cooling, share

DAY = 86_400.0
NOW = 1000 * DAY


def test_tiering_tiers_have_the_sizes_of_the_requirements():
    assert (tiering.HOT, TierOptions().warm) == (200, 500)


rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(1, 500)), max_size=60
).map(lambda made: [Row(n, session, size) for n, (session, size) in enumerate(made, 1)])  # fmt: skip


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
