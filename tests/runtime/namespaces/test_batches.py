"""A stored batch is indexed from what it holds; the store is read only for what it does not hold."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.records import Context, Key, Turn, Vector, WriteBatch
from slowcat_memory.runtime.namespaces.documents import split_by_scope
from slowcat_memory.store import Store
from tests.support.namespace_scene import EMBEDDER, Scene, answers, check_alike, from_scratch, note


@contextmanager
def counted_reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[None]]:
    """Count the store snapshots that are opened."""
    reads: list[None] = []
    snapshot = Store.snapshot

    def counting(self: Store) -> object:
        reads.append(None)
        return snapshot(self)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "snapshot", counting)
        yield reads


def described(turn: Turn, n: int) -> WriteBatch:
    """What an idle step writes about a turn: context, key, and the vectors of both."""
    memory, key = chunk_id(turn.id), f"{chunk_id(turn.id)}?q{n}"
    texts = {memory: f"About word{n}\n{turn.speaker}: {turn.text}", key: f"who barks word{n} ?"}
    return WriteBatch(
        contexts=(Context(scope="anna", memory=memory, text=f"About word{n}"),),
        keys=(Key(scope="anna", memory=memory, id=key, kind="question", text=texts[key]),),
        vectors=tuple(
            Vector(scope="anna", memory=id_, values=EMBEDDER.encode_query(text))
            for id_, text in texts.items()
        ),
        embedder=EMBEDDER.key,
    )


def key_of(turn: Turn, name: str, text: str, kind: str = "question") -> WriteBatch:
    id_ = f"{chunk_id(turn.id)}?{name}"
    return WriteBatch(
        keys=(Key(scope="anna", memory=chunk_id(turn.id), id=id_, kind=kind, text=text),),
        vectors=(Vector(scope="anna", memory=id_, values=EMBEDDER.encode_query(text)),),
        embedder=EMBEDDER.key,
    )


def apply(scene: Scene, batch: WriteBatch) -> None:
    scene.store.apply("test", batch).wait()
    scene.namespace.apply(split_by_scope(batch)["anna"])


def test_batches_apply_description_of_recent_turns_reads_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = scene.talk(5)  # as many as are kept in memory
    batches = [described(turn, n) for n, turn in enumerate(turns)]
    with counted_reads(monkeypatch) as reads:
        for batch in batches:
            apply(scene, batch)
    assert reads == []
    check_alike(from_scratch(scene), scene.load(), scene.namespace)
    best = [row[2] for row in answers(scene.namespace)["max dog"].values()]
    assert all(score == score for score in best)  # each has a key with a vector


@pytest.mark.parametrize("what", ["replaced key", "dropped key", "context of an old turn", "note"])
def test_batches_apply_reads_once_what_a_batch_does_not_hold(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    turns = scene.talk(12)
    apply(scene, key_of(turns[0], "q1", "who barks at word0"))
    scene.talk(1, start=12)  # all before it are durable: only the latest stay in memory
    batch = {
        "replaced key": key_of(turns[0], "q1", "who purrs at word3"),
        "dropped key": WriteBatch(drop_keys=(("anna", f"{chunk_id(turns[0].id)}?q1"),)),
        "context of an old turn": described(turns[1], 1),
        "note": WriteBatch(memories=(note("note/1", "Max barks"), note("note/2", "a cat"))),
    }[what]
    with counted_reads(monkeypatch) as reads:
        apply(scene, batch)
    assert len(reads) == 1
    check_alike(from_scratch(scene), scene.load(), scene.namespace)


def test_split_by_scope_divides_a_batch_by_namespace(scene: Scene) -> None:
    batch = WriteBatch(
        memories=(note("note/1", "a"), note("note/2", "b", scope="berta")),
        drop=(("berta", "note/3"),),
        drop_keys=(("anna", "note/1?q1"),),
    )
    parts = split_by_scope(batch)
    assert parts.keys() == {"anna", "berta"}
    assert parts["anna"].changed == ["note/1"] and parts["anna"].key_drops == {"note/1"}
    assert parts["berta"].drops == ["note/3"] and list(parts["berta"].memories) == ["note/2"]
