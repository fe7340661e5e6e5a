"""What is forgotten leaves nothing in blocks."""

import random
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.core.retention import TierOptions
from slowcat_memory.records import Forget
from slowcat_memory.store import Store, blocks
from tests.harness.samples import at, turn
from tests.support.tiered_stores import (
    SMALL,
    age,
    check_places,
    events,
    say,
    traces,
)

# ------------------------------------------------------------------- forgetting


def test_removal_the_search_for_traces_finds_them_in_blocks(store, path):
    say(store, 300)
    age(store)
    found = traces(store, path, *range(1, 250))
    assert {number for number, _ in found} == set(range(1, 250)), "else this proves nothing"


@pytest.mark.parametrize(
    "what",
    [
        Forget(turns=(3,)),
        Forget(turns=(1, 120, 240, 285, 300)),
        Forget(session="s3"),
        Forget(speaker="anna"),
        Forget(since=at(40), until=at(90)),
        Forget(scope="anna", everything=True),
        Forget(everything=True),
    ],
)
def test_removal_what_is_forgotten_leaves_no_trace_in_any_tier(open_store, path, what):
    store = open_store()
    for n in range(1, 301):
        store.append(turn(n, session=f"s{n // 30}", speaker="bob" if n % 3 else "anna"))
    store.flush()
    before = {event.id: event for event in events(store)}
    age(store)
    gone = store.forget(what)
    assert gone.erased and gone.turns
    assert not store._cache._blocks, "nothing of it stays in memory"
    left = {event.id: event for event in events(store)}
    assert left == {n: event for n, event in before.items() if n not in gone.turns}
    assert traces(store, path, *gone.turns) == []
    check_places(store)
    again = age(store)
    assert again.done
    assert traces(store, path, *gone.turns) == []
    assert {event.id: event for event in events(store)} == left
    check_places(store)
    store.close()
    assert {event.id: event for event in events(open_store())} == left


def test_removal_forgetting_while_a_block_is_packed_ends_the_round(store, path, monkeypatch):
    say(store, 300)
    real = blocks.lz4_row

    def forget_first(*given):
        monkeypatch.setattr(blocks, "lz4_row", real)
        store.forget(Forget(turns=(2,)))
        return real(*given)

    monkeypatch.setattr(blocks, "lz4_row", forget_first)
    stopped = age(store)
    assert not stopped.done
    assert traces(store, path, 2) == []
    assert age(store).done
    assert traces(store, path, 2) == []
    assert [event.id for event in events(store)] == [1, *range(3, 301)]
    check_places(store)


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(20, 90))
def test_removal_ageing_and_forgetting_in_any_order(rng: random.Random, count: int):
    options = TierOptions(
        warm=rng.choice([0, 6, 30]),
        block_exchanges=rng.choice([1, 3]),
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with Store.open(path, options=SMALL) as store:
            model = {}
            for step in range(4):
                for _ in range(count // 4):
                    n = store.append(turn(0)).id + 1
                    model[n - 1] = None
                    name = f"s{rng.randrange(3)}"
                    kept = store.append(turn(n, session=name, at=at(n) + timedelta(days=step)))
                    assert kept.id == n
                    model[n] = kept.event
                store.flush()
                model = {event.id: event for event in events(store) if event.id in model}
                store.age("anna", hot=rng.choice([0, 9]), options=options)
                if rng.random() < 0.7:
                    away = rng.sample(sorted(model), min(len(model), rng.randint(1, 9)))
                    gone = store.forget(Forget(turns=tuple(away))).turns
                    assert set(gone) == set(away)
                    model = {n: event for n, event in model.items() if n not in gone}
                    texts = [n for n in away if n % 2 == 0]
                    assert traces(store, path, *texts) == []
                assert {event.id: event for event in events(store)} == model
                check_places(store)
