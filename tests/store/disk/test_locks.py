import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from slowcat_memory.errors import StoreBusyError, StoreClosedError, StoreError, StoreUnsafeError
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.store.disk import folder
from slowcat_memory.store.sharing import Presence, living
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
def test_folder_which_file_system(where, kind):
    assert folder.filesystem(where, (DATA / "store/mountinfo.txt").read_text()) == kind


def test_folder_network_file_systems_are_refused_unless_allowed(
    path, open_store, tmp_path, monkeypatch
):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"30 22 0:30 / {tmp_path.resolve()} rw - nfs4 nas:/x rw\n")
    monkeypatch.setattr(folder, "MOUNTS", mounts)
    with pytest.raises(StoreUnsafeError, match="nfs4"):
        open_store()
    open_store(options=StoreOptions(map_size_gib=0.0625, allow_unsafe_fs=True))
