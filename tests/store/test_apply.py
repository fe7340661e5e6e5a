import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.ranking import token_codes
from slowcat_memory.errors import StoreError
from slowcat_memory.records import (
    CommandEntry,
    Cursor,
    Forget,
    LedgerEntry,
    Offer,
    TokenCodes,
    Vector,
    WriteBatch,
)
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.store.apply import append_events
from tests.harness.samples import at, edge, manifest, memory, turn
from tests.support.memories import Look
from tests.support.tiered_stores import say


def vector(memory="fact/1", scope="anna", fill=0.5):
    return Vector(scope=scope, memory=memory, values=np.full(4, fill, np.float32))


def entry(turn, *offers):
    given = tuple(Offer(memory=m, score=1.0) for m in offers)
    return LedgerEntry(turn=turn, scope="anna", session="s1", at=at(turn), offers=given)


def contents(store):
    memories = [Look(store).memories(scope) for scope in Look(store).scopes()]
    vectors = [Look(store).vectors("e", scope) for scope in Look(store).scopes()]
    return memories, [(v.memory, v.values.tolist()) for v in sum(vectors, [])]


def test_apply_a_batch_is_one_transaction_and_may_be_repeated(store):
    batch = WriteBatch(
        memories=(memory("fact/1"), memory("fact/2")),
        vectors=(vector("fact/1"), vector("fact/2")),
        embedder="e",
        cursor=Cursor(name="job", position=7),
    )
    store.apply("job", batch).wait()
    once = contents(store)
    store.apply("job", batch).wait()
    assert contents(store) == once
    assert Look(store).cursor("job").position == 7
    assert Look(store).memory("anna", "fact/1") == memory("fact/1")
    assert Look(store).memory("bob", "fact/1") is None
    assert Look(store).vector("e", "anna", "fact/1").values.tolist() == [0.5] * 4
    assert Look(store).vector("other", "anna", "fact/1") is None
    assert Look(store).counts()["memories"] == 2


def test_apply_a_drop_takes_vectors_by_every_embedder_and_a_put_wins_over_it(store):
    for embedder in ("e", "f"):
        both = (vector("fact/1"), vector("fact/2"))
        made = (memory("fact/1"), memory("fact/2"))
        store.apply("j", WriteBatch(memories=made, vectors=both, embedder=embedder))
    new = memory("fact/2", text="new")
    store.apply("j", WriteBatch(drop=(("anna", "fact/1"), ("anna", "fact/2")), memories=(new,)))
    assert store.flush()
    assert contents(store) == ([[new]], [])
    assert Look(store).counts()["vectors"] == 0


def tokens(memory="fact/1", count=3):
    codes = token_codes.encode(np.arange(count * 2, dtype=np.int8).reshape(count, 2))
    return TokenCodes(scope="anna", memory=memory, codes=codes)


def test_apply_token_vectors_have_a_space_beside_the_vectors(store):
    store.append(turn(1)).wait()
    given = (tokens("fact/1"), tokens("fact/2", 0), tokens("gone"), tokens("chunk/1"))
    batch = WriteBatch(
        memories=(memory("fact/1"), memory("fact/2")),
        vectors=(vector("fact/1"),),
        embedder="e",
        tokens=given,
        token_key="e~0/2",
    )
    store.apply("j", batch).wait()
    ids = ["chunk/1", "x", "fact/2", "fact/1", "gone"]
    one, none, empty, other, gone = Look(store).tokens("e~0/2", "anna", ids)
    assert none is None and gone is None, "a vector without its memory is left out"
    assert one.tolist() == other.tolist() == tokens().codes.tolist() and one.dtype == np.uint8
    assert empty.shape == (0, 1)
    assert Look(store).tokens("e~1/2", "anna", ["fact/1"]) == [None]
    assert Look(store).tokens("e~0/2", "bob", ["fact/1"]) == [None]
    assert Look(store).has_tokens("e~0/2", "anna") == {"chunk/1", "fact/1", "fact/2"}
    assert [v.memory for v in Look(store).vectors("e", "anna")] == ["fact/1"]
    store.apply("j", WriteBatch(drop=(("anna", "fact/1"),))).wait()
    assert Look(store).tokens("e~0/2", "anna", ["fact/1"]) == [None]


