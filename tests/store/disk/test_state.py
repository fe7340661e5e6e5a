"""What the state that a killed writer left proves, and when a canary reads the file all the same."""

import os
import shutil
from pathlib import Path

import pytest

from slowcat_memory import clock
from slowcat_memory.records import Forget
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.store.care import health
from slowcat_memory.store.disk import state
from slowcat_memory.store.disk.folder import DATA, STATE
from tests.harness.children import Child
from tests.harness.samples import turn

OPTIONS = StoreOptions(map_size_gib=1 / 16)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that a canary read."""
    files: list[Path] = []
    whole = health.is_whole
    monkeypatch.setattr(health, "is_whole", lambda f: files.append(f) or whole(f))
    return files


def killed(path: Path, forget: bool = False) -> Path:
    """A store whose writer's process was killed."""

    def write(into: int) -> None:
        store = Store.open(path, options=OPTIONS)
        store.append(turn(1)).wait()
        store.append(turn(2)).wait()
        if forget:
            assert store.forget(Forget(turns=(2,)), erase=True).erased
        os.write(into, b"up")
        os.read(os.pipe()[0], 1)  # for ever

    child = Child(write)
    child.wait_for(b"up")
    assert child.kill_after(0)[1], "it was not killed"
    assert state.is_unclean(path)
    return path


def open_again(path: Path) -> set[int]:
    with Store.open(path, options=OPTIONS) as store, store.snapshot() as snapshot:
        assert store.opened.unclean_stop and store.opened.moved_aside is None
        return {event.id for event in snapshot.events()}


def test_state_after_a_kill_on_the_same_boot_no_canary_reads_the_file(path, checked):
    assert open_again(killed(path)) == {1, 2} and checked == []
    with Store.open(path, options=OPTIONS) as store:
        assert not store.opened.unclean_stop
    assert health.is_whole(path / DATA), "and it would have found nothing"


def test_state_a_reader_needs_no_canary_either(path, checked):
    killed(path)
    with Store.open(path, options=OPTIONS, readonly=True) as store:
        assert store.opened.moved_aside is None
    assert checked == []


def test_state_a_file_that_an_erasure_made_is_the_writers_own(path, checked):
    assert open_again(killed(path, forget=True)) == {1} and checked == []


def other_boot(path: Path) -> None:
    rewrite(path, 1, "another")


def other_disk(path: Path) -> None:
    rewrite(path, 2, "-1")


def rewrite(path: Path, place: int, word: str) -> None:
    times = (path / STATE).stat()
    words = (path / STATE).read_text().split()
    words[place] = word
    (path / STATE).write_text(" ".join(words))
    os.utime(path / STATE, ns=(times.st_atime_ns, times.st_mtime_ns))


def copied(path: Path) -> None:
    shutil.copytree(path.rename(path.with_name("original")), path)


def replaced(path: Path) -> None:
    shutil.copy2(path / DATA, path / "other")
    os.replace(path / "other", path / DATA)


def written_since(path: Path) -> None:
    earlier = (path / DATA).stat().st_ctime - state.LATE_S - 1
    os.utime(path / STATE, (earlier, earlier))


def of_an_earlier_version(path: Path) -> None:
    (path / STATE).write_text("2026-05-12T12:00:00+00:00")


def torn(path: Path) -> None:
    (path / STATE).write_text((path / STATE).read_text()[:20])


def emptied(path: Path) -> None:
    (path / STATE).write_text("")


@pytest.mark.parametrize(
    "happened",
    [other_boot, other_disk, copied, replaced, written_since, of_an_earlier_version, torn, emptied],
)
def test_state_whatever_else_happened_a_canary_reads_the_file(path, checked, happened):
    happened(killed(path))
    assert open_again(path) == {1, 2} and checked == [path / DATA]


def test_state_a_boot_that_cannot_be_known_proves_nothing(path, checked, monkeypatch):
    monkeypatch.setattr(clock, "_BOOT_ID", path / "there is none")
    assert clock.boot_id() == ""
    assert open_again(killed(path)) == {1, 2} and checked == [path / DATA]


def test_state_a_file_that_was_cut_is_read_on_the_same_boot_too(path, checked):
    killed(path)
    times = (path / DATA).stat()
    os.truncate(path / DATA, times.st_size // 4096 // 2 * 4096)
    os.utime(path / DATA, ns=(times.st_atime_ns, times.st_mtime_ns))
    with Store.open(path, options=OPTIONS) as store:
        assert checked and store.opened.moved_aside is not None


def test_state_another_boot_after_the_check_vouches_for_the_file(path, checked):
    """The mark of a boot that ended with a power cut is replaced once the file was checked."""
    other_boot(killed(path))
    with Store.open(path, options=OPTIONS):
        assert checked == [path / DATA] and state.is_as_left(path)
