"""A crafted backup is refused with an error of ours, and never poisons a store."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from slowcat_memory.errors import StoreDamagedError, StoreError
from slowcat_memory.store import Store, StoreOptions, restore
from slowcat_memory.store.disk import codec, keys, tables
from slowcat_memory.store.disk.envelope import FORMAT
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.transaction import Transaction, transact
from tests.harness.samples import turn

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
    store: Store, backup: Path, path: Path, tmp_path: Path, name: str
) -> None:
    crafted = craft(backup, tmp_path / "crafted", CRAFTED[name])
    store.append(turn(2)).wait()
    store.close()
    with pytest.raises(StoreError):
        restore(path, crafted, options=SMALL)
    with Store.open(path, options=SMALL) as again:
        with again.snapshot() as snapshot:
            assert [one.id for one in snapshot.turns()] == [1, 2]
        assert again.append(turn(3)).id == 3
    assert restore(path, backup, options=SMALL).events == 1


def test_a_store_with_a_poisoned_counter_appends_and_is_healed_by_a_good_backup(
    store: Store, backup: Path, path: Path
) -> None:
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


def test_what_unexpected_content_leads_to_is_an_error_of_ours() -> None:
    from slowcat_memory.store.care.backups import errors_of

    for error in (KeyError("x"), struct.error("x"), TypeError("x"), ValueError("x")):
        with pytest.raises(StoreDamagedError, match=r"kept\.mdb"), errors_of("kept.mdb"):
            raise error
