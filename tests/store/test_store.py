"""What is appended and read: order, queue, sessions, snapshots."""

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.errors import StoreClosedError, StoreError, StoreFullError
from slowcat_memory.records import Cursor, LedgerEntry, Run, SessionEdge, Task, WriteBatch
from slowcat_memory.store import Snapshot, Store, StoreOptions
from slowcat_memory.store.bookkeeping import fold_session
from slowcat_memory.store.disk import codec, environment
from slowcat_memory.store.disk.transaction import transact
from tests.harness.samples import at, edge, memory, turn
from tests.support.engine_home import stalled
from tests.support.memories import Look, ids
from tests.support.said import memory_at, turn_at
from tests.support.tiered_stores import say


def test_store_many_threads_get_different_ids_in_one_order(store):
    with ThreadPoolExecutor(4) as pool:
        acks = list(pool.map(lambda n: store.append(turn(n)), range(800)))
    assert store.flush(30)
    assert ids(Look(store).events()) == list(range(1, 801))
    assert sorted(ack.id for ack in acks) == list(range(1, 801))


def test_store_events_of_a_namespace(store):
    for n in range(1, 9):
        store.append(turn(n, scope="anna" if n % 2 else "bob", session=f"s{n % 2}"))
    store.append(edge("end", scope="ann", session="s3")).wait()
    assert ids(Look(store).events("anna")) == [1, 3, 5, 7]
    assert ids(Look(store).events("anna", after=3, upto=5)) == [5]
    assert ids(Look(store).events(after=6)) == [7, 8, 9]
    assert ids(Look(store).turns("ann")) == []
    assert Look(store).scopes() == ["ann", "anna", "bob"]
    assert Look(store).turn(9) is None
    assert Look(store).turn(99) is None


def test_store_append_all_is_one_transaction_with_its_cursor(store):
    given = [turn(1), turn(2, role="assistant", reply_to=-1), turn(3)]
    acks = store.append_all(given, Cursor(name="import", position=3, note="f"))
    assert acks[0].future is acks[2].future
    acks[0].wait()
    assert Look(store).turn(2).reply_to == 1
    assert Look(store).cursor("import") == Cursor(name="import", position=3, note="f")
    assert Look(store).cursor("other") is None


def test_store_a_poisoned_write_fails_alone(store):
    good = store.append(turn(1))
    bad = store.append(turn(2, scope="a\0b"))
    half = store.append_all([turn(3), turn(4, text="\ud800")])
    store.append(turn(5)).wait(30)
    for ack in (bad, half[0]):
        with pytest.raises(StoreError):
            ack.wait(30)
    good.wait(0)
    assert ids(Look(store).events()) == [1, 5]
    assert store.unsaved() == 0


def test_store_sessions_follow_their_events(store):
    store.append(edge("start"))
    store.append(turn(10))
    store.append(turn(20, role="assistant"))
    store.append(edge("end", at=at(60), reason="silence")).wait()
    row = Look(store).session("s1")
    assert (row.turns, row.first_turn, row.last_turn) == (2, 2, 3)
    assert (row.started, row.last, row.ended, row.reason) == (at(), at(20), at(60), "silence")
    store.append(edge("resume", at=at(90)))
    store.append(turn(1, session="s2", scope="bob")).wait()
    assert (Look(store).session("s1").ended, Look(store).session("s1").reason) == (None, "")
    assert ids(Look(store).sessions("bob")) == ["s2"]
    assert len(Look(store).sessions()) == 2
    assert Look(store).session("s3") is None


@given(st.lists(st.sampled_from(["start", "end", "resume", "turn"]), min_size=1, max_size=12))
def test_store_sessions_a_session_is_the_fold_of_its_events(kinds):
    row, turns = None, 0
    for n, kind in enumerate(kinds, 1):
        turns += kind == "turn"
        row = fold_session(row, turn(n, id=n) if kind == "turn" else edge(kind, id=n))
    ends = [kind for kind in kinds if kind in ("start", "end", "resume")]
    assert row.turns == turns
    assert (row.ended is not None) == (bool(ends) and ends[-1] == "end")


async def test_store_cancelling_the_awaiting_task_harms_nobody(store):
    acks = [store.append(turn(n)) for n in range(400)]
    tasks = [asyncio.ensure_future(asyncio.wrap_future(ack.future)) for ack in acks]
    for task in tasks[::2]:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(o, asyncio.CancelledError) for o in outcomes[::2])
    assert all(o is None for o in outcomes[1::2])
    for ack in acks:
        ack.wait(30)
    assert Look(store).counts()["log"] == 400


