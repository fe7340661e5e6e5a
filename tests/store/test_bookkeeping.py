import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.records import Forget, Vector, WriteBatch
from slowcat_memory.store import Store
from tests.harness.samples import at, edge, manifest, memory, turn


def changed(store: Store, after: int = 0, scope: str = "anna") -> list[str]:
    store.flush()
    with store.snapshot() as snapshot:
        return snapshot.changed(scope, after)


def put(store: Store, *ids: str, scope: str = "anna") -> int:
    store.apply("test", WriteBatch(memories=tuple(memory(id_, scope=scope) for id_ in ids))).wait()
    with store.snapshot() as snapshot:
        return snapshot.last_change()


def test_bookkeeping_changes_every_step_is_noted_with_what_it_touched(store):
    first = put(store, "note/1", "note/2")
    store.append(turn()).wait()
    vector = Vector(scope="anna", memory="chunk/1", values=np.ones(4, np.float32))
    store.apply("test", WriteBatch(vectors=(vector,), embedder="e")).wait()
    store.apply("test", WriteBatch(drop=(("anna", "note/1"),))).wait()
    put(store, "note/2", scope="berta")
    assert changed(store) == ["note/1", "note/2", "chunk/1"]
    assert changed(store, first) == ["chunk/1", "note/1"]
    assert changed(store, scope="berta") == ["note/2"]


def test_bookkeeping_publishing_forgets_what_the_index_holds_and_nothing_else(store):
    first = put(store, "note/1")
    other = put(store, "note/1", scope="berta")
    second = put(store, "note/2")
    store.publish(manifest(changes=first)).wait()
    assert changed(store) == ["note/2"]
    assert changed(store, scope="berta") == ["note/1"]
    store.publish(manifest(changes=second)).wait()
    assert changed(store) == []
    assert put(store, "note/3") == second + 1 > other


def test_bookkeeping_snapshot_the_turn_before_is_found_by_session(store):
    for session in "aabaccab":
        store.append(turn(session=session)).wait()
    store.append(turn(session="a", scope="berta")).wait()
    with store.snapshot() as snapshot:
        for session in "abcd":
            for id_ in range(1, 10):
                said = [t.id for t in snapshot.turns("anna") if t.session == session]
                earlier = [one for one in said if one < id_]
                assert snapshot.turn_before("anna", session, id_) == max(earlier, default=0)


steps = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["turn", "start", "end"])))


@settings(max_examples=25, deadline=None)
@given(steps)
def test_bookkeeping_sessions_the_unended_are_those_that_no_row_says_ended(steps):

    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "s") as store:
        for n, (session, what) in enumerate(steps):
            is_turn = what == "turn"
            store.append(
                turn(session=session) if is_turn else edge(what, session=session, at=at(n))
            )
        store.flush()
        with store.snapshot() as snapshot:
            assert snapshot.unended() == [row for row in snapshot.sessions() if not row.ended]
        if any(session == "a" and what == "turn" for session, what in steps):
            store.forget(Forget(session="a"))
            with store.snapshot() as snapshot:
                assert snapshot.unended() == [row for row in snapshot.sessions() if not row.ended]