def test_apply_vectors_want_their_embedders_key(store):
    store.append(turn(1))
    ack = store.apply("j", WriteBatch(vectors=(vector("chunk/1"),)))
    with pytest.raises(StoreError, match="embedder"):
        ack.wait()


def test_apply_what_is_forgotten_does_not_come_back(store):
    say(store, 2)
    store.apply("j", WriteBatch(memories=(memory("fact/named"),))).wait()
    store.forget(Forget(turns=(1,)))
    store.forget(Forget(memories=("fact/named",)))
    late = WriteBatch(
        memories=(memory("fact/1", sources=(1, 2)), memory("fact/named"), memory("fact/2")),
        vectors=(vector("chunk/1"), vector("fact/1"), vector("fact/2")),
        embedder="e",
    )
    store.apply("late", late)
    store.write_ledger(entry(1, "fact/2"))
    store.write_ledger(entry(2, "chunk/1", "fact/named", "fact/2")).wait()
    memories, vectors = contents(store)
    assert [m.id for m in memories[0]] == ["fact/2"]
    assert [v[0] for v in vectors] == ["fact/2"]
    assert Look(store).ledger(1) is None
    assert [offer.memory for offer in Look(store).ledger(2).offers] == ["fact/2"]


def test_apply_ledger_the_ledger_is_a_ring(open_store):
    store = open_store(options=StoreOptions(map_size_gib=0.0625, ledger_keep=10, batch_limit=7))
    for n in range(1, 40):
        store.write_ledger(entry(n, "fact/1"))
    store.write_ledger(entry(39)).wait()
    assert [row.turn for row in Look(store).ledger_tail(3)] == [39, 38, 37]
    assert Look(store).ledger(30).offers == (Offer(memory="fact/1", score=1.0),)
    assert Look(store).ledger(29) is None
    assert Look(store).counts()["ledger"] == 10


def test_apply_publish_an_index_from_before_a_forgetting_is_not_published(store):
    store.append(turn(1))
    store.append(turn(1, scope="bob"))
    store.publish(manifest())
    store.publish(manifest(scope="bob"))
    store.forget(Forget(turns=(1,)))
    assert Look(store).manifest("anna") is None
    assert Look(store).manifest("bob").forget_epoch == Look(store).forget_epoch() == 1
    with pytest.raises(StoreError, match="before something was forgotten"):
        store.publish(manifest()).wait()
    store.publish(manifest(forget_epoch=1)).wait()


def test_apply_a_late_event_is_read_by_who_has_read_the_log_up_to_behind_it(store):
    late = turn(1)
    first = store._resources.ids.take(1)  # by another process, which is slow to commit
    store.append(turn(2)).wait()
    store.apply("job", WriteBatch(cursor=Cursor(name="job", position=2))).wait()
    store.apply("file", WriteBatch(cursor=Cursor(name="file", position=9, in_log=False))).wait()
    store._write(partial(append_events, [replace(late, id=first)], None)).wait()
    assert [event.id for event in Look(store).events()] == [1, 2]
    assert Look(store).changed(late.scope, 0) == ["chunk/1"]
    assert Look(store).cursor("job").position == 0
    assert Look(store).cursor("file").position == 9


def order(id: int, **fields: object) -> CommandEntry:
    given = {"scope": "anna", "kind": "forget_that", "at": at(), **fields}
    return CommandEntry(id=id, **given)


def put(store: Store, command: CommandEntry, *memories) -> None:
    store.apply("command", WriteBatch(memories=memories, command=command)).wait()