def test_store_options_write_queue_derived_work_gives_way_then_events_are_refused(open_store):
    store = open_store(options=StoreOptions(map_size_gib=0.0625, queue_limit=5))
    batch = WriteBatch(memories=(memory(),))
    with stalled(store):
        derived = [store.apply("j", batch) for _ in range(2)]
        [store.append(turn(n)) for n in range(5)]
        for ack in derived:
            with pytest.raises(StoreFullError):
                ack.wait(0)
        with pytest.raises(StoreFullError):
            store.append(turn(9))
        with pytest.raises(StoreFullError):
            store.apply("j", batch)
        assert not store.flush(0.01)
    assert store.flush(30)
    assert Look(store).last_id() == 5


def test_store_close_saves_what_waits_and_is_final(open_store):
    store = open_store()
    acks = [store.append(turn(n)) for n in range(500)]
    store.close()
    store.close()
    assert all(ack.done() and ack.future.exception() is None for ack in acks)
    for use in (lambda: store.append(turn()), lambda: store.snapshot().__enter__()):
        with pytest.raises(StoreClosedError):
            use()
    assert store.flush()
    assert Look(open_store()).counts()["log"] == 500


# ------------------------------------------------------------------- what is read: snapshots

AT = datetime(2026, 5, 12, tzinfo=UTC)


def test_snapshot_a_snapshot_does_not_change_while_others_write(store):
    store.append(turn(1)).wait()
    with store.snapshot() as snapshot:
        events = snapshot.events()
        assert next(events).id == 1
        store.append(turn(2)).wait()
        assert next(events, None) is None
        assert snapshot.last_id() == 1
    assert Look(store).last_id() == 2


def test_snapshot_a_snapshot_that_is_held_for_long_is_noticed(store, monkeypatch):
    told = []
    monkeypatch.setattr(environment.logger, "warning", lambda text, held: told.append(text))
    monkeypatch.setattr(environment, "LONGEST_READ_S", 0.0)
    with store.snapshot():
        pass
    assert told


def test_snapshot_readers_see_whole_exchanges_while_the_map_grows(open_store):
    store = open_store(options=StoreOptions(map_size_gib=1 / 4096))  # 256 KiB: grows often
    stop, reads = threading.Event(), []

    def read():
        while not stop.wait(0.001):
            with store.snapshot() as snapshot:
                ids = [event.id for event in snapshot.events("anna")]
                row = snapshot.session("s1")
                assert ids == list(range(1, len(ids) + 1)) and len(ids) % 2 == 0
                assert not ids or row.turns == len(ids)
                reads.append(len(ids))

    said = "x" * 900  # below what is compressed: LZ4 gives up the interpreter's lock each time
    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        for n in range(1, 400, 2):
            acks = store.append_all([turn(n, text=said), turn(n + 1, text=said)])
            if n % 100 == 1:
                acks[0].wait(30)
        made = tuple(memory(f"fact/{n}", text=said) for n in range(500))
        store.apply("j", WriteBatch(memories=made))
        assert store.flush(30)
        stop.set()
    assert [one.exception() for one in readers] == [None] * 2
    assert len(reads) > 10
    assert store._env.env.info()["map_size"] > 1 << 20
    assert Look(store).counts()["log"] == 400


def test_snapshot_one_damaged_record_is_left_out_and_named(store):
    say(store, 5)
    store.apply("j", WriteBatch(memories=(memory("fact/1"), memory("fact/2")))).wait()
    event, fact = codec.id_key(3), codec.scoped_key("anna", "fact/1")

    def damage(tx):
        tx.put("log", event, codec.seal(b"other", b"body"))
        tx.put("memories", fact, b"short")

    store._writer.call(lambda: transact(store._env, damage))
    with store.snapshot() as snapshot:
        assert [event.id for event in snapshot.events()] == [1, 2, 4, 5]
        assert [event.id for event in snapshot.events("anna")] == [1, 2, 4, 5]
        assert snapshot.turn(3) is None
        assert [m.id for m in snapshot.memories("anna")] == ["fact/2"]
    assert store.quarantined == {("log", event), ("memories", fact)}


def test_snapshot_using_a_snapshot_after_its_block_is_an_error(store):
    store.append(turn(1)).wait()
    with store.snapshot() as snapshot:
        pass
    with pytest.raises(Exception):  # noqa: B017 - LMDB's, whichever
        snapshot.last_id()
    with pytest.raises(StoreError), store.snapshot() as snapshot:
        snapshot._rows.txn.abort()
        snapshot.last_id()


