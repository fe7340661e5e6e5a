"""Backups are ordered by a counter, whatever the clock said when they were made."""

from datetime import UTC, datetime
from pathlib import Path

from slowcat_memory.store import Store, StoreOptions, backups_of
from slowcat_memory.store.care.backups import next_backup
from slowcat_memory.store.care.copy import noted, remove_drafts
from tests.harness.samples import turn

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
OPTIONS = StoreOptions(map_size_gib=1 / 16, backups_keep=3)


def test_backups_one_made_after_the_clock_was_ahead_is_the_newest_and_stays(path: Path) -> None:
    times = [NOW.replace(year=2027)] * 3 + [NOW]
    with Store.open(path, options=OPTIONS, now=lambda: times[0]) as store:
        made = []
        for _ in range(4):
            made.append(store.backup())
            times.pop(0) if len(times) > 1 else None
    assert [backup.file for backup in backups_of(path)] == made[1:]
    assert made[-1].exists() and [backup.number for backup in backups_of(path)] == [2, 3, 4]


def test_backups_a_damaged_store_is_recovered_from_the_newest_by_the_counter(path: Path) -> None:
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


def test_backups_those_of_earlier_versions_are_older_than_numbered_ones(path: Path) -> None:
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


def test_backups_a_copy_is_no_backup(path: Path, tmp_path: Path) -> None:
    with Store.open(path, options=OPTIONS) as store:
        store.append(turn(1)).wait()
        store.copy(tmp_path / "copy.mdb")
        assert backups_of(path) == [] and not (path / "last-backup").exists()


def test_drafts_a_file_that_is_created_after_a_forget_is_still_known(tmp_path: Path) -> None:
    folder, draft = tmp_path / "store", tmp_path / "chat.txt.unfinished"
    folder.mkdir()
    with noted(folder, draft):
        remove_drafts(folder, running=True)  # a forget, before the file exists
        draft.write_text("My dog is called Max.")
        assert remove_drafts(folder, running=True) == [] and not draft.exists()  # the next forget
        draft.write_text("My dog is called Max.")
    assert draft.exists(), "its writer has finished"


def test_drafts_a_living_writer_keeps_its_file_at_an_opening(tmp_path: Path) -> None:
    folder, draft = tmp_path / "store", tmp_path / "chat.txt.unfinished"
    folder.mkdir()
    with noted(folder, draft):
        draft.write_text("My dog is called Max.")
        remove_drafts(folder, running=False)
        assert draft.exists()
