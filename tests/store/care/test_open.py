import os
import shutil
from functools import partial
from pathlib import Path

import lmdb
import pytest

from slowcat_memory.errors import StoreDamagedError, StoreError, StoreFormatError
from slowcat_memory.records import Forget, Vector, WriteBatch
from slowcat_memory.store import Store, restore
from slowcat_memory.store.care import health
from slowcat_memory.store.disk import codec, tables
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.folder import FRESH, data_file
from slowcat_memory.store.disk.page_reader import FORMAT
from slowcat_memory.store.disk.transaction import transact
from tests.harness import samples
from tests.harness.samples import memory, turn
from tests.support.memories import Look
from tests.support.tiered_stores import events, leave

PAGE = 4096


def fill(store, turns=120):
    for n in range(1, turns + 1):
        store.append(turn(n))
    made = tuple(memory(f"fact/{n}", text=samples.text(n)) for n in range(40))
    store.apply("j", WriteBatch(memories=made)).wait()


def test_open_a_new_store_says_so(open_store):
    store = open_store()
    assert store.opened.created
    assert not store.opened.unclean_stop
    assert Look(store).meta(tables.FORMAT_ROW) == FORMAT
    assert set(Look(store).counts()) == set(tables.NAMES)
    store.close()
    assert not open_store().opened.created


def test_open_leftovers_of_an_interrupted_swap_are_removed(open_store, path):
    open_store().close()
    (path / FRESH).write_bytes(b"half")
    (path / f"{FRESH}1").mkdir()
    open_store()
    assert not (path / FRESH).exists()
    assert not (path / f"{FRESH}1").exists()


def test_open_a_store_is_found_although_the_name_of_its_file_is_damaged(store, path):
    fill(store, 9)
    store.forget(Forget(turns=(1,)))
    store.close()
    (path / "CURRENT").write_bytes(b"../\xff")
    assert len(events(Store.open(path))) == 8


@pytest.mark.parametrize("tables", [False, True])
def test_open_a_founding_that_was_interrupted_is_not_damage(open_store, path, tables):
    path.mkdir(mode=0o700)
    (path / "running").touch(mode=0o600)
    if tables:
        Environment(path, map_size=1 << 24).close()
    else:
        lmdb.open(str(path), map_size=1 << 24, lib_version=0).close()
    store = open_store()
    assert store.opened.moved_aside is None
    assert store.append(turn(1)).id == 1


# ------------------------------------------------------------------- damage


@pytest.mark.parametrize("way", ["cut in half", "first page", "a turn's text", "a tree page"])
def test_open_recover_a_damaged_store_is_moved_aside_and_what_reads_is_carried_over(
    open_store, way
):
    store = open_store()
    fill(store)
    values = tuple(Vector(scope="anna", memory=f"fact/{n}", values=[0.5, 0.5]) for n in range(40))
    store.apply("j", WriteBatch(vectors=values, embedder="e"))
    store.forget(Forget(turns=(7,)))
    killed = leave(store)
    data = data_file(killed)
    spoil(data, way)
    spoilt = data.read_bytes()
    with Store.open(killed) as store:
        aside = store.opened.moved_aside
        assert aside is not None and aside.parent == killed
        assert (aside / "data.mdb").read_bytes() == spoilt
        here = events(store)
        assert len(here) == store.opened.salvaged
        assert all(event.text == samples.text(event.id) for event in here)
        assert 7 not in {event.id for event in here}
        if way == "a turn's text":
            assert len(here) == 118
            assert Look(store).session("s1").turns == 118
            known = {memory.id for memory in Look(store).memories("anna")}
            assert len(known) == 39, "one had the same words"
            assert {vector.memory for vector in Look(store).vectors("e", "anna")} == known
            assert store.append(turn(121)).id == 121
        store.append(turn(999)).wait(30)
        after = len(events(store))
    with Store.open(killed) as store:
        assert store.opened.moved_aside is None
        assert len(events(store)) == after
        store.forget(Forget(turns=(1,)))
        assert (aside / "data.mdb").read_bytes() == spoilt, "only a person deletes it"


