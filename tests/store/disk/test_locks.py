"""Who may open a store's folder, and what the state that a killed writer left proves."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from slowcat_memory import clock
from slowcat_memory.errors import StoreBusyError, StoreClosedError, StoreError, StoreUnsafeError
from slowcat_memory.records import Forget
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.store.care import health
from slowcat_memory.store.disk import folder
from slowcat_memory.store.disk.folder import STATE
from slowcat_memory.store.sharing import Presence, living
from tests.harness.children import Child
from tests.harness.samples import turn
from tests.support.memories import Look, ids
from tests.support.rows import DATA, each_listed

ROOT = Path(__file__).parents[3]

OTHER = """
import sys
from pathlib import Path
from slowcat_memory.store import Store
from slowcat_memory.store.sharing import living
from tests.harness.samples import turn
path, what = Path(sys.argv[1]), sys.argv[2]
if what == "write":
    with Store.open(path) as store:
        store.append(turn(1)).wait()
    print([one.pid for one in living(path)])
if what == "read late":
    store = Store.open(path, readonly=True)
    print("open", flush=True)
    sys.stdin.readline()
    with store.snapshot() as snapshot:
        print([event.id for event in snapshot.events()])
if what == "hold":
    store = Store.open(path)
    store.append(turn(1)).wait()
    print("holding", flush=True)
    sys.stdin.read()
"""


def other(path, what):
    command = [sys.executable, "-c", OTHER, str(path), what]
    return subprocess.Popen(command, stdin=-1, stdout=-1, text=True, cwd=ROOT)


def say(path, what):
    said, _ = other(path, what).communicate("", timeout=60)
    return said.strip()


def test_locks_another_process_writes_too_and_leaves_again(store, path):
    store.append(turn(1)).wait()
    assert say(path, "write") == f"[{os.getpid()}]"
    assert store.append(turn(2)).id == 3
    store.flush(30)
    assert ids(Look(store).events()) == [1, 2, 3]


def test_locks_a_thread_that_knows_less_takes_back_nothing_that_was_confirmed(path):
    path.mkdir()
    presence = Presence(path)
    presence.confirm(2, "g-1")
    presence.confirm(1, "g-2")
    assert [(one.epoch, one.generation) for one in living(path)] == [(2, "g-2")]
    presence.leave()


def test_locks_lock_a_second_writer_in_this_process_too(store, path):
    with pytest.raises(StoreBusyError, match="in this process"):
        Store.open(path)
    with pytest.raises(StoreBusyError, match="already open"):
        Store.open(path, readonly=True)


def test_locks_a_process_is_in_the_list_until_it_is_killed(path, open_store):
    with other(path, "hold") as holder:
        assert holder.stdout.readline() == "holding\n"
        assert [one.pid for one in living(path)] == [holder.pid]
        with open_store(readonly=True) as reader, reader.snapshot() as snapshot:
            assert snapshot.last_id() == 1
            assert reader.unsaved() == 0
        holder.kill()
    assert living(path) == []
    store = open_store()
    assert store.opened.unclean_stop
    assert store.opened.moved_aside is None
    assert store.append(turn(2)).id == 2


def test_locks_lock_reading_without_a_writer_makes_nothing(open_store, path):
    with pytest.raises(StoreError, match="no memory at"):
        open_store(readonly=True)
    assert not path.exists()
    open_store().close()
    (path / "lock.mdb").unlink()
    before = {file.name: file.stat().st_mtime_ns for file in path.iterdir()}
    reader = open_store(readonly=True)
    assert Look(reader).counts()["log"] == 0
    with pytest.raises(StoreError, match="reading only"):
        reader.append(turn(1))
    reader.close()
    assert {file.name: file.stat().st_mtime_ns for file in path.iterdir()} == before


def test_locks_lock_a_reader_from_before_the_first_writer_follows_it(open_store, path):
    open_store().close()
    (path / "lock.mdb").unlink()
    with other(path, "read late") as reader:
        assert reader.stdout.readline() == "open\n"
        store = open_store()
        store.append(turn(1)).wait()
        said, _ = reader.communicate("\n", timeout=30)
    assert said == "[1]\n"


def test_locks_fork_a_forked_child_finds_it_closed_and_leaves_the_parents_alone(store, path):
    store.append(turn(1)).wait()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for use in (lambda: store.append(turn(2)), lambda: store.snapshot().__enter__()):
                with pytest.raises(StoreClosedError, match="closed|fork"):
                    use()
            store.close()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert say(path, "write") == f"[{os.getpid()}]", "it is in the list still"
    store.append(turn(2)).wait()


# ------------------------------------------------------------------- the folder


def test_folder_only_the_owner_may_look(path, open_store):
    old = os.umask(0)
    try:
        store = open_store()
        store.append(turn(1)).wait()
        backup = store.backup()
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    modes = {f.name: stat.S_IMODE(f.stat().st_mode) for f in path.rglob("*") if f.is_file()}
    own = {"data.mdb", "lock.mdb", "opening.lock", "erasing.lock", "ids", "state", "last-backup"}
    ours = {file.name for file in (path / "processes").iterdir()}
    assert set(modes) == own | ours | {backup.name} and len(ours) == 1
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(backup.parent.stat().st_mode) == 0o700


def test_folder_a_lax_folder_is_tightened(path, open_store):
    path.mkdir(mode=0o755)
    open_store()
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_folder_somebody_elses_folder_is_refused(path, open_store, monkeypatch):
    open_store().close()
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    for readonly in (False, True):
        with pytest.raises(StoreUnsafeError, match=f"belongs to user {me}"):
            open_store(readonly=readonly)


@pytest.mark.parametrize("name", ["data.mdb", "opening.lock", "state"])
def test_folder_links_are_not_followed(path, open_store, tmp_path, name):
    open_store().close()
    (path / name).unlink(missing_ok=True)
    (path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnsafeError, match="plain file"):
        open_store()
    assert not (tmp_path / "elsewhere").exists()


def test_folder_a_file_in_its_place_is_refused(path, open_store):
    path.write_text("no folder")
    with pytest.raises(StoreUnsafeError):
        open_store()


def test_folder_a_folder_that_cannot_be_written_is_refused(path, open_store, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *args: False)
    with pytest.raises(StoreUnsafeError, match="not writable"):
        open_store()


@each_listed("store/locks")
def test_folder_which_file_system(device, kind):
    number = os.makedev(*map(int, device.split(":")))
    assert folder.filesystem(number, (DATA / "store/mountinfo.txt").read_text()) == kind


def test_folder_network_file_systems_are_refused_unless_allowed(
    path, open_store, tmp_path, monkeypatch
):
    mounts = tmp_path / "mountinfo"
    device = tmp_path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    mounts.write_text(f"30 22 {number} / {tmp_path} rw - nfs4 nas:/x rw\n")
    monkeypatch.setattr(folder, "MOUNTS", mounts)
    with pytest.raises(StoreUnsafeError, match="nfs4"):
        open_store()
    open_store(options=StoreOptions(map_size_gib=0.0625, allow_unsafe_fs=True))


# ------------------------------------------------------------------- what the state that a killed writer left proves, and when the file is checked all the same

OPTIONS = StoreOptions(map_size_gib=1 / 16)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were checked."""
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
    assert folder.is_unclean(path)
    return path


