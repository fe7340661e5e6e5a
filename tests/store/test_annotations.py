"""Contexts, keys, tasks and runs: put, guarded, taken away with what they are about."""

from datetime import timedelta

import numpy as np
import pytest
from msgspec.structs import replace

from slowcat_memory.core.memory import indexed_text
from slowcat_memory.core.text.normalize import digest
from slowcat_memory.errors import StoreError
from slowcat_memory.records import Context, Forget, Key, Run, Task, TokenCodes, Vector, WriteBatch
from slowcat_memory.store import Store, StoreOptions
from tests.harness.samples import at, memory, turn
from tests.support.memories import Look, ids

SPACE, TOKENS = "e", "e~0/2"


def context(n: int, text: str = "Anna about her dog", **fields: object) -> Context:
    given = {"scope": "anna", "memory": f"chunk/{n}", "text": text, "sources": (n,)}
    return Context(**{**given, **fields})  # type: ignore[arg-type]


def key(n: int, name: str = "q1", **fields: object) -> Key:
    made = {"scope": "anna", "memory": f"chunk/{n}", "id": f"chunk/{n}?{name}", "kind": "question"}
    return Key(**{**made, "text": f"what about {n}", "sources": (n,), **fields})  # type: ignore[arg-type]


def task(name: str = "1", **fields: object) -> Task:
    given = {"id": f"place/anna/{name}", "job": "place", "scope": "anna", "key": name}
    return Task(**{**given, "created": at(), **fields})  # type: ignore[arg-type]


def run(name: str = "1") -> Run:
    return Run(task=f"place/anna/{name}", job="place", at=at(), ms=1.5, outcome="done")


def vectors(*ids: str) -> dict:
    rows = tuple(Vector(scope="anna", memory=id, values=np.ones(2, np.float32)) for id in ids)
    codes = np.ones((1, 1), np.uint8)
    cells = tuple(TokenCodes(scope="anna", memory=id, codes=codes) for id in ids)
    return {"vectors": rows, "embedder": SPACE, "tokens": cells, "token_key": TOKENS}


def kept_vectors(store: Store) -> set[str]:
    dense = {vector.memory for vector in Look(store).vectors(SPACE, "anna")}
    assert dense == Look(store).has_tokens(TOKENS, "anna")
    return dense


def apply(store: Store, **fields: object) -> None:
    store.apply("test", WriteBatch(**fields)).wait()  # type: ignore[arg-type]


@pytest.fixture
def told(store: Store) -> Store:
    """Three turns, each with a context, two keys and vectors; and a fact with a key."""
    for _ in range(3):
        store.append(turn(1)).wait()
    apply(
        store,
        memories=(memory("fact/1", sources=(1, 2)),),
        contexts=tuple(context(n) for n in (1, 2, 3)),
        keys=tuple(key(n, name) for n in (1, 2, 3) for name in ("q1", "q2"))
        + (key(1, memory="fact/1", id="fact/1?q1"),),
        **vectors("chunk/1", "chunk/2", "chunk/3", "chunk/1?q1", "chunk/2?q1", "fact/1?q1"),
    )
    return store


def test_annotations_apply_what_is_put_reads_back(told):
    assert Look(told).context("anna", "chunk/2") == context(2)
    assert [one.memory for one in Look(told).contexts("anna")] == ["chunk/1", "chunk/2", "chunk/3"]
    assert ids(Look(told).keys("anna", "chunk/2")) == ["chunk/2?q1", "chunk/2?q2"]
    assert len(Look(told).keys("anna")) == 7
    assert not Look(told).keys("anna", "chunk") + Look(told).keys("bob")
    assert Look(told).context("bob", "chunk/2") is None
    assert {"chunk/1?q1", "fact/1?q1"} < kept_vectors(told)


# ------------------------------------------------------------------- reading with the context


def test_annotations_snapshot_a_memory_is_read_with_its_context_and_kept_without(told):
    read = Look(told).read("anna", "chunk/1")
    assert (read.context, read.sources) == ("Anna about her dog", (1,))
    assert Look(told).read("bob", "chunk/1") is None is Look(told).read("anna", "chunk/9")
    apply(told, memories=(replace(read, pinned=True),))
    assert Look(told).memory("anna", "chunk/1") == replace(read, pinned=True, context="")
    apply(told, contexts=(context(1, ""),))
    assert Look(told).read("anna", "chunk/1") == replace(read, pinned=True, context="")
    assert Look(told).context("anna", "chunk/1") is None


# ------------------------------------------------------------------- vectors of another text