def spoil(data: Path, way: str) -> None:
    body = bytearray(data.read_bytes())
    if way == "cut in half":
        del body[len(body) // 2 :]
    elif way == "first page":
        body[: 2 * PAGE] = bytes(2 * PAGE)
    elif way == "a turn's text":  # in each page: one that is no longer used may come first
        body = body.replace(samples.token(5).encode(), samples.token(6).encode())
    else:  # the leaves that a turn's short record lies in
        shortest = min(range(10, 100), key=lambda n: len(samples.text(n)))
        token = samples.token(shortest).encode()
        while (at := body.find(token) // PAGE * PAGE) >= 0:
            body[at : at + PAGE] = bytes(PAGE)
    data.write_bytes(body)


def test_open_recover_a_backup_that_holds_more_is_restored(open_store):
    store = open_store()
    fill(store)
    backup = store.backup()
    killed = leave(store)
    (killed / "data.mdb").write_bytes(b"\0" * 50_000)
    with Store.open(killed) as store:
        assert store.opened.restored_from.name == backup.name
        assert len(events(store)) == 120
        assert store.opened.salvaged == 0
        assert store.append(turn(121)).id == 121


@pytest.mark.parametrize("body", [b"", b"\0" * 10_000, os.urandom(30_000)])
def test_open_a_file_that_is_no_store_gives_an_empty_store(open_store, path, body):
    open_store().close()
    (path / "data.mdb").write_bytes(body)
    store = open_store()
    assert store.opened.moved_aside
    assert events(store) == []
    store.append(turn(1)).wait(30)


def test_open_reading_a_damaged_store_that_nobody_holds_is_an_error(open_store):
    store = open_store()
    fill(store)
    killed = leave(store)
    Store.open(killed, readonly=True).close()
    spoil(killed / "data.mdb", "a turn's text")
    with pytest.raises(StoreDamagedError, match="damaged"):
        Store.open(killed, readonly=True)


# ------------------------------------------------------------------- another format


@pytest.mark.parametrize("other", ["slowcat-99", 4])
def test_open_a_store_of_another_format_is_refused_and_left_as_it_is(open_store, path, other):
    store = open_store()
    fill(store)
    change = partial(transact, store._env, lambda tx: tx.set_meta(tables.FORMAT_ROW, other))
    store._writer.call(change)
    store.close()
    before = (path / "data.mdb").read_bytes()
    for readonly in (False, True):
        with pytest.raises(StoreFormatError, match="slowcat-memory export.*slowcat-memory import"):
            open_store(readonly=readonly)
    assert (path / "data.mdb").read_bytes() == before
    assert not (path / "running").exists()


@pytest.mark.parametrize("version", [1, 2], ids=["envelope", "newer envelope"])
def test_open_another_format_is_not_taken_for_damage(open_store, tmp_path, version):
    store = open_store()
    other = bytearray(codec.encode_meta(b"schema", "slowcat-99"))
    other[0] = version
    change = codec.name_key(tables.FORMAT_ROW), bytes(other)
    store._writer.call(lambda: transact(store._env, lambda tx: tx.put("meta", *change)))
    killed = leave(store)
    with pytest.raises(StoreFormatError):
        Store.open(killed)
    with pytest.raises(StoreFormatError):
        restore(tmp_path / "new", killed)
    assert not list(killed.glob("corrupt-*"))


# ------------------------------------------------------------------- backups


def test_open_backups_are_read_before_they_get_their_name(store, tmp_path, monkeypatch):
    fill(store)
    kept = store.backup(tmp_path / "kept.mdb")
    with pytest.raises(StoreError, match="exists"):
        store.backup(kept)
    monkeypatch.setattr(health, "is_whole", lambda file: False)
    with pytest.raises(StoreDamagedError):
        store.backup(tmp_path / "bad.mdb")
    assert {file.name for file in tmp_path.iterdir()} == {"kept.mdb", "store"}
    copy = tmp_path / "copy"
    copy.mkdir(mode=0o700)
    shutil.copy(kept, copy / "data.mdb")
    with Store.open(copy) as restored:
        assert events(restored) == events(store)
