"""Backups: their order, made while others write, restored without what is forgotten, or refused."""

import random
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slowcat_memory.errors import StoreDamagedError, StoreError
from slowcat_memory.records import CommandEntry, Forget, WriteBatch
from slowcat_memory.store import Store, StoreOptions, backups_of, restore
from slowcat_memory.store.care.copies import noted, remove_drafts
from tests.harness.samples import at, memory, token, traces, turn
from tests.harness.thinking import think
from tests.support.memories import Look
from tests.support.other_process import printed_by

SMALL = StoreOptions(map_size_gib=1 / 16)


def fill(store: Store, upto: int, since: int = 1) -> None:
    for n in range(since, upto + 1):
        store.append(turn(n))
        store.apply("j", WriteBatch(memories=(memory(f"fact/{n}", sources=(n,)),)))
        think(store, n)
    store.apply("j", WriteBatch(memories=(memory("note/1", text=token(999)),))).wait()


def turns(path: Path) -> dict[int, str]:
    with Store.open(path, readonly=True, options=SMALL) as store, store.snapshot() as snapshot:
        return {one.id: one.text for one in snapshot.turns()}


def put_back(path: Path, file: Path, **given: object):
    return restore(path, file, **{"options": SMALL, **given})  # type: ignore[arg-type]


@pytest.fixture
def backup(store: Store, tmp_path: Path) -> Path:
    """A backup of ten turns; the store is open."""
    fill(store, 10)
    return store.backup(tmp_path / "kept.mdb")


def test_restore_a_restored_backup_is_what_was_backed_up(store, backup, path):
    fill(store, 15, since=11)
    store.close()
    told = []
    done = put_back(path, backup, on_step=told.append)
    assert (done.events, done.forgotten) == (10, 0)
    assert turns(path) == {n: turn(n).text for n in range(1, 11)}
    with Store.open(path, options=SMALL) as again:
        assert not again.opened.unclean_stop
        assert again.append(turn(16)).id == 16, "an id that was given is not given again"
        assert Look(again).context("anna", "chunk/3")
        assert len(Look(again).keys("anna")) == 10 == len(Look(again).tasks())
    assert told[0] == "reading the backup" and len(told) == 4
    (aside,) = path.glob("replaced-*/data.mdb")
    assert aside.parent == done.aside and aside.stat().st_mode & 0o777 == 0o600
    assert traces(done.aside, 12)


def test_restore_what_was_forgotten_since_stays_forgotten(store, backup, path):
    store.forget(Forget(turns=(3,)))
    store.forget(Forget(memories=("fact/5",)))
    store.forget(Forget(speaker="anna", since=at(6.5), until=at(7.5)))  # turn 7
    fill(store, 12, since=11)
    store.forget(Forget(turns=(11,)))
    store.close()
    gone = (3, 7, 11)
    assert traces(backup.parent / "store", *gone) == []
    for _ in range(2):  # and however often it is restored
        done = put_back(path, backup)
        assert turns(path).keys() == {1, 2, 4, 5, 6, 8, 9, 10}
        assert traces(path, *gone) == []
        assert done.forgotten >= 5
        with Store.open(path, options=SMALL) as again:
            assert Look(again).memory("anna", "fact/5") is None
            assert {task.key for task in Look(again).tasks()}.isdisjoint({"chunk/3", "chunk/4"})
            assert [m.memory for m in Look(again).contexts("anna")].count("chunk/3") == 0
            assert Look(again).manifest("anna") is None
            late = again.apply("j", WriteBatch(memories=(memory("fact/x", sources=(11,)),)))
            late.wait()
            assert Look(again).memory("anna", "fact/x") is None


def test_restore_a_note_without_sources_stays_forgotten_unless_it_is_kept_again(
    store, backup, path, tmp_path
):
    store.forget(Forget(scope="anna", everything=True))
    again = WriteBatch(memories=(memory("note/1", text=token(999)),))
    store.close()
    put_back(path, backup)
    assert turns(path) == {}
    assert traces(path, 999) == []
    with Store.open(path, options=SMALL) as store:
        store.apply("j", again).wait()
        later = store.backup(tmp_path / "later.mdb")
    put_back(path, later)
    with Store.open(path, options=SMALL) as store, store.snapshot() as snapshot:
        assert snapshot.memory("anna", "note/1")