def test_annotations_apply_a_new_text_takes_the_old_ones_vectors_away(told):
    before = kept_vectors(told)
    apply(told, contexts=(context(1), context(2, "about her cat")), keys=(key(1, text="else"),))
    assert kept_vectors(told) == before - {"chunk/2", "chunk/1?q1"}
    apply(told, contexts=(context(3, ""),))
    assert "chunk/3" not in kept_vectors(told)


def test_annotations_apply_a_vector_of_a_text_that_changed_meanwhile_is_left_out(told):
    """It was made of the text as it was read; another step was quicker than its transaction."""
    old = indexed_text(Look(told).read("anna", "chunk/2"))
    late = {
        name: tuple(replace(one, of=digest(old)) for one in rows)
        if isinstance(rows, tuple)
        else rows
        for name, rows in vectors("chunk/2").items()
    }
    apply(told, **late)
    assert "chunk/2" in kept_vectors(told)  # it is that text's still
    apply(told, contexts=(context(2, "about her cat"),))
    apply(told, **late)
    assert "chunk/2" not in kept_vectors(told)
    apply(told, contexts=(context(2),))  # as it was before
    apply(told, **late)
    assert "chunk/2" in kept_vectors(told)


def test_annotations_apply_a_memory_that_says_something_else_loses_its_vectors(told):
    apply(told, **vectors("fact/1"))
    fact = Look(told).memory("anna", "fact/1")
    apply(told, memories=(replace(fact, importance=0.9),))
    assert "fact/1" in kept_vectors(told)
    apply(told, memories=(replace(fact, text="something else"),))
    assert "fact/1" not in kept_vectors(told)


def test_annotations_apply_the_same_step_may_bring_the_new_vectors(told):
    before = kept_vectors(told)
    apply(told, contexts=(context(2, "about her cat"),), **vectors("chunk/2"))
    assert kept_vectors(told) == before


# ------------------------------------------------------------------- what has no subject


def test_annotations_apply_what_belongs_to_nothing_is_left_out(told):
    apply(
        told,
        contexts=(context(9), context(1, scope="anna", memory="fact/9")),
        keys=(key(9), key(1, memory="fact/9", id="fact/9?q1")),
        **vectors("chunk/9?q1", "fact/9", "chunk/1?q9"),
    )
    assert (len(Look(told).contexts("anna")), len(Look(told).keys("anna"))) == (3, 7)
    assert not kept_vectors(told) & {"chunk/9?q1", "fact/9", "chunk/1?q9"}


@pytest.mark.parametrize("id", ["chunk/1", "chunk/1?", "chunk/2?q1", "chunk/1?a?b", "q1"])
def test_annotations_apply_an_id_that_is_no_keys_is_refused(told, id):
    with pytest.raises(StoreError, match="question mark"):
        apply(told, keys=(key(1, id=id),))


def test_annotations_apply_a_dropped_memory_takes_all_of_it_along(told):
    apply(told, memories=(memory("fact/11"),))
    apply(told, keys=(key(1, memory="fact/11", id="fact/11?q1"),), **vectors("fact/11?q1"))
    apply(told, drop=(("anna", "fact/1"), ("anna", "chunk/2")), drop_keys=(("anna", "chunk/1?q1"),))
    left = {one.id for one in Look(told).keys("anna")}
    assert {one.memory for one in Look(told).contexts("anna")} == {"chunk/1", "chunk/3"}
    assert left == {"chunk/1?q2", "chunk/3?q1", "chunk/3?q2", "fact/11?q1"}
    assert kept_vectors(told) == {"chunk/1", "chunk/3", "fact/11?q1"}


def test_annotations_apply_an_index_hears_of_the_memory_that_they_belong_to(told):
    before = Look(told).last_change()
    apply(told, contexts=(context(1, "new"),), **vectors("chunk/2?q1"))
    apply(told, keys=(key(3),), drop_keys=(("anna", "fact/1?q1"),))
    changed = Look(told).changed("anna", before)
    assert changed == ["chunk/1", "chunk/2", "chunk/3", "fact/1"]


# ------------------------------------------------------------------- tasks


def test_annotations_tasks_a_task_is_there_once(store):
    apply(store, tasks=(task("1"), task("2", rank=10)))
    apply(store, tasks=(task("1", attempts=2), task("3", created=at(9))))
    assert Look(store).task("place/anna/1") == task("1")
    assert [one.key for one in Look(store).tasks()] == ["2", "1", "3"]
    tried = task("1", attempts=1, not_before=at() + timedelta(hours=1), state="dead", error="E")
    apply(store, tasks=(tried,), retask=True)
    assert Look(store).tasks("place", "dead") == [tried] == Look(store).tasks(state="dead")
    assert len(Look(store).tasks("place", "waiting")) == 2
    assert not Look(store).tasks("plac")