def commands(store: Store, scope: str = "", n: int | None = None) -> list[CommandEntry]:
    return Look(store).commands(scope, n)


def test_commands_an_order_is_written_with_what_it_changes(store):
    put(store, order(1, made=("fact/1",)), memory("fact/1"))
    put(store, order(2, scope="ben", due=at()))
    put(store, order(1, made=("fact/1",), state="undone"))
    assert [e.id for e in commands(store)] == [2, 1]
    assert commands(store, "anna") == [order(1, made=("fact/1",), state="undone")]
    assert commands(store, n=1) == [order(2, scope="ben", due=at())]
    assert Look(store).memory("anna", "fact/1")


def test_commands_an_order_that_cannot_be_written_changes_nothing(store):
    with pytest.raises(Exception, match="a record of"):
        put(store, order(1, kind="x" * (5 << 20)), memory("fact/1"))
    assert Look(store).memory("anna", "fact/1") is None


def test_commands_forgetting_takes_out_of_orders_what_is_gone(store):
    say(store, 3)
    put(store, order(1, turn=3, hidden=("chunk/1", "chunk/2"), turns=(1, 2)))
    put(store, order(2, made=("fact/1",)), memory("fact/1", sources=(1,)))
    store.forget(Forget(turns=(1,)))
    assert commands(store) == [
        order(2, state="erased"),
        order(1, turn=3, hidden=("chunk/2",), turns=(2,)),
    ]
    store.forget(Forget(turns=(2, 3)))
    assert commands(store)[-1] == order(1, state="erased")


def test_commands_forgetting_a_whole_namespace_takes_its_orders(store):
    for n, scope in ((1, "anna"), (2, "ben")):
        store.append(turn(n, scope=scope))
        put(store, order(n, scope=scope, turn=n))
    store.forget(Forget(scope="anna", everything=True))
    assert [e.id for e in commands(store)] == [2]


# ------------------------------------------------------------------- what changed, and which sessions are open


def changed(store: Store, after: int = 0, scope: str = "anna") -> list[str]:
    store.flush()
    return Look(store).changed(scope, after)


def put_all(store: Store, *ids: str, scope: str = "anna") -> int:
    store.apply("test", WriteBatch(memories=tuple(memory(id_, scope=scope) for id_ in ids))).wait()
    return Look(store).last_change()


def test_bookkeeping_changes_every_step_is_noted_with_what_it_touched(store):
    first = put_all(store, "note/1", "note/2")
    store.append(turn()).wait()
    vector = Vector(scope="anna", memory="chunk/1", values=np.ones(4, np.float32))
    store.apply("test", WriteBatch(vectors=(vector,), embedder="e")).wait()
    store.apply("test", WriteBatch(drop=(("anna", "note/1"),))).wait()
    put_all(store, "note/2", scope="berta")
    assert changed(store) == ["note/1", "note/2", "chunk/1"]
    assert changed(store, first) == ["chunk/1", "note/1"]
    assert changed(store, scope="berta") == ["note/2"]


def test_bookkeeping_publishing_forgets_what_the_index_holds_and_nothing_else(store):
    first = put_all(store, "note/1")
    other = put_all(store, "note/1", scope="berta")
    second = put_all(store, "note/2")
    store.publish(manifest(changes=first)).wait()
    assert changed(store) == ["note/2"]
    assert changed(store, scope="berta") == ["note/1"]
    store.publish(manifest(changes=second)).wait()
    assert changed(store) == []
    assert put_all(store, "note/3") == second + 1 > other


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
            own = {"session": session, "at": at(n)}
            store.append(turn(**own) if what == "turn" else edge(what, **own))
        store.flush()
        assert Look(store).unended() == [row for row in Look(store).sessions() if not row.ended]
        if any(session == "a" and what == "turn" for session, what in steps):
            store.forget(Forget(session="a"))
            assert Look(store).unended() == [row for row in Look(store).sessions() if not row.ended]