def test_restore_what_was_ordered_to_be_forgotten_is_not_brought_back(store, backup, path):
    order = CommandEntry(
        id=1, scope="anna", kind="forget", at=at(), turns=(4,), hidden=("chunk/4", "fact/4"),
        due=at() + timedelta(days=1),
    )  # fmt: skip
    store.apply("orders", WriteBatch(command=order)).wait()
    store.close()
    put_back(path, backup)
    assert 4 not in turns(path)
    assert traces(path, 4) == [], "nor does the file that was put aside hold it"


def test_restore_the_next_forgetting_takes_the_file_that_was_put_aside(store, backup, path):
    fill(store, 12, since=11)
    store.close()
    put_back(path, backup)
    assert traces(path, 12)
    with Store.open(path, options=SMALL) as again:
        assert again.forget(Forget(turns=(1,))).erased
    assert traces(path, 1, 12) == []


def test_restore_a_copy_of_the_folder_is_a_backup_too(store, backup, path, tmp_path):
    store.close()
    done = put_back(tmp_path / "new", path)
    assert (done.events, done.aside) == (10, None) and len(turns(tmp_path / "new")) == 10


# ------------------------------------------------------------------- refused


def test_restore_a_backup_of_another_memory_is_taken_only_on_purpose(store, backup, tmp_path):
    with Store.open(tmp_path / "other", options=SMALL) as other:
        other.append(turn(1, text=token(77)))
        other.append(turn(2))
        other.forget(Forget(turns=(2,)))
    with pytest.raises(StoreError, match="another memory"):
        put_back(tmp_path / "other", backup)
    assert turns(tmp_path / "other") == {1: token(77)}
    assert not list((tmp_path / "other").glob("re*"))
    assert put_back(tmp_path / "other", backup, foreign=True).events == 10


@pytest.mark.parametrize("spoil", ["cut", "garbage", "missing", "itself"])
def test_restore_what_is_no_backup_is_refused_and_nothing_changes(store, backup, path, spoil):
    store.close()
    before = turns(path)
    if spoil == "cut":
        backup.write_bytes(backup.read_bytes()[: backup.stat().st_size // 2])
    elif spoil == "garbage":
        backup.write_bytes(random.Random(1).randbytes(20_000))
    elif spoil == "missing":
        backup.unlink()
    error = StoreDamagedError if spoil in ("cut", "garbage") else StoreError
    with pytest.raises(error):
        put_back(path, path / "data.mdb" if spoil == "itself" else backup)
    assert turns(path) == before


# ------------------------------------------------------------------- while others write


def test_restore_backup_a_backup_is_made_by_another_reader_while_turns_come_in(
    store, path, tmp_path
):
    fill(store, 30)
    stop = threading.Event()

    def talk() -> None:
        n = 31
        while not stop.is_set():
            store.append(turn(n)).wait()
            n += 1

    talking = threading.Thread(target=talk)
    talking.start()
    code = f"""
from pathlib import Path
from slowcat_memory.store import Store, StoreOptions
with Store.open(Path({str(path)!r}), readonly=True) as store:
    for n in range(5):
        store.backup(Path({str(tmp_path)!r}) / f"b{{n}}.mdb")
"""
    try:
        printed_by(code)
    finally:
        stop.set()
        talking.join()
    sizes = [put_back(tmp_path / f"s{n}", tmp_path / f"b{n}.mdb").events for n in range(5)]
    assert sizes == sorted(sizes) and sizes[0] >= 30
    for n, size in enumerate(sizes):
        assert turns(tmp_path / f"s{n}") == {i: turn(i).text for i in range(1, size + 1)}


# ------------------------------------------------------------------- the order of backups, and crafted ones, which are refused

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
