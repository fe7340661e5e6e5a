"""Damaged blocks, and copies of a store with tiers."""

import shutil

import pytest

from slowcat_memory.core.retention import TierOptions
from slowcat_memory.records import Forget
from slowcat_memory.store import Store, data_file
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.transaction import transact
from tests.harness.samples import turn
from tests.support.tiered_stores import (
    SMALL,
    age,
    block_of,
    check_places,
    events,
    every_block,
    rows,
    say,
    spoil,
)

# ------------------------------------------------------------------- damage, copies


@pytest.mark.parametrize("table", ["warm", "cold"])
def test_recover_a_damaged_block_loses_only_itself(open_store, path, tmp_path, table):
    store = open_store()
    said = say(store, 300)
    age(store)
    number = sorted(rows(store, table))[1]
    ids = every_block(store)[number].ids
    rest = [event for event in said if event.id not in ids]
    spoil(store, table, number)
    assert events(store) == rest
    assert (table, keys.id_key(number)) in store.quarantined
    with store.snapshot() as snapshot:
        assert snapshot.turn(ids[0]) is None
    shutil.copytree(path, tmp_path / "killed")
    store.close()
    with Store.open(tmp_path / "killed", options=SMALL) as mended:
        assert mended.opened.moved_aside, "the canary sees it"
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


def test_recover_forgetting_what_waits_for_its_block_does_not_stop_the_round(store, monkeypatch):
    monkeypatch.setattr("slowcat_memory.store.tier_mover.SLICE", 40)
    say(store, 200, session=lambda n: f"s{n % 7}")
    asked = []

    def forget_some():
        asked.append(True)
        if len(asked) == 3:
            store.forget(Forget(turns=tuple(range(30, 42))), erase=False)
        return False

    while not age(store, stop=forget_some).done:
        assert len(asked) < 200
    check_places(store)
    assert [e.id for e in events(store)] == [*range(1, 30), *range(42, 201)]


def test_recover_salvage_mends_what_points_to_blocks(open_store, path, tmp_path):
    store = open_store()
    said = say(store, 300)
    age(store)
    block = every_block(store)[min(rows(store, "warm"))]
    spoil(store, "places", block.ids[2])
    raw = codec.seal(keys.id_key(9), every_block(store)[block_of(store, 9)].body(9))
    store._writer.call(lambda: transact(store._env, lambda e: e.put("log", keys.id_key(9), raw)))
    shutil.copytree(path, tmp_path / "killed")
    store.close()
    with Store.open(tmp_path / "killed", options=SMALL) as mended:
        assert events(mended) == said
        check_places(mended)
        assert age(mended).done
        check_places(mended)
        assert events(mended) == said


def test_recover_backup_copies_carry_every_tier(store, tmp_path):
    said = say(store, 300)
    age(store)
    kept = store.backup(tmp_path / "kept.mdb")
    copy = tmp_path / "copy"
    copy.mkdir(mode=0o700)
    shutil.copy(kept, copy / "data.mdb")
    with Store.open(copy, options=SMALL) as restored:
        assert events(restored) == said
        check_places(restored)


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
