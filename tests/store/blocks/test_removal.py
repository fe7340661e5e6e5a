"""What is forgotten leaves nothing in blocks and dictionaries."""

import random
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.core.retention.tiering import TierOptions
from slowcat_memory.records import Forget
from slowcat_memory.store import Store
from slowcat_memory.store.blocks import block as blocks
from tests.harness.samples import at, turn
from tests.support.dictionary_blocks import pack_with_dictionary
from tests.support.tiered_stores import (
    SMALL,
    age,
    check_places,
    dictionaries,
    events,
    rows,
    say,
    traces,
)

# ------------------------------------------------------------------- forgetting


def test_removal_the_search_for_traces_finds_them_in_blocks_and_in_dictionaries(store, path):
    say(store, 300)
    age(store)
    pack_with_dictionary(store)
    found = traces(store, path, *range(1, 250))
    assert {number for number, _ in found} == set(range(1, 250))
    assert any(name.startswith("dictionary") for _, name in found), "else this proves nothing"


@pytest.mark.parametrize("dictionary", [False, True])
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
def test_removal_what_is_forgotten_leaves_no_trace_in_any_tier(open_store, path, what, dictionary):
    store = open_store()
    for n in range(1, 301):
        store.append(turn(n, session=f"s{n // 30}", speaker="bob" if n % 3 else "anna"))
    store.flush()
    before = {event.id: event for event in events(store)}
    age(store)
    trained = [pack_with_dictionary(store)] if dictionary else []
    gone = store.forget(what)
    assert gone.erased and gone.turns
    assert not store._cache._blocks, "nothing of it stays in memory"
    left = {event.id: event for event in events(store)}
    assert left == {n: event for n, event in before.items() if n not in gone.turns}
    assert traces(store, path, *gone.turns) == []
    check_places(store)
    tainted = any(set(d.made_from) & set(gone.turns) for d in trained)
    assert dictionaries(store) == ([] if tainted else trained)
    again = age(store)
    assert again.done
    assert traces(store, path, *gone.turns) == []
    assert {event.id: event for event in events(store)} == left
    check_places(store)
    assert dictionaries(store) == [], "no block needs one any more"
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


def test_removal_tier_mover_blocks_with_a_dictionary_are_read_and_packed_anew_without_it(
    open_store, path
):
    store = open_store()
    said = say(store, 300)
    age(store)
    trained = pack_with_dictionary(store)
    store.close()
    store = open_store()
    assert events(store) == said
    heads = [blocks.read_head(value) for value in rows(store, "cold").values()]
    assert {head.dictionary for head in heads} == {trained.number}
    with store.snapshot() as snapshot:
        assert snapshot.tiers()["cold"].memories == sum(head.turns for head in heads)
    stopped = age(store, stop=iter([False, False, True]).__next__)
    assert not stopped.done and dictionaries(store) == [trained], "some blocks still name it"
    assert events(store) == said
    assert age(store).done
    assert dictionaries(store) == []
    assert not any(blocks.read_head(row).dictionary for row in rows(store, "cold").values())
    assert events(store) == said
    check_places(store)
    again = age(store)
    assert (again.warmed, again.cooled) == (0, 0)


def test_removal_tier_mover_a_dictionary_may_get_the_number_of_a_deleted_one(open_store):
    store = open_store()
    said = say(store, 300)
    age(store)
    first = pack_with_dictionary(store)
    assert events(store) == said
    assert age(store).done and dictionaries(store) == []
    second = pack_with_dictionary(store, size=2048)
    assert second.number == first.number and second.data != first.data
    assert events(store) == said and not store.quarantined


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
