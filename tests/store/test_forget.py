from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.errors import StoreClosedError, StoreError
from slowcat_memory.records import Context, Forget, Key, Run, Task, Turn, Vector, WriteBatch
from slowcat_memory.store import Store
from slowcat_memory.store.bookkeeping import fold_session
from tests.harness.samples import at, edge, memory, token, traces, turn
from tests.support.memories import Look, ids
from tests.support.rows import cases
from tests.support.tiered_stores import SMALL, say, wished


def vectors(*ids):
    values = np.full(4, 0.5, np.float32)
    return tuple(Vector(scope="anna", memory=id, values=values) for id in ids)


def test_forget_ids_of_forgotten_turns_are_not_given_again(open_store):
    store = open_store()
    say(store, 3)
    store.forget(Forget(turns=(3,)))
    store.close()
    assert open_store().append(turn(4)).id == 4


@cases("store/forget.jsonl")
def test_forget_all_conditions_must_hold(store, what, left):
    left = set(left)
    said = [("anna", "s1", "anna"), ("bob", "s1", "anna"), ("anna", "s1", "anna"),
            ("bob", "s2", "pool"), ("anna", "s2", "anna")]  # fmt: skip
    for n, (speaker, session, scope) in enumerate(said, 1):
        store.append(turn(n, speaker=speaker, session=session, scope=scope))
    gone = store.forget(wished(what))
    assert set(gone.turns) == {1, 2, 3, 4, 5} - left
    assert gone.erased
    assert {event.id for event in Look(store).turns()} == left
    assert Look(store).forget_epoch() == (len(left) < 5)


def test_forget_memories_by_name_and_without_sources(store):
    store.append(turn(1)).wait()
    made = (
        memory("fact/a", speaker="anna"),
        memory("fact/b", speaker="bob"),
        memory("fact/c", speaker="bob", sources=(1,)),
        memory("fact/d", scope="pool", speaker="bob"),
        memory("fact/e", sources=(1,)),
    )
    store.apply("j", WriteBatch(memories=made)).wait()
    for named in ("fact/a", "fact/e"):
        assert store.forget(Forget(memories=(named,))).memories == (("anna", named),)
    gone = store.forget(Forget(scope="anna", speaker="bob"))
    assert gone.memories == (("anna", "fact/b"),), "c speaks of a turn that stays"
    gone = store.forget(Forget(everything=True))
    left = {("anna", "chunk/1"), ("anna", "fact/c"), ("pool", "fact/d")}
    assert set(gone.memories) == left


def test_forget_a_memory_takes_what_was_made_from_it(store, path):
    made = (
        memory("note/1", text=token(1)),
        replace(
            memory("block/human", text=f"knows {token(1)}"), derived_from=(("anna", "note/1"),)
        ),
        replace(memory("icebreaker/1", text=token(1)), derived_from=(("anna", "block/human"),)),
        memory("note/2", text=token(2)),
        memory("note/7", sources=(7,)),
    )
    store.append(turn(1, role="assistant"))
    reply = replace(memory("chunk/1"), sources=(1,), derived_from=(("anna", "note/1"),))
    store.apply("j", WriteBatch(memories=(*made, reply))).wait()
    store.forget([Forget(memories=("note/1",)), Forget(turns=(7,))])  # its row is gone already
    assert {one.id for one in Look(store).memories("anna")} == {"note/2", "chunk/1"}


def test_forget_a_session_without_turns_goes_with_its_edges(store):
    store.append(edge("start"))
    store.append(turn(1))
    store.append(edge("end"))
    store.append(edge("start", session="s2"))
    store.append(turn(1, session="s2"))
    store.forget(Forget(turns=(2,)))
    assert ids(Look(store).events()) == [4, 5]
    assert ids(Look(store).sessions()) == ["s2"]
    assert Look(store).counts()["log_by_scope"] == 2


def test_forget_forgetting_covers_what_still_waits(store):
    for n in range(300):
        store.append(turn(n))
    assert len(store.forget(Forget(everything=True)).turns) == 300


def test_forget_hidden_first_erased_later(open_store, path):
    store = open_store()
    store.append(turn(1))
    store.append(turn(2))
    assert not store.forget(Forget(turns=(1,)), erase=False).erased
    assert Look(store).turn(1) is None
    assert traces(path, 1), "the control: deleting alone leaves the text in the file"
    assert store.erase()
    assert store.erase()
    store.close()
    assert traces(path, 1) == []


def test_forget_a_reader_that_stays_puts_off_the_erasure(store, monkeypatch):
    monkeypatch.setattr("slowcat_memory.store.care.copies.READER_TIMEOUT_S", 0.05)
    store.append(turn(1)).wait()
    with store.snapshot() as snapshot:
        assert not store.forget(Forget(turns=(1,))).erased
        assert not (store.path / "data.mdb").exists(), "it is replaced nevertheless"
        assert snapshot.turn(1) is not None, "a snapshot does not change"
        with store.snapshot() as later:
            assert later.turn(1) is None
    assert store.erase()


