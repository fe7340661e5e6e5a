"""A store keeps to its own folder, wherever that is moved, and through a killed swap of its file."""

import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from slowcat_memory.errors import (
    StoreClosedError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreGoneError,
)
from slowcat_memory.records import Forget
from slowcat_memory.store import Store
from slowcat_memory.store.disk import environment, folder
from tests.harness.samples import turn
from tests.support.memories import Look, ids
from tests.support.other_process import ROOT, printed_by
from tests.support.tiered_stores import SMALL, age, events, leave, say

# ------------------------------------------------------------------- A store keeps to its own folder, wherever that is moved


def contents(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file() and file.name != "lock.mdb"
    }


class Home:
    """A bot whose folder was moved, and the folder that another bot made at the old path."""

    def __init__(self, folder: Path) -> None:
        self.path, self.moved = folder / "home", folder / "moved"
        self.bot = Store.open(self.path, options=SMALL)
        say(self.bot, 29)
        self.bot.backup()
        self.path.rename(self.moved)
        with Store.open(self.path, options=SMALL) as other:
            say(other, 3)
            other.backup()
        self.others = contents(self.path)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    made.bot.close()


CHANGES: dict[str, Callable[[Store], object]] = {
    "forget": lambda bot: bot.forget(Forget(turns=(3,))),
    "shrink": lambda bot: bot.shrink(),
    "backup": lambda bot: bot.backup(),
    "append": lambda bot: bot.append(turn(30)).wait(30),
    "age": lambda bot: bot.age("anna", hot=0),
    "close": lambda bot: bot.close(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_known_folder_what_is_at_the_old_path_is_never_touched(home, change):
    CHANGES[change](home.bot)
    assert contents(home.path) == home.others


def test_known_folder_a_moved_store_goes_on_in_its_folder(home):
    assert home.bot.forget(Forget(turns=(3,))).erased
    assert home.bot.backup().parent == home.moved / "backups"
    home.bot.append(turn(30)).wait(30)
    assert home.bot.path == home.moved
    home.bot.close()
    with Store.open(home.moved, options=SMALL) as again:
        assert not again.opened.unclean_stop
        assert ids(Look(again).events()) == [*range(1, 3), *range(4, 31)]


def test_known_folder_a_reader_follows_its_folder(home):
    home.bot.close()
    reader = Store.open(home.moved, options=SMALL, readonly=True)
    home.moved.rename(home.moved.with_name("again"))
    assert len(ids(Look(reader).events())) == 29
    reader.close()


# ------------------------------------------------------------------- gone


def put_another_there(path: Path) -> None:
    other = path.with_name("other")
    Store.open(other, options=SMALL).close()
    os.replace(other / "data.mdb", path / "data.mdb")


GONE: dict[str, Callable[[Path], object]] = {
    "the folder": shutil.rmtree,
    "the file": lambda path: (path / "data.mdb").unlink(),
    "the file, by another one": put_another_there,
}


@pytest.mark.parametrize("what", GONE)
def test_known_folder_nothing_is_acknowledged_into_a_deleted_file(open_store, path, what):
    told, reasons = threading.Event(), list[StoreError]()
    store = open_store(on_trouble=lambda error: (reasons.append(error), told.set()))
    store.append(turn(1)).wait(30)
    GONE[what](path)
    waiting = store.append(turn(2))
    assert told.wait(30)
    assert isinstance(reasons[0], StoreGoneError) and reasons[0].hint
    assert not waiting.done() and store.unsaved() == 1
    with pytest.raises(StoreError):
        store.forget(Forget(turns=(1,)))
    store.close()
    with pytest.raises((StoreGoneError, StoreClosedError)):
        waiting.wait(30)


def test_known_folder_words_are_saved_once_the_folder_is_back(open_store, path, tmp_path):
    told = threading.Event()
    store = open_store(on_trouble=lambda error: told.set())
    store.append(turn(1)).wait(30)
    (path / "data.mdb").rename(tmp_path / "aside.mdb")
    waiting = store.append(turn(2))
    assert told.wait(30)
    (tmp_path / "aside.mdb").rename(path / "data.mdb")
    waiting.wait(30)
    assert ids(Look(store).events()) == [1, 2]


def test_known_folder_a_file_that_is_cut_while_open_does_not_kill_its_reader(open_store, path):
    with open_store() as store:
        say(store, 199)
    store = open_store()
    os.truncate(path / "data.mdb", 4096)
    with pytest.raises(StoreDamagedError, match="cut while it was open"):
        ids(Look(store).events())


# ------------------------------------------------------------------- lock.mdb


@pytest.mark.parametrize("old", [None, 0, 8192])
def test_known_folder_the_lock_file_has_no_holes_that_a_full_disk_could_not_fill(
    open_store, path, old
):
    open_store().close()
    (path / "lock.mdb").unlink()
    if old is not None:  # as an earlier version left it on a full disk
        (path / "lock.mdb").touch(mode=0o600)
        os.truncate(path / "lock.mdb", old)
    with open_store():
        assert folder.is_allocated(path / "lock.mdb")
        assert (path / "lock.mdb").stat().st_size >= environment.MAX_READERS * 64
        assert (path / "lock.mdb").stat().st_mode & 0o777 == 0o600


def test_known_folder_a_disk_without_room_for_the_lock_file_is_an_error_of_ours(open_store, path):
    open_store().close()
    (path / "lock.mdb").unlink()

    with patch.object(os, "posix_fallocate", side_effect=OSError(28, "No space left on device")):
        with pytest.raises(StoreFullError, match="full"):
            open_store()
        with open_store(readonly=True) as reader:
            assert ids(Look(reader).events()) == []
    open_store()


# ------------------------------------------------------------------- the check in another process


def test_known_folder_a_damaged_store_is_found_where_packages_are_on_pythonpath_alone(
    store, path, tmp_path
):
    say(store, 59)
    killed = leave(store)
    data = killed / "data.mdb"
    os.truncate(data, data.stat().st_size // 2)
    code = (
        "import sys; from pathlib import Path; from slowcat_memory.store import Store;"
        "print(Store.open(Path(sys.argv[1])).opened.moved_aside)"
    )
    root = Path(folder.__file__).parents[3]
    done = subprocess.run(
        [sys._base_executable, "-c", code, str(killed)],  # type: ignore[attr-defined]
        env={"PYTHONPATH": os.pathsep.join([sysconfig.get_paths()["purelib"], str(root)])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "corrupt-" in done.stdout


# ------------------------------------------------------------------- A writer that is killed while it replaces the store's file, beside a process tha

READER = """
import sys
from pathlib import Path
from slowcat_memory.store import Store
with Store.open(Path(sys.argv[1]), readonly=True) as store, store.snapshot():
    print("reads", flush=True)
    sys.stdin.read()
"""
KILLED = """
import os, sys
from pathlib import Path
from slowcat_memory.store import Store
from slowcat_memory.store.care import copies
from slowcat_memory.store.disk import folder
left = int(sys.argv[2])

def dying(call):
    def step(*args, **kwargs):
        global left
        result = call(*args, **kwargs)
        left -= 1
        if not left:
            os._exit(9)
        return result
    return step

class Os:
    def __getattr__(self, name):
        found = getattr(os, name)
        return dying(found) if name in ("rename", "replace") else found

store = Store.open(Path(sys.argv[1]))
folder.os = Os()
copies.rewrite(store._env)
os._exit(1)
"""


@pytest.mark.parametrize("step", [1, 2])
def test_killed_swap_beside_a_reader_loses_nothing(open_store, path, step):
    with open_store() as store:
        for n in range(1, 1500):
            store.append(
                turn(n, text=f"we went to the lake, number {n} " * 8, session=f"s{n // 40}")
            )
        age(store)
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(path)], stdin=-1, stdout=-1, text=True, cwd=ROOT
    )
    with reader:
        assert reader.stdout is not None and reader.stdout.readline() == "reads\n"
        printed_by(KILLED, path, step, ends=9)  # it was replacing the file
        with open_store() as store:
            assert [event.id for event in events(store)] == list(range(1, 1500))
            store.append(turn(1500)).wait(30)
        reader.kill()
    with open_store() as store:
        assert events(store)[-1].id == 1500
