import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from slowcat_memory import providers
from slowcat_memory.core.memory import chunk_id, indexed_text
from slowcat_memory.core.ranking import token_codes
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.upkeep import disk_bytes
from slowcat_memory.providers import Embedder, EmbedderReport
from slowcat_memory.records import Forget
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import TALK, Gate, busy, texts
from tests.support.memories import Look


def test_upkeep_embed_another_model_starts_with_words_alone_until_all_is_embedded_anew(home):
    engine = home.open(HashEmbedder(64))
    home.talk(engine)
    engine.upkeep.tidy("anna")
    engine.close()
    for embedder in (HashEmbedder(64, "another"), HashEmbedder(32)):
        gate = Gate(embedder.encode)
        embedder.encode = gate  # type: ignore[method-assign,assignment]
        engine = home.open(embedder)
        found = engine.search("What is my dog called?", "anna")
        assert found.stage == "lexical" and texts(found)[0] == TALK[0]
        assert engine.upkeep.stats()["index"]["anna"] == {
            "memories": 5, "sealed": 5, "tail": 0, "vectors": 0
        }  # fmt: skip
        gate.open.set()
        engine.flush(indexed=True)
        assert engine.search("dog", "anna").stage == "full"
        engine.upkeep.tidy("anna")
        assert engine.upkeep.stats()["index"]["anna"]["vectors"] == 5
        engine.close()
    again = HashEmbedder(64)
    again.encode = lambda texts: pytest.fail("its own vectors are still there")  # type: ignore[method-assign]
    engine = home.open(again)
    engine.upkeep.embed("anna")
    assert engine.upkeep.stats()["index"]["anna"]["vectors"] == 5


@pytest.mark.parametrize("loaded", [True, False], ids=["loaded", "not loaded"])
def test_upkeep_a_large_index_is_built_anew_before_the_bytes_of_the_former_are_erased(home, loaded):
    engine = home.open(index={"seal_at": 2, "seal_most": 3})
    dog, *_ = home.talk(engine)
    engine.upkeep.tidy("anna")
    if not loaded:
        engine.namespaces.drop_unused(after_s=0, kept=0)
    assert engine.forget(Forget(turns=(dog,))).erased
    engine = home.again(index={"seal_at": 2, "seal_most": 3})
    count = len(TALK) - 1
    assert engine.upkeep.stats()["index"]["anna"] == {
        "memories": count, "sealed": count, "tail": 0, "vectors": 0
    }  # fmt: skip
    assert TALK[0] not in texts(engine.search("dog", "anna"))


def test_upkeep_disk_bytes_passes_over_a_folder_that_goes_meanwhile(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"x")
    status = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        for other in {*tmp_path.iterdir()} - {path.parent} if path.name == "file" else ():
            shutil.rmtree(other)
        return status(path)

    monkeypatch.setattr(Path, "lstat", lstat)
    assert disk_bytes(tmp_path) > 0


def token_ids(engine: MemoryEngine, embedder: HashEmbedder) -> set[str]:
    engine.store.flush()
    return Look(engine.store).has_tokens(embedder.token_key, "anna")


def test_upkeep_embed_tokens_are_kept_beside_the_vectors(home):
    embedder = HashEmbedder(token_dim=32)
    engine = home.open(embedder)
    ids = [chunk_id(id_) for id_ in home.talk(engine)]
    engine.flush(indexed=True)
    assert token_ids(engine, embedder) == set(ids)
    held = Look(engine.store).tokens(embedder.token_key, "anna", ids)
    text = indexed_text(engine.search("Max", "anna", 1).hits[0].memory)
    (own,) = embedder.encode([text]).tokens
    assert any(np.array_equal(rows, token_codes.encode(own)) for rows in held)


def test_upkeep_embed_a_store_from_before_there_were_tokens_is_brought_up_to_date(home):
    before = home.open(HashEmbedder())
    ids = [chunk_id(id_) for id_ in home.talk(before)]
    before.upkeep.tidy("anna")
    before.close()
    embedder = HashEmbedder(token_dim=32)
    assert embedder.key == HashEmbedder().key
    engine, told = home.open(embedder), []
    engine.upkeep.embed("anna", lambda *what: told.append(what))
    assert told[-1] == ("embed", len(ids), len(ids))
    assert token_ids(engine, embedder) == set(ids)
    engine.upkeep.embed("anna", lambda *what: told.append(what))
    assert told[-1] == ("embed", 0, 0), "it is done once"


def test_upkeep_embed_tokens_may_be_switched_off(home):
    embedder = HashEmbedder(token_dim=32)
    engine = home.open(embedder, embedding={"kind": "none", "token_vectors": False})
    ids = [chunk_id(id_) for id_ in home.talk(engine)]
    engine.upkeep.tidy("anna")
    assert engine.upkeep.stats()["index"]["anna"]["vectors"] == len(ids)
    assert token_ids(engine, embedder) == set()
    assert engine.embedding.query("Max").tokens is None  # type: ignore[union-attr]


def test_upkeep_embed_vectors_are_not_lost_on_turns_that_the_index_takes_only_now(home):
    engine = home.open(HashEmbedder())
    with busy(engine):
        last = engine.append(*map(home.turn, TALK)).id
        embedding = threading.Thread(target=engine.upkeep.embed, args=("anna",))
        embedding.start()
        embedding.join(0.2)  # it could be done by now, if it did not wait for the index
    embedding.join(10)
    searcher = engine.namespaces.get("anna").searcher
    assert all(searcher.has_vector(chunk_id(last - n)) for n in range(len(TALK)))


def test_upkeep_embed_a_model_exported_while_people_talk(home, monkeypatch):
    """Words alone first; then words and vectors, with nothing lost on the way."""
    embedder, gate, exported = HashEmbedder(), Gate(), []

    def opened(_: object) -> tuple[Embedder | None, EmbedderReport]:
        if not exported:
            return None, EmbedderReport(state="needs export", source="a model")
        ready = EmbedderReport(state="ready", source="a model", key=embedder.key)
        return embedder, ready

    monkeypatch.setattr(providers, "open_query_embedder", opened)
    monkeypatch.setattr(providers, "export_model", lambda _: (gate(), exported.append(1)))
    engine = home.open(embedding={"kind": "local"})
    for text in TALK:
        engine.append(home.turn(text))
    assert engine.search("dog", "anna").stage == "lexical"
    assert gate.reached.wait(30)
    gate.open.set()
    home.talk(engine, "My cat is called Moritz")
    engine.flush(indexed=True)
    assert engine.search("dog", "anna").stage == "full"
    assert engine.upkeep.stats()["index"]["anna"]["vectors"] == 6
