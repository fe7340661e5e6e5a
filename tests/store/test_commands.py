"""The table of orders: written with what they change, cleaned by forgetting."""

import pytest

from slowcat_memory.records import CommandEntry, Forget, Turn, WriteBatch
from slowcat_memory.store import Store
from tests.harness.samples import at, memory, turn


def entry(id: int, **fields: object) -> CommandEntry:
    given = {"scope": "anna", "kind": "forget_that", "at": at(), **fields}
    return CommandEntry(id=id, **given)


def put(store: Store, command: CommandEntry, *memories) -> None:
    store.apply("command", WriteBatch(memories=memories, command=command)).wait()


def commands(store: Store, scope: str = "", n: int | None = None) -> list[CommandEntry]:
    with store.snapshot() as snapshot:
        return snapshot.commands(scope, n)


def test_commands_an_order_is_written_with_what_it_changes(store):
    put(store, entry(1, made=("fact/1",)), memory("fact/1"))
    put(store, entry(2, scope="ben", due=at()))
    put(store, entry(1, made=("fact/1",), state="undone"))
    assert [e.id for e in commands(store)] == [2, 1]
    assert commands(store, "anna") == [entry(1, made=("fact/1",), state="undone")]
    assert commands(store, n=1) == [entry(2, scope="ben", due=at())]
    with store.snapshot() as snapshot:
        assert snapshot.memory("anna", "fact/1")


def test_commands_an_order_that_cannot_be_written_changes_nothing(store):
    with pytest.raises(Exception, match="a record of"):
        put(store, entry(1, kind="x" * (5 << 20)), memory("fact/1"))
    with store.snapshot() as snapshot:
        assert snapshot.memory("anna", "fact/1") is None


def test_commands_forgetting_takes_out_of_orders_what_is_gone(store):
    for n in (1, 2, 3):
        store.append(turn(n))
    put(store, entry(1, turn=3, hidden=("chunk/1", "chunk/2"), turns=(1, 2)))
    put(store, entry(2, made=("fact/1",)), memory("fact/1", sources=(1,)))
    store.forget(Forget(turns=(1,)))
    assert commands(store) == [
        entry(2, state="erased"),
        entry(1, turn=3, hidden=("chunk/2",), turns=(2,)),
    ]
    store.forget(Forget(turns=(2, 3)))
    assert commands(store)[-1] == entry(1, state="erased")


def test_commands_forgetting_a_whole_namespace_takes_its_orders(store):
    for n, scope in ((1, "anna"), (2, "ben")):
        store.append(turn(n, scope=scope))
        put(store, entry(n, scope=scope, turn=n))
    store.forget(Forget(scope="anna", everything=True))
    assert [e.id for e in commands(store)] == [2]


def test_commands_an_aside_is_kept_as_one(store):
    store.append(turn(1, aside=True)).wait()
    with store.snapshot() as snapshot:
        (said,) = snapshot.turns()
    assert isinstance(said, Turn) and said.aside
