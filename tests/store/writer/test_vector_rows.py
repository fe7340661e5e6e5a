"""Vectors of earlier versions: found beside new ones, and rewritten a few at a time."""

from collections.abc import Iterator

import numpy as np
import pytest

from slowcat_memory.core.ranking import token_codes
from slowcat_memory.core.ranking.maxsim import maxsim, quantise
from slowcat_memory.errors import StoreError
from slowcat_memory.records import Forget, Key, TokenVectors, Vector, WriteBatch
from slowcat_memory.store import Store
from slowcat_memory.store.writer import vector_rows
from tests.harness.samples import memory, turn
from tests.support.old_vectors import old_rows, old_tokens, old_vector, put_rows

SPACE, TOKENS, DIM = "e/32", "e/32~0/16", 16
TURNS = 5
IDS = [*(f"chunk/{n}" for n in range(1, TURNS + 1)), "fact/1", "chunk/2?q"]


def units(seed: int, count: int, dim: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


VECTORS = dict(zip(IDS, units(1, len(IDS), 32), strict=True))
WORDS = {id: quantise(units(seed, 6, DIM)) for seed, id in enumerate(IDS)}


@pytest.fixture
def filled(store: Store) -> Store:
    """A store with a vector and token vectors of every kind of memory, as they once were."""
    for n in range(1, TURNS + 1):
        store.append(turn(n))
    store.apply("j", WriteBatch(memories=(memory("fact/1"),))).wait()
    rows = [
        old_vector(SPACE, "anna", id, row, draft=id == "chunk/3") for id, row in VECTORS.items()
    ]
    rows += [old_tokens(TOKENS, "anna", id, row, draft=id == "fact/1") for id, row in WORDS.items()]
    put_rows(store, rows, SPACE, TOKENS)
    return store


def key(memory: str) -> Key:
    return Key(scope="anna", memory=memory, id=f"{memory}?q", kind="question", text="Where?")


def stored(store: Store) -> dict[str, Vector]:
    with store.snapshot() as snapshot:
        return {vector.memory: vector for vector in snapshot.vectors(SPACE, "anna")}


def test_vectors_of_earlier_versions_are_found_beside_new_ones(filled: Store) -> None:
    made = WriteBatch(
        vectors=(Vector(scope="anna", memory="chunk/2", values=VECTORS["chunk/1"]),),
        embedder=SPACE,
        tokens=(TokenVectors(scope="anna", memory="chunk/2", values=WORDS["chunk/1"]),),
        token_key=TOKENS,
    )
    filled.apply("j", made).wait()
    assert stored(filled).keys() == set(IDS), "each once"
    with filled.snapshot() as snapshot:
        assert snapshot.counts()["vectors"] == 2 * len(IDS), "the new one took the old one's place"
        first, second, none = snapshot.tokens(TOKENS, "anna", ["chunk/1", "chunk/2", "chunk/9"])
        assert none is None and snapshot.has_tokens(TOKENS, "anna", drafts=True) == set(IDS)
        for id in ("chunk/1", "chunk/2"):
            found = snapshot.vector(SPACE, "anna", id)
            assert found and float(found.values @ VECTORS["chunk/1"]) > 0.9995
    one, other = maxsim(units(0, 6, DIM), [first, second])
    assert one > 0.98 and other > 0.9, "either form matches the words it was made of"


def test_vectors_of_earlier_versions_are_rewritten_without_a_model(filled: Store) -> None:
    before = stored(filled)
    assert len(old_rows(filled)) == 2 * len(IDS)
    assert filled.rewrite_vectors("anna") == 2 * len(IDS)
    assert not old_rows(filled)
    after = stored(filled)
    assert {id: vector.draft for id, vector in after.items()} == {id: id == "chunk/3" for id in IDS}
    for id, vector in after.items():
        assert float(vector.values @ before[id].values) > 0.9995
    with filled.snapshot() as snapshot:
        for id, found in zip(IDS, snapshot.tokens(TOKENS, "anna", IDS), strict=True):
            assert found is not None
            np.testing.assert_array_equal(found, token_codes.encode(WORDS[id]))
        assert snapshot.has_tokens(TOKENS, "anna", drafts=False) == set(IDS) - {"fact/1"}
    assert filled.rewrite_vectors("anna") == 0, "once"


def test_a_doctor_finds_nothing_wrong_with_rows_of_either_form(filled: Store) -> None:
    filled.apply("j", WriteBatch(keys=(key("chunk/2"),))).wait()
    for _ in range(2):
        found = filled.health(lambda scope: filled.path / "index" / scope)
        assert found.damaged == found.orphans == {}
        assert filled.repair() == {}
        filled.rewrite_vectors("anna")
    assert stored(filled).keys() == set(IDS)


def test_rewriting_stops_between_two_small_writes_and_goes_on_another_day(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_rows, "ROWS", 2)
    answers: Iterator[bool] = iter([False, False, True, True])
    assert filled.rewrite_vectors("anna", lambda: next(answers)) == 4
    assert stored(filled).keys() == set(IDS), "both forms are found meanwhile"
    assert filled.rewrite_vectors("anna") == 2 * len(IDS) - 4
    assert not old_rows(filled)


def test_what_is_forgotten_while_it_is_rewritten_does_not_come_back(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = vector_rows._replace_rows

    def forget_first(rows: list[vector_rows.Rewrite], tx: object) -> None:
        for row in rows:
            if row.key.endswith(b"chunk/4"):
                tx.drop("vectors", row.key)  # type: ignore[attr-defined]
        write(rows, tx)  # type: ignore[arg-type]

    monkeypatch.setattr(vector_rows, "_replace_rows", forget_first)
    filled.rewrite_vectors("anna")
    assert stored(filled).keys() == set(IDS) - {"chunk/4"}


@pytest.mark.parametrize("rewritten", [False, True])
def test_forgetting_takes_the_vectors_of_either_form(filled: Store, rewritten: bool) -> None:
    if rewritten:
        filled.rewrite_vectors("anna")
    filled.forget(Forget(scope="anna", memories=("chunk/2", "fact/1")))
    with filled.snapshot() as snapshot:
        assert stored(filled).keys() == {"chunk/1", "chunk/3", "chunk/4", "chunk/5", "chunk/2?q"}
        assert snapshot.has_tokens(TOKENS, "anna", drafts=True) == stored(filled).keys()


def test_a_row_that_is_no_vector_stays_as_it_is(filled: Store) -> None:
    key, value = old_tokens("e~0/4", "anna", "fact/1", np.ones((2, 4), np.int8))
    put_rows(filled, [(key, value)], "e~0/4")
    filled.rewrite_vectors("anna")
    assert old_rows(filled) == [key]


def test_spaces_of_unusual_names_are_rewritten_too(filled: Store) -> None:
    """A server may call its model anything."""
    rows = [
        old_vector("odd~model/32", "anna", "fact/1", VECTORS["fact/1"]),
        old_tokens("odd tokens", "anna", "fact/1", WORDS["fact/1"]),
    ]
    put_rows(filled, rows, "odd~model/32", "odd tokens")
    filled.rewrite_vectors("anna")
    with filled.snapshot() as snapshot:
        vector = snapshot.vector("odd~model/32", "anna", "fact/1")
        (tokens,) = snapshot.tokens("odd tokens", "anna", ["fact/1"])
    assert vector is not None and float(vector.values @ VECTORS["fact/1"]) > 0.9995
    np.testing.assert_array_equal(tokens, token_codes.encode(WORDS["fact/1"]))
    assert not old_rows(filled)


def test_a_readonly_store_is_not_rewritten(filled: Store, path) -> None:
    filled.close()
    with Store.open(path, readonly=True) as store, pytest.raises(StoreError):
        store.rewrite_vectors("anna")