def test_snapshot_a_snapshot_that_has_ended_holds_no_readers_slot(store):
    store.append(turn(1)).wait()
    used = []
    gc.disable()  # nothing but the end of the block gives a slot back
    try:
        for _ in range(50):
            with store.snapshot() as snapshot:
                assert [event.id for event in snapshot.events()] == [1]
            used.append(store._env.env.info()["num_readers"])
    finally:
        gc.enable()
    assert max(used) < 5, "the most that were ever in use at once"


def test_snapshot_reads_pages_by_key(store):
    for n in range(1, 10):
        store.append(turn(n, scope="ben" if n % 3 == 0 else "anna"))
        store.write_ledger(LedgerEntry(turn=n, scope="anna", session="s1", at=AT))
        run = Run(task=f"facts/anna/{n}", job="facts", at=AT, ms=1.0, outcome="done")
        task = Task(id=f"facts/anna/{n}", job="facts", key=str(n), created=AT)
        store.apply("facts", WriteBatch(run=run, tasks=(task,)))
    store.flush(30)
    with store.snapshot() as snapshot:
        assert [one.id for one in snapshot.latest_turns("anna", before=7)] == [5, 4, 2, 1]
        assert [one.id for one in snapshot.latest_turns("anna", before=100)] == [8, 7, 5, 4, 2, 1]
        assert [one.id for one in snapshot.latest_turns("ben", before=3)] == []
        assert [one.turn for one in snapshot.ledger_tail(2, before=5)] == [4, 3]
        assert [one.turn for one in snapshot.ledger_tail(2, before=100)] == [9, 8]
        assert snapshot.ledger_tail(2, before=1) == []
        assert [one.id for one in snapshot.runs(2, before=5)] == [4, 3]
        assert snapshot.runs(2, before=1) == []
        assert snapshot.logged_between("anna", 2, 7) == 4
        assert [one.scope for one in snapshot.sessions("ben")] == ["ben"]
        assert snapshot.tasks_by_job() == {"facts": 9}


# ------------------------------------------------------------------- reads that can be interrupted: the same rows, and every read can end them


@pytest.fixture(scope="module")
def watchable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path: Path = tmp_path_factory.mktemp("interruptible") / "store"
    with Store.open(path, options=StoreOptions(map_size_gib=1 / 16)) as made:
        for n in range(6):
            made.append(turn_at(f"{n}", AT)).wait()
        made.append(SessionEdge(session="s", scope="anna", kind="end", at=AT)).wait()
        made.apply("test", WriteBatch(memories=(memory_at("note/a", "a", AT),))).wait()
        yield made


READS: dict[str, Callable[[Snapshot], Any]] = {
    "turn": lambda s: s.turn(2),
    "events": lambda s: list(s.events()),
    "turns of a scope": lambda s: list(s.turns("anna", after=2)),
    "latest turns": lambda s: list(s.latest_turns("anna")),
    "turn before": lambda s: s.turn_before("anna", "s", 4),
    "last id": lambda s: s.last_id(),
    "sessions": lambda s: s.sessions(),
    "memories": lambda s: list(s.memories("anna")),
    "memory": lambda s: s.memory("anna", "note/a"),
    "read": lambda s: s.read("anna", "turn/2"),
    "scopes": lambda s: s.scopes(),
    "tasks": lambda s: s.tasks(),
    "runs": lambda s: list(s.runs()),
    "vectors": lambda s: list(s.vectors("e/4", "anna")),
    "tokens": lambda s: s.tokens("e/4", "anna", ["note/a"]),
    "changed": lambda s: s.changed("anna", 0),
    "tiers": lambda s: s.tiers(),
    "unended": lambda s: s.unended(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_interruptible_a_watched_snapshot_reads_the_same_and_any_read_ends_it(watchable, read):
    reads: list[None] = []
    with watchable.snapshot() as plain, watchable.snapshot(lambda: reads.append(None)) as watched:
        reads.clear()
        assert read(watched) == read(plain)
    assert reads, "nothing could end it"
    for last in range(1, len(reads) + 1):
        with pytest.raises(InterruptedError):
            _read_until(watchable, read, last)


def _read_until(watchable: Store, read: Callable[[Snapshot], Any], last: int) -> None:
    left = -1  # opening a snapshot reads a row too

    def before_read() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise InterruptedError

    with watchable.snapshot(before_read) as watched:
        left = last
        read(watched)
