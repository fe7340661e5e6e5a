import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.errors import StoreClosedError, StoreError, StoreFullError
from slowcat_memory.records import Cursor, WriteBatch
from slowcat_memory.store import StoreOptions
from slowcat_memory.store.bookkeeping import fold_session
from tests.harness.samples import at, edge, memory, turn
from tests.support.engine_home import stalled
from tests.support.memories import Look, ids


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
    after = store.append(turn(5))
    after.wait(30)
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
        assert store._queue.shed == 2
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