def open_again(path: Path) -> set[int]:
    with Store.open(path, options=OPTIONS) as store, store.snapshot() as snapshot:
        assert store.opened.unclean_stop and store.opened.moved_aside is None
        return {event.id for event in snapshot.events()}


def test_state_after_a_kill_on_the_same_boot_the_file_is_not_checked(path, checked):
    assert open_again(killed(path)) == {1, 2} and checked == []
    with Store.open(path, options=OPTIONS) as store:
        assert not store.opened.unclean_stop
    assert health.is_whole(path / folder.DATA), "and it would have found nothing"


def test_state_a_reader_needs_no_check_either(path, checked):
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
    shutil.copy2(path / folder.DATA, path / "other")
    os.replace(path / "other", path / folder.DATA)


def written_since(path: Path) -> None:
    earlier = (path / folder.DATA).stat().st_ctime - folder.LATE_S - 1
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
def test_state_whatever_else_happened_the_file_is_checked(path, checked, happened):
    happened(killed(path))
    assert open_again(path) == {1, 2} and checked == [path / folder.DATA]


def test_state_a_boot_that_cannot_be_known_proves_nothing(path, checked, monkeypatch):
    monkeypatch.setattr(clock, "_BOOT_ID", path / "there is none")
    assert clock.boot_id() == ""
    assert open_again(killed(path)) == {1, 2} and checked == [path / folder.DATA]


def test_state_a_file_that_was_cut_is_read_on_the_same_boot_too(path, checked):
    killed(path)
    times = (path / folder.DATA).stat()
    os.truncate(path / folder.DATA, times.st_size // 4096 // 2 * 4096)
    os.utime(path / folder.DATA, ns=(times.st_atime_ns, times.st_mtime_ns))
    with Store.open(path, options=OPTIONS) as store:
        assert checked and store.opened.moved_aside is not None


def test_state_another_boot_after_the_check_vouches_for_the_file(path, checked):
    """The mark of a boot that ended with a power cut is replaced once the file was checked."""
    other_boot(killed(path))
    with Store.open(path, options=OPTIONS):
        assert checked == [path / folder.DATA] and folder.is_as_left(path)
