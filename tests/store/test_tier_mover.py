"""Tiers change how texts are kept, never what is read: also when damaged, copied or forgotten."""

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.core.retention import TierOptions
from slowcat_memory.records import Forget, LedgerEntry, Offer, WriteBatch
from slowcat_memory.store import Store, blocks, data_file
from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.transaction import transact
from tests.harness.samples import at, edge, memory, turn
from tests.support.memories import Look
from tests.support.rows import cases
from tests.support.tiered_stores import (
    SMALL,
    TIERS,
    age,
    block_of,
    check_places,
    events,
    every_block,
    leave,
    rows,
    say,
    spoil,
    traces,
    wished,
)

# ------------------------------------------------------------------- tiers change how texts are kept, never what is read


def test_tier_mover_everything_reads_as_before(open_store):
    store = open_store()
    store.append(edge(session="s0"))
    said = [store.append(edge(session="s0")).event, *say(store, 300)]
    before, sessions = events(store), Look(store).sessions()
    aged = age(store)
    assert aged.done
    assert aged.warmed >= 270 and aged.cooled >= 240
    assert events(store) == before
    assert events(store, scope="anna", after=50, upto=99) == before[50:99]
    assert Look(store).sessions() == sessions
    assert [Look(store).turn(event.id) for event in said[1:]] == said[1:]
    counts = Look(store).counts()
    assert counts["log"] + counts["places"] == counts["log_by_scope"] == 302
    check_places(store)
    store.close()
    with open_store(readonly=True) as readonly:
        assert events(readonly) == before
    assert events(open_store()) == before


def test_tier_mover_tiers_hold_what_their_sizes_say(store):
    say(store, 300)
    age(store)
    tiers = Look(store).tiers()
    assert list(tiers) == ["hot", "warm", "cold"]
    assert sum(held.memories for held in tiers.values()) == 300
    assert 10 <= tiers["hot"].memories <= 10 + 2 * TIERS.block_exchanges
    assert 12 <= tiers["warm"].memories <= 20
    assert tiers["cold"].blocks == len(rows(store, "cold")) > 30


def test_tier_mover_a_second_round_has_nothing_to_do_and_later_turns_follow(store):
    say(store, 100)
    age(store)
    packed = rows(store, "log"), rows(store, "cold")
    again = age(store)
    assert (again.warmed, again.cooled) == (0, 0)
    assert (rows(store, "log"), rows(store, "cold")) == packed
    for n in range(101, 161):
        store.append(turn(n, session=f"s{n // 30}"))
    store.flush()
    assert age(store).warmed >= 50
    check_places(store)
    assert Look(store).tiers()["hot"].memories <= 10 + 2 * TIERS.block_exchanges


def test_tier_mover_sessions_that_go_on_wait_until_a_block_is_full(store):
    say(store, 60, session=lambda n: f"s{n % 3}")
    age(store)
    sizes = [len(block.ids) for block in every_block(store).values()]
    assert set(sizes) == {2 * TIERS.block_exchanges}
    assert {b.head.session for b in every_block(store).values()} == {"s0", "s1", "s2"}
    for n in range(61, 100):
        store.append(turn(n, session="s9"))
    store.flush()
    age(store)
    check_places(store)
    assert all(n > 60 or n in {i for b in every_block(store).values() for i in b.ids}
               for n in range(1, 61))  # fmt: skip


def test_tier_mover_many_sessions_at_once_do_not_hold_each_other_up(store, monkeypatch):
    monkeypatch.setattr("slowcat_memory.store.tier_mover.SLICE", 8)
    say(store, 200, session=lambda n: f"s{n % 20}")
    assert age(store).done
    check_places(store)
    assert len(every_block(store)) >= 20


def test_tier_mover_other_namespaces_are_left_alone(store):
    say(store, 50)
    say(store, 50, scope="bob", session=lambda n: "b")
    age(store)
    assert {block.head.scope for block in every_block(store).values()} == {"anna"}
    store.age("bob", hot=0, options=TIERS)
    assert {block.head.scope for block in every_block(store).values()} == {"anna", "bob"}
    assert store.age("nobody").done


def test_tier_mover_it_stops_between_two_transactions_and_goes_on_later(store):
    before = say(store, 300)
    asked = iter([False] * 3 + [True] * 100)
    stopped = age(store, stop=lambda: next(asked))
    assert not stopped.done and 0 < stopped.warmed < 290
    check_places(store)
    assert events(store) == before
    assert age(store).done
    assert events(store) == before
    check_places(store)


