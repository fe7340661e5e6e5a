"""A local store into the database and back: equal rows, and nothing by halves."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmdb
import pytest

from slowcat_memory.config import Config
from slowcat_memory.errors import DatabaseAwayError, StoreError, StoreUnsafeError
from slowcat_memory.fleet import hydration, leases
from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.providers import EmbedderOptions
from slowcat_memory.records import Forget
from slowcat_memory.store import Store, data_file
from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.tables import COUNTS
from slowcat_memory.testing import memory_config
from tests.fleet.talking import rows, say, talking, texts
from tests.support.memories import engine_of
from tests.support.said import turn_at

Make = Callable[..., Config]
SAID = ("My dog is called Bello.", "My sister Clara plays the violin.", "I live in Lisbon.")
STATE = "SELECT last_seq, snapshot_upto, released FROM slowcat.owner WHERE tenant = $1"


@pytest.fixture
def fleet(worker_config: Make) -> Any:
    with Fleet(worker_config("a", embedding=EmbedderOptions(kind="none"))) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with turns, facts, a forgotten turn and a sealed index."""
    folder = tmp_path_factory.mktemp("built") / "store"
    with engine_of(memory_config(folder, idle={"enabled": False, "grace_s": 0.0})) as engine:
        for text in SAID:
            engine.append(turn_at(text))
        engine.idle.until_done(["facts"])
        engine.forget(Forget(turns=(3,)))
        engine.upkeep.seal("anna")
    return folder


@pytest.fixture
def local(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "local"))


def all_rows(folder: Path) -> dict[str, dict[bytes, bytes]]:
    """Return every row but the counts of rows, by table."""
    env = lmdb.open(str(data_file(folder)), subdir=False, readonly=True, lock=False, max_dbs=40)
    with env.begin() as txn:
        names = [key for key, _ in txn.cursor()]
    dbs = {name.decode(): env.open_db(name, create=False) for name in names}
    with env.begin() as txn:
        found = {name: dict(txn.cursor(db)) for name, db in dbs.items()}
    env.close()
    del found["meta"][codec.name_key(COUNTS)]
    return found


def content(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock.mdb")
    hashes = ((path, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files)
    return {str(path.relative_to(folder)): hash for path, hash in hashes}


def push(fleet: Fleet, folder: Path, person: str = "anna") -> dict[str, int]:
    return hydration.push(fleet.worker, folder, person, fleet.config.store)[0]


def pull(fleet: Fleet, folder: Path, person: str = "anna") -> dict[str, int]:
    return hydration.pull(fleet.worker, person, folder)


def test_there_and_back_the_rows_are_equal(fleet, local, tmp_path):
    before = content(local)
    assert push(fleet, local)["log"] == 2 and content(local) == before
    assert rows(fleet, STATE) == [(1, 1, True)]
    assert pull(fleet, tmp_path / "back")["log"] == 2
    assert all_rows(tmp_path / "back") == all_rows(local)
    assert content(tmp_path / "back/index") == content(local / "index") != {}
    with Store.open(tmp_path / "back") as store:  # an ordinary one: it may be written
        assert store.opened.moved_aside is None and store.replica is None


def test_a_conversation_goes_on_from_what_was_pushed(fleet, local, tmp_path):
    push(fleet, local)
    assert texts(fleet) == list(SAID[:2])
    with talking(fleet) as member:
        say(member, "My cat is called Mimi.")
        pull(fleet, tmp_path / "meanwhile")  # beside the conversation
    with Store.open(tmp_path / "meanwhile", readonly=True) as store, store.snapshot() as snapshot:
        pulled = [turn.text for turn in snapshot.turns("anna")]
    assert pulled == [*SAID[:2], "My cat is called Mimi."]


def test_a_push_that_is_cut_off_leaves_nothing(fleet, local, monkeypatch):
    async def cut(*args: Any) -> bool:
        raise DatabaseAwayError("the connection was cut")

    monkeypatch.setattr(leases, "release", cut)
    with pytest.raises(DatabaseAwayError):
        push(fleet, local)
    assert rows(fleet, STATE) == []
    assert rows(fleet, "SELECT 1 FROM slowcat.snapshot WHERE tenant = $1") == []


def test_a_copy_is_not_pushed(fleet):
    with talking(fleet) as member:
        say(member, SAID[0])
        folder = member.holding.folder
    with pytest.raises(StoreUnsafeError, match="a worker's copy"):
        push(fleet, folder, "ben")


def test_nothing_is_overwritten_by_a_pull(fleet, local, tmp_path):
    push(fleet, local)
    before = content(local)
    with pytest.raises(StoreError, match="is not empty"):
        pull(fleet, local)
    beside = tmp_path / "back.new"
    beside.mkdir()
    (beside / "diary.txt").write_text("mine")
    pull(fleet, tmp_path / "back")
    assert content(local) == before and (beside / "diary.txt").exists()
