import json
import threading
from unittest.mock import Mock

import lmdb
import pytest

from slowcat_memory.errors import StoreClosedError, StoreDamagedError, StoreError, StoreFullError
from slowcat_memory.metrics import Metrics
from slowcat_memory.records import Forget, WriteBatch
from slowcat_memory.store import StoreOptions, apply, writer
from slowcat_memory.store.disk import environment
from slowcat_memory.store.disk.transaction import transact
from tests.harness.samples import memory, turn
from tests.support.memories import Look, ids
from tests.support.other_process import printed_by


class Disk:
    """Refuses to commit while ``full``; LMDB's own transaction is aborted, as on a real one."""

    def __init__(self, monkeypatch):
        self.full = False
        self.refused = threading.Event()
        begin = environment.Environment.begin_write

        def begin_write(env):
            if self.full:
                self.refused.set()
                raise lmdb.DiskError("mdb_txn_commit: No space left on device")
            return begin(env)

        monkeypatch.setattr(environment.Environment, "begin_write", begin_write)
        monkeypatch.setattr(writer, "FIRST_PAUSE_S", 0.02)
        monkeypatch.setattr(writer, "LONGEST_PAUSE_S", 0.05)


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


def test_writer_a_full_disk_keeps_everything_waiting_and_is_told_once(open_store, disk):
    told = []
    store = open_store(on_trouble=told.append, metrics=Metrics())
    store.append(turn(1)).wait()
    disk.full = True
    acks = [store.append(turn(n)) for n in range(2, 300)]
    assert disk.refused.wait(30)
    disk.refused.clear()
    assert disk.refused.wait(30), "it tries again"
    assert store.unsaved() == 298
    assert Look(store).last_id() == 1, "reading goes on"
    disk.full = False
    acks[-1].wait(30)
    assert [type(error) for error in told] == [StoreFullError]
    assert ids(Look(store).events()) == list(range(1, 300))
    disk.full = True
    store.append(turn(300))
    disk.refused.clear()
    assert disk.refused.wait(30)
    disk.full = False
    assert store.flush(30)
    assert len(told) == 2, "a new spell is told anew"


def test_writer_a_forgetting_is_not_kept_waiting_by_a_full_disk(open_store, disk):
    store = open_store()
    store.append(turn(1)).wait()
    disk.full = True
    store.append(turn(2))
    assert disk.refused.wait(30)
    with pytest.raises(StoreFullError):
        store.forget(Forget(everything=True))
    disk.full = False
    assert store.flush(30)
    assert Look(store).last_id() == 2


def test_writer_closing_ends_the_wait_and_says_what_is_lost(open_store, disk, caplog):
    store = open_store()
    disk.full = True
    ack = store.append(turn(1))
    assert disk.refused.wait(30)
    store.close()
    with pytest.raises((StoreFullError, StoreClosedError)):
        ack.wait(0)
    disk.full = False
    assert Look(open_store()).last_id() == 0


def test_writer_a_handler_that_fails_does_not_stop_the_writer(open_store, disk):
    store = open_store(on_trouble=Mock(side_effect=RuntimeError))
    disk.full = True
    ack = store.append(turn(1))
    assert disk.refused.wait(30)
    disk.full = False
    ack.wait(30)


def test_writer_an_environment_that_lmdb_gave_up_on_is_opened_anew(open_store, monkeypatch):
    """Its last commit has reached the disk, although LMDB said that it failed."""
    monkeypatch.setattr(writer, "FIRST_PAUSE_S", 0.02)
    told, broken = [], [False]
    begin = environment.Environment.begin_write

    def begin_write(env):
        if broken[0]:
            raise lmdb.PanicError("mdb_txn_begin: a fatal error has occurred")
        return begin(env)

    def commit(env, change):
        outcome = transact(env, change)
        broken[0] = not told
        return outcome if told else begin_write(env)

    def reopen(env):
        broken[0] = False
        really_reopen(env)

    really_reopen = environment.Environment.reopen
    monkeypatch.setattr(environment.Environment, "begin_write", begin_write)
    monkeypatch.setattr(environment.Environment, "reopen", reopen)
    store = open_store(on_trouble=told.append)
    monkeypatch.setattr(writer, "transact", commit)
    store.append(turn(1)).wait(30)
    assert [type(error) for error in told] == [StoreDamagedError]
    assert Look(store).session("s1").turns == 1, "none is counted twice"