def test_tier_mover_pinned_and_recalled_blocks_stay_warm_longer(store):
    say(store, 120)
    age(store, options=TierOptions(block_exchanges=4, warm=1000))
    pinned = memory("chunk/5", sources=(5,), pinned=True)
    store.apply("person", WriteBatch(memories=(pinned,))).wait()
    for n in (30, 31, 32):
        offers = (Offer("chunk/50", 0.5),)
        store.write_ledger(LedgerEntry(turn=n, scope="anna", session="s", at=at(n), offers=offers))
    store.flush()
    age(store, options=TierOptions(block_exchanges=4, warm=24), now=at(1000))
    warm = {id for n in rows(store, "warm") for id in every_block(store)[n].ids}
    assert {5, 50} <= warm
    assert 10 not in warm and 90 not in warm


# ------------------------------------------------------------------- what is forgotten leaves nothing in blocks


def test_removal_the_search_for_traces_finds_them_in_blocks(store, path):
    say(store, 300)
    age(store)
    found = traces(store, path, *range(1, 250))
    assert {number for number, _ in found} == set(range(1, 250)), "else this proves nothing"


@cases("store/forget.jsonl")
def test_removal_what_is_forgotten_leaves_no_trace_in_any_tier(open_store, path, what):
    store = open_store()
    for n in range(1, 301):
        store.append(turn(n, session=f"s{n // 30}", speaker="bob" if n % 3 else "anna"))
    store.flush()
    before = {event.id: event for event in events(store)}
    age(store)
    gone = store.forget(wished(what))
    assert gone.erased and gone.turns
    assert not store._read_block.cache_info().currsize, "nothing of it stays in memory"
    left = {event.id: event for event in events(store)}
    assert left == {n: event for n, event in before.items() if n not in gone.turns}
    assert traces(store, path, *gone.turns) == []
    check_places(store)
    assert age(store).done
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
    assert not age(store).done
    assert traces(store, path, 2) == []
    assert age(store).done
    assert traces(store, path, 2) == []
    assert [event.id for event in events(store)] == [1, *range(3, 301)]
    check_places(store)


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(20, 90))
def test_removal_ageing_and_forgetting_in_any_order(rng, count):
    options = TierOptions(warm=rng.choice([0, 6, 30]), block_exchanges=rng.choice([1, 3]))
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


# ------------------------------------------------------------------- damaged blocks, and copies of a store with tiers


@pytest.mark.parametrize("table", ["warm", "cold"])
def test_recover_a_damaged_block_loses_only_itself(open_store, table):
    store = open_store()
    said = say(store, 300)
    age(store)
    number = sorted(rows(store, table))[1]
    ids = every_block(store)[number].ids
    rest = [event for event in said if event.id not in ids]
    spoil(store, table, number)
    assert events(store) == rest
    assert (table, codec.id_key(number)) in store.quarantined
    assert Look(store).turn(ids[0]) is None
    with Store.open(leave(store), options=SMALL) as mended:
        assert mended.opened.moved_aside, "the check sees it"
        assert events(mended) == rest
        check_places(mended)
        assert mended.append(turn(301)).id == 301
        assert age(mended).done
        assert events(mended)[:-1] == rest


def test_recover_a_damaged_block_does_not_keep_the_others_from_ageing(store):
    said = say(store, 300)
    age(store, options=TierOptions(block_exchanges=4, warm=1000))
    number = sorted(rows(store, "warm"))[1]
    ids = every_block(store)[number].ids
    spoil(store, "warm", number)
    assert age(store).cooled > 200
    assert list(rows(store, "warm"))[0] == number
    assert events(store) == [event for event in said if event.id not in ids]


def test_recover_salvage_mends_what_points_to_blocks(open_store):
    store = open_store()
    said = say(store, 300)
    age(store)
    block = every_block(store)[min(rows(store, "warm"))]
    spoil(store, "places", block.ids[2])
    raw = codec.seal(codec.id_key(9), every_block(store)[block_of(store, 9)].body(9))
    store._writer.call(lambda: transact(store._env, lambda e: e.put("log", codec.id_key(9), raw)))
    with Store.open(leave(store), options=SMALL) as mended:
        assert events(mended) == said
        check_places(mended)
        assert age(mended).done
        check_places(mended)
        assert events(mended) == said


def test_recover_shrinking_gives_back_what_rows_left_behind(store, path):
    for n in range(1, 1500):
        store.append(
            turn(n, text=f"we went to the lake again, number {n} " * 8, session=f"s{n // 40}")
        )
    store.flush()
    before = events(store)
    assert not store.shrink(), "nothing to be gained yet"
    age(store)
    size = (path / "data.mdb").stat().st_size
    assert store.shrink()
    assert data_file(path).stat().st_size < 0.6 * size
    assert not store.shrink()
    assert events(store) == before