def test_forget_from_the_writer_thread_it_is_refused_and_not_waited_for(store):
    said = []

    def forget(_):
        try:
            store.forget(Forget(everything=True))
        except StoreError as error:
            said.append(error)

    store.append(turn(1)).future.add_done_callback(forget)
    assert store.flush(30)
    store.close()
    assert said == [] or "writer thread" in str(said[0])  # [] when it was done before we asked
    with pytest.raises(StoreClosedError):
        store.forget(Forget(everything=True))


# ------------------------------------------------------------------- laws


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(5, 40))
def test_forget_after_any_forgetting_the_rest_is_as_if_it_had_never_been(rng, n):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with Store.open(path, options=SMALL) as store:
            events = fill(store, rng, n)
            gone = set(store.forget(random_wish(rng, n)).turns)
            kept = check_rest(store, events, gone)
        texts = {event.id for event in events if isinstance(event, Turn)}
        assert traces(path, *texts & gone) == []
        assert {number for number, _ in traces(path, *kept)} == kept


def fill(store, rng, n):
    events = []
    for number in range(1, n + 1):
        who = rng.choice(["anna", "bob"])
        given = {"session": f"s{rng.randrange(3)}", "scope": rng.choice(["anna", "pool"])}
        new = turn(number, speaker=who, **given) if rng.random() < 0.8 else edge("end", **given)
        events.append(store.append(new).event)
        sources = tuple(sorted({rng.randint(1, number) for _ in range(rng.randrange(3))}))
        made = memory(f"fact/{number}", speaker="nobody", sources=sources)
        store.apply("j", WriteBatch(memories=(made,)))
        if isinstance(new, Turn):
            store.apply("j", thought(new, number, sources))
    return events


def thought(turn, number, sources):
    """What idle jobs make of a turn and of others: a context, a key, a task, a run."""
    own = (number, *sources)
    words = " ".join(token(source) for source in own)
    about = {"scope": turn.scope, "memory": f"chunk/{number}", "sources": own}
    task = f"place/{turn.scope}/{number}"
    return WriteBatch(
        contexts=(Context(**about, text=f"about {words}"),),
        keys=(Key(**about, id=f"chunk/{number}?q", kind="question", text=f"why {words}"),),
        vectors=vectors(f"chunk/{number}?q") if turn.scope == "anna" else (),
        embedder="e",
        tasks=(Task(id=task, job="place", key=str(number), created=at(), sources=own),),
        run=Run(task=task, job="place", at=at(), ms=1.0, outcome="done"),
    )


def random_wish(rng, n):
    return rng.choice([
        Forget(turns=tuple(rng.sample(range(1, n + 1), 3))),
        Forget(speaker=rng.choice(["anna", "bob"])),
        Forget(session="s1"),
        Forget(since=at(rng.randrange(n)), until=at() + timedelta(seconds=n // 2 + 3)),
        Forget(scope="pool", everything=True),
        Forget(memories=(f"chunk/{rng.randint(1, n)}", f"fact/{rng.randint(1, n)}")),
    ])  # fmt: skip


def check_rest(store, events, gone):
    here = Look(store).events()
    rows = {row.id: row for row in Look(store).sessions()}
    facts = {m.id: m for scope in ("anna", "pool") for m in Look(store).memories(scope)}
    by_scope = sorted(e.id for scope in ("anna", "pool") for e in Look(store).events(scope))
    kept = {event.id for event in here if isinstance(event, Turn)}
    assert kept == {e.id for e in events if isinstance(e, Turn)} - gone
    assert by_scope == [event.id for event in here]
    folded = {}
    for event in here:
        folded[event.session] = fold_session(folded.get(event.session), event)
    assert rows == folded
    assert not any(set(fact.sources) & gone for fact in facts.values())
    check_thoughts(store, events, gone)
    return kept


def check_thoughts(store, events, gone):
    """Exactly what was made of no forgotten turn is there, and the vectors of that alone."""
    scopes = ("anna", "pool")
    contexts = [one for scope in scopes for one in Look(store).contexts(scope)]
    found = [one for scope in scopes for one in Look(store).keys(scope)]
    tasks = Look(store).tasks()
    of_keys = {v.memory for v in Look(store).vectors("e", "anna")}
    turns = {event.id for event in events if isinstance(event, Turn)}
    for made in (contexts, found, tasks):
        assert not any(set(one.sources) & gone for one in made)
    assert {one.memory for one in contexts} == {one.memory for one in found}
    assert {f"chunk/{n}" for n in turns - gone} >= {one.memory for one in contexts}
    assert of_keys == {one.id for one in found if one.scope == "anna"}