def test_writer_what_was_committed_in_a_file_that_is_gone_is_refused_once(store, monkeypatch):
    checks = []

    def check(env):
        checks.append(env)
        if len(checks) == 2:  # the one after the commit
            raise StoreError("the file was replaced")

    monkeypatch.setattr(environment.Environment, "check_in_place", check)
    with pytest.raises(StoreError):
        store.append(turn(1)).wait(30)
    store.append(turn(2)).wait(30)
    assert Look(store).session("s1").turns == 2, "none is counted twice"


def test_writer_a_disk_that_refuses_the_founding_is_named(open_store, disk):
    disk.full = True
    with pytest.raises(StoreFullError):
        open_store()
    disk.full = False
    assert open_store().append(turn(1)).id == 1


def test_writer_a_swap_that_could_not_open_the_new_file_heals(open_store, monkeypatch):
    monkeypatch.setattr(writer, "FIRST_PAUSE_S", 0.02)
    store = open_store()
    store.append(turn(1))
    store.append(turn(2)).wait(30)
    really_open = environment.Environment._open_generation
    opens = []

    def fail_once(env, path):
        opens.append(path)
        if len(opens) == 1:
            raise StoreError("too many open files")
        return really_open(env, path)

    monkeypatch.setattr(environment.Environment, "_open_generation", fail_once)
    assert not store.forget(Forget(turns=(1,))).erased
    store.append(turn(3)).wait(30)
    assert ids(Look(store).events()) == [2, 3]
    assert store.erase()


def test_writer_store_a_nearly_full_disk_refuses_derived_work_only(open_store):
    store = open_store(options=StoreOptions(map_size_gib=0.0625, min_free_mb=1 << 40))
    with pytest.raises(StoreFullError, match="nearly full"):
        store.apply("j", WriteBatch(memories=(memory(),)))
    store.append(turn(1)).wait(30)


def test_writer_what_lmdb_refuses_for_good_fails_alone(store, monkeypatch):
    put = apply.append_events

    def append(events, cursor, tx):
        put(events, cursor, tx)
        if events[0].id == 2:
            tx.put("log", b"k" * 600, b"value")

    monkeypatch.setattr("slowcat_memory.store.store.append_events", append)
    acks = [store.append(turn(n)) for n in (1, 2, 3)]
    assert store.flush(30)
    with pytest.raises(StoreError):
        acks[1].wait(30)
    assert ids(Look(store).events()) == [1, 3]


REALLY_FULL = """
import json, resource, sys
from pathlib import Path
from slowcat_memory.store import Store, StoreOptions; from slowcat_memory.store import writer
from tests.harness.samples import turn
import threading

writer.FIRST_PAUSE_S = writer.LONGEST_PAUSE_S = 0.05
told, refused = [], threading.Event()
store = Store.open(
    Path(sys.argv[1]),
    options=StoreOptions(map_size_gib=0.0625),
    on_trouble=lambda error: (told.append(type(error).__name__), refused.set()),
)
store.append(turn(1)).wait()
size = (store.path / "data.mdb").stat().st_size
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20_000, hard))
acks = [store.append(turn(n)) for n in range(2, 200)]
was_refused = refused.wait(30)
unsaved = store.unsaved()
with store.snapshot() as snapshot:
    readable = snapshot.turn(1) is not None
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
saved = store.flush(30)
store.close()
with Store.open(store.path) as store, store.snapshot() as snapshot:
    whole = [t.text for t in snapshot.turns()] == [turn(n).text for n in range(1, 200)]
print(json.dumps([was_refused, unsaved > 0, readable, saved, whole, told]))
"""


def test_writer_a_disk_that_really_refuses(path):
    told = json.loads(printed_by(REALLY_FULL, path))
    assert told == [True, True, True, True, True, ["StoreFullError"]]
