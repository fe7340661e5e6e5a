"""What a doctor sees, and what is mended."""

import numpy as np
import pytest
from msgspec.structs import replace

from slowcat_memory.records import Forget, Vector, WriteBatch
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.store.care import open as opening
from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.transaction import transact
from tests.harness.samples import at, memory, turn
from tests.harness.thinking import think
from tests.support.memories import Look


@pytest.fixture
def filled(store: Store) -> Store:
    for n in range(1, 6):
        store.append(turn(n))
        think(store, n)
    store.apply("j", WriteBatch(memories=(memory("fact/1?"),))).wait()
    return store


def change(store: Store, table: str, key: bytes, value: bytes | None) -> None:
    def write(tx) -> None:
        tx.drop(table, key) if value is None else tx.put(table, key, value)

    store._writer.call(lambda: transact(store._env, write))


def test_health_a_sound_store_has_nothing_to_complain_of(filled, path):
    found = filled.health()
    assert (found.damaged, found.aside) == ({}, ())
    assert not (found.scarce or found.bloated) and 0 < found.live_bytes <= found.file_bytes
    assert found.backup_at is None
    assert filled.repair() == {}
    filled.close()
    with Store.open(path, readonly=True) as reader:
        seen = reader.health()
    assert seen == replace(found, disk_free_bytes=seen.disk_free_bytes)


def test_health_it_knows_the_latest_backup(open_store, tmp_path):
    store = open_store(now=lambda: at())
    store.backup()
    assert store.health().backup_at == at()
    kept = store.backup(tmp_path / "kept.mdb")
    assert store.health().backup == kept
    kept.unlink()
    assert store.health().backup_at is None


def test_health_deleted_text_and_free_pages_are_told_of(filled, path):
    for n in range(6, 1200):
        filled.append(turn(n))
    filled.forget(Forget(since=at(2.5)), erase=False)
    assert filled.health().bloated
    assert filled.erase()
    assert not filled.health().bloated


def test_health_a_recovery_leaves_no_vector_of_what_is_lost(filled):
    for embedder, id in (("e", "fact/9"), ("e", "fact/9?q"), ("e", "chunk/3?no"), ("x", "chunk/1")):
        key = codec.vector_key(embedder, "anna", id)
        row = Vector(scope="anna", memory=id, values=np.ones(2, np.float32))
        change(filled, "vectors", key, codec.encode_vector(key, row))
    before = Look(filled).counts()["vectors"]
    filled._writer.call(lambda: transact(filled._env, lambda tx: opening._rebuild(tx, at())))
    assert Look(filled).counts()["vectors"] == before - 4
    assert len(Look(filled).vectors("e", "anna")) == 5


def test_health_rows_that_do_not_read_back_are_counted_and_only_derived_ones_go(filled):
    change(filled, "contexts", codec.scoped_key("anna", "chunk/2"), b"nonsense")
    change(filled, "log", codec.id_key(4), b"nonsense, but 20 bytes")
    assert filled.health().damaged == {"contexts": 1, "log": 1}
    change(filled, "keys", codec.scoped_key("anna", "chunk/2?q"), b"nonsense")
    key = codec.vector_key("e", "anna", "chunk/2?q")
    change(filled, "vectors", key, codec.seal(key))
    assert filled.repair() == {"contexts": 1, "keys": 1}
    with filled.snapshot() as snapshot:
        assert snapshot._rows.get("vectors", key) is None
    assert filled.health().damaged == {"log": 1}


def test_health_a_full_disk_is_told_of(open_store):
    options = StoreOptions(map_size_gib=1 / 16, min_free_mb=10**9)
    assert open_store(options=options).health().scarce