def test_annotations_tasks_an_outcome_is_written_once(told):
    apply(told, tasks=(task("1"),))
    outcome = {"done": task("1").id, "run": run("1"), "contexts": (context(1, "first"),)}
    apply(told, **outcome)
    apply(told, **{**outcome, "contexts": (context(1, "second"),), "tasks": (task("2"),)})
    assert Look(told).read("anna", "chunk/1").context == "first"
    assert not Look(told).tasks()
    assert [(one.id, one.task) for one in Look(told).runs()] == [(2, ""), (1, "place/anna/1")]


def test_annotations_tasks_a_done_task_may_ask_for_itself_again(store):
    apply(store, tasks=(task("1"),))
    apply(store, done=task("1").id, tasks=(task("1", note="more"),))
    assert [one.note for one in Look(store).tasks()] == ["more"]


def test_annotations_runs_the_run_log_is_a_ring(open_store):
    store = open_store(options=StoreOptions(map_size_gib=0.0625, runs_keep=5, batch_limit=3))
    for n in range(12):
        store.apply("test", WriteBatch(run=run(str(n))))
    store.flush()
    assert ids(Look(store).runs()) == [12, 11, 10, 9, 8]
    assert [one.task for one in Look(store).runs(2)] == ["place/anna/11", "place/anna/10"]


# ------------------------------------------------------------------- forgetting, and coming too late


def test_annotations_apply_what_comes_too_late_is_left_out(told):
    apply(told, tasks=(task("1"),))
    told.forget(Forget(turns=(1,)))
    apply(
        told,
        contexts=(context(1), context(2, "made of both", sources=(1, 2))),
        keys=(key(1), key(3, "q3", sources=(1, 3))),
        tasks=(task("5", sources=(1,)), task("6", sources=(2,))),
        retask=True,
        run=run("5"),
        **vectors("chunk/1", "chunk/1?q1", "chunk/3?q3"),
    )
    assert Look(told).context("anna", "chunk/1") is None
    assert Look(told).context("anna", "chunk/2") == context(2)
    assert not Look(told).keys("anna", "chunk/1")
    assert ids(Look(told).keys("anna", "chunk/3")) == ["chunk/3?q1", "chunk/3?q2"]
    assert "place/anna/5" not in {one.id for one in Look(told).tasks()}
    assert "place/anna/6" in {one.id for one in Look(told).tasks()}
    assert Look(told).runs(1)[0].task == ""
    assert not kept_vectors(told) & {"chunk/1", "chunk/1?q1", "chunk/3?q3"}


def test_forget_a_forgotten_turn_takes_all_that_was_made_of_it(told):
    by_name = task("chunk/2"), task("s2", key="s2", id="place/anna/s2")
    apply(
        told,
        contexts=(context(3, "made of both", sources=(2, 3)),),
        keys=(key(1, "q3", sources=(1, 2)),),
        tasks=(task("5", sources=(2, 3)), task("6", sources=(3,)), *by_name),
        **vectors("chunk/3", "chunk/1?q3"),
    )
    for name in ("chunk/2", "5", "6"):
        apply(told, run=run(name))
    covered = told.covered(Forget(turns=(2,)))
    gone = told.forget(Forget(turns=(2,)))
    assert gone.memories == covered.memories == (("anna", "chunk/2"), ("anna", "fact/1"))
    assert [one.memory for one in Look(told).contexts("anna")] == ["chunk/1"]
    left = ids(Look(told).keys("anna"))
    assert left == ["chunk/1?q1", "chunk/1?q2", "chunk/3?q1", "chunk/3?q2"]
    assert {one.key for one in Look(told).tasks()} == {"6", "s2"}
    assert [one.task for one in Look(told).runs()] == ["place/anna/6"]
    assert Look(told).read("anna", "chunk/3").context == ""
    assert Look(told).changed("anna", 0) == [], "the index is to be made anew"
    assert kept_vectors(told) == {"chunk/1", "chunk/1?q1"}


def test_annotations_apply_forgetting_a_namespace_leaves_no_idle_work_of_it(told):
    other = task("1", scope="bob", id="place/bob/1")
    apply(told, tasks=(task("day"), other), run=run("day"))
    told.forget(Forget(scope="anna", everything=True))
    assert Look(told).tasks() == [other]
    assert not Look(told).runs()
    assert not [*Look(told).contexts("anna"), *Look(told).keys("anna")]
    assert kept_vectors(told) == set()
