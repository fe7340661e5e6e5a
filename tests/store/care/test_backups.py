"""Backups: their order, and crafted ones, which are refused."""

import struct
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowcat_memory.errors import StoreError
from slowcat_memory.store import Store, StoreOptions, backups_of, restore
from slowcat_memory.store.care.backups import next_backup
from slowcat_memory.store.care.copy import noted, remove_drafts
from slowcat_memory.store.disk import codec, keys, tables
from slowcat_memory.store.disk.envelope import FORMAT
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.transaction import Transaction, transact
from tests.harness.samples import turn
from tests.support.memories import Look, ids

# ------------------------------------------------------------------- backups are ordered by a counter, whatever the clock said when they were made

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
OPTIONS = StoreOptions(map_size_gib=1 / 16, backups_keep=3)


def test_backups_one_made_after_the_clock_was_ahead_is_the_newest_and_stays(path):
    times = [NOW.replace(year=2027)] * 3 + [NOW]
    with Store.open(path, options=OPTIONS, now=lambda: times[0]) as store:
        made = []
        for _ in range(4):
            made.append(store.backup())
            times.pop(0) if len(times) > 1 else None
    assert [backup.file for backup in backups_of(path)] == made[1:]
    assert made[-1].exists() and [backup.number for backup in backups_of(path)] == [2, 3, 4]


def test_backups_a_damaged_store_is_recovered_from_the_newest_by_the_counter(path):
    clock = [NOW.replace(year=2027)]
    with Store.open(path, options=OPTIONS, now=lambda: clock[0]) as store:
        store.append(turn(1)).wait()
        store.backup()
        store.append(turn(2)).wait()
        clock[0] = NOW
        newest = store.backup()
    (path / "data.mdb").write_bytes(b"\0" * 8192)
    (path / "running").touch()
    with Store.open(path, options=OPTIONS, now=lambda: NOW) as store:
        assert store.opened.restored_from == newest


def test_backups_those_of_earlier_versions_are_older_than_numbered_ones(path):
    folder = path / "backups"
    folder.mkdir(parents=True)
    for name in ("20290101T000000.000000Z.mdb", "20250101T000000.000000Z-schema3.mdb"):
        (folder / name).touch()
    assert [backup.number for backup in backups_of(path)] == [0, 0]
    numbered = next_backup(path, NOW)
    numbered.touch()
    found = backups_of(path)
    assert found[-1].file == numbered and found[-1].at == NOW
    assert [backup.at.year for backup in found] == [2025, 2029, 2026]


def test_backups_a_copy_is_no_backup(path, tmp_path):
    with Store.open(path, options=OPTIONS) as store:
        store.append(turn(1)).wait()
        store.copy(tmp_path / "copy.mdb")
        assert backups_of(path) == [] and not (path / "last-backup").exists()


def test_drafts_a_file_that_is_created_after_a_forget_is_still_known(tmp_path):
    folder, draft = tmp_path / "store", tmp_path / "chat.txt.unfinished"
    folder.mkdir()
    with noted(folder, draft):
        remove_drafts(folder, running=True)  # a forget, before the file exists
        draft.write_text("My dog is called Max.")
        assert remove_drafts(folder, running=True) == [] and not draft.exists()  # the next forget
        draft.write_text("My dog is called Max.")
    assert draft.exists(), "its writer has finished"


def test_drafts_a_living_writer_keeps_its_file_at_an_opening(tmp_path):
    folder, draft = tmp_path / "store", tmp_path / "chat.txt.unfinished"
    folder.mkdir()
    with noted(folder, draft):
        draft.write_text("My dog is called Max.")
        remove_drafts(folder, running=False)
        assert draft.exists()


# ------------------------------------------------------------------- A crafted backup is refused with an error of ours, and never poisons a store

SMALL = StoreOptions(map_size_gib=1 / 16)
Craft = Callable[[Transaction], None]


def meta(name: str, value: object) -> Craft:
    return lambda tx: tx.set_meta(name, value)


def no_meta(name: str) -> Craft:
    return lambda tx: tx.drop("meta", keys.name_key(name))


def row(table: str, key: bytes) -> Craft:
    return lambda tx: tx.put(table, key, codec.seal(key))


CRAFTED = {
    "format is a list": meta(tables.FORMAT_ROW, [FORMAT]),
    "no format": no_meta(tables.FORMAT_ROW),
    "next_id is a text": meta(tables.NEXT_ID, "many"),
    "next_id is the last number": meta(tables.NEXT_ID, 2**64 - 1),
    "next_id is beyond the numbers": meta(tables.NEXT_ID, 2**70),
    "no next_id": no_meta(tables.NEXT_ID),
    "created is a number": meta(tables.CREATED, 17),
    "epoch is a text": meta(tables.EPOCH, "x"),
    "embedders is a text": meta(tables.EMBEDDERS, "x"),
    "a short key in the log": row("log", b"abc"),
    "a long key in the log": row("log", b"0123456789"),
    "the last id in the log": row("log", struct.pack(">Q", 2**64 - 1)),
    "a ledger row without a number": row("ledger", b"x"),
    "an id that is no number": row("log_by_scope", b"anna\0x"),
}


@pytest.fixture
def backup(store: Store, tmp_path: Path) -> Path:
    store.append(turn(1)).wait()
    return store.backup(tmp_path / "kept.mdb")


def craft(backup: Path, folder: Path, change: Craft) -> Path:
    """Write a change into a copy of a backup, with valid checksums."""
    folder.mkdir()
    (folder / "data.mdb").write_bytes(backup.read_bytes())
    env = Environment(folder, map_size=1 << 26)
    transact(env, change)
    env.close()
    return folder / "data.mdb"


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_backup_is_refused_and_the_store_is_as_before(
    store, backup, path, tmp_path, name
):
    crafted = craft(backup, tmp_path / "crafted", CRAFTED[name])
    store.append(turn(2)).wait()
    store.close()
    with pytest.raises(StoreError):
        restore(path, crafted, options=SMALL)
    with Store.open(path, options=SMALL) as again:
        assert ids(Look(again).turns()) == [1, 2]
        assert again.append(turn(3)).id == 3
    assert restore(path, backup, options=SMALL).events == 1


def test_a_store_with_a_poisoned_counter_appends_and_is_healed_by_a_good_backup(
    store, backup, path
):
    store._writer.call(lambda: transact(store._env, meta(tables.NEXT_ID, 2**64 - 1)))
    store.close()
    with Store.open(path, options=SMALL) as again:
        ack = again.append(turn(2))
        ack.wait()
        assert ack.id == 2
    restore(path, backup, options=SMALL)
    with Store.open(path, options=SMALL) as healed:
        ack = healed.append(turn(3))
        ack.wait()
        assert ack.id == 3
