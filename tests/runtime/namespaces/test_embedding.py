import contextlib
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from slowcat_memory import providers
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import EmbedderOptions, EmbedderReport
from slowcat_memory.providers.embedding import model_files
from slowcat_memory.records import Context, Key, Made, WriteBatch
from slowcat_memory.runtime.namespaces.indexer import Embedding
from slowcat_memory.testing import FixedClock, HashEmbedder, memory_config
from tests.support.engine_home import RecordingEmbedder
from tests.support.engine_talks import NOW, talk
from tests.support.memories import Look
from tests.support.processors import logged
from tests.support.rows import cases
from tests.support.said import memory_at


def test_embedding_query_rests_for_a_minute_after_three_failures_in_a_row_or_late_answers():
    clock, embedder = FixedClock(), HashEmbedder(256)
    vector, model = embedder.encode_query("x"), Mock(side_effect=RuntimeError("no"))
    embedder.encode_query = model  # type: ignore[method-assign]
    embedding = Embedding(EmbedderOptions(), 0, clock, Metrics(), embedder, clock.boot_s)

    def answers(times: int) -> list[bool]:
        return [embedding.query("x") is not None for _ in range(times)]

    assert not any(answers(10)) and model.call_count == 3
    clock.advance(60)
    assert not any(answers(2)) and model.call_count == 4  # it failed again
    clock.advance(60)
    model.side_effect = lambda text: clock.advance(0.1) or vector
    assert all(answers(2))
    model.side_effect = lambda text: clock.advance(1.0) or vector
    assert answers(4) == [True, True, True, False]  # it counts anew, and a late one is taken
    assert embedding.metrics.counts()["embedding_failures"] == 7


# ------------------------------------------------------------------- what cannot be opened


@cases("embedding_options.jsonl", "")
def test_embedding_a_model_that_cannot_be_used_costs_vectors_alone(
    tmp_path, monkeypatch, options, why
):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with logged("WARNING") as lines:
        engine = MemoryEngine(memory_config(tmp_path, embedding=options))
        with contextlib.closing(engine):
            engine.remember("My dog is called Max", "anna")
            assert engine.search("dog", "anna").hits
            assert engine.embedding.report.state == "missing"
    (line,) = lines
    assert "by words alone" in line and why in line


def test_embedding_an_export_without_a_network_names_the_model_and_the_remedy(
    tmp_path, monkeypatch
):
    model = "all-MiniLM-L6-v2"

    def export(_: object) -> None:
        raise model_files.not_downloadable(model, "no network")

    monkeypatch.setattr(providers, "export_model", export)
    monkeypatch.setattr(
        providers,
        "open_query_embedder",
        lambda _: (None, EmbedderReport(state="needs export", source="the model hub")),
    )
    with logged("WARNING") as lines:
        engine = MemoryEngine(memory_config(tmp_path, embedding={"kind": "local"}))
        engine.flush(indexed=True)
        engine.close()
    assert any(model in line and "pip install" in line for line in lines), lines


SECRET = "Zqxsecret"


@pytest.mark.parametrize("remote", [True, False])
def test_remote_embedder_gets_no_text_of_local_only_memories(home, remote):
    embedder = RecordingEmbedder(remote)
    engine = home.open(embedder)
    open_turn, told = talk(engine, "My dog is called Max.", "Nice.", "And another thing.")[::2]
    engine.edit("anna", chunk_id(told), local_only=True)
    engine.remember(f"My bank pin is {SECRET}.", "anna", local_only=True)
    note = Key(scope="anna", memory=chunk_id(open_turn), id=f"{chunk_id(open_turn)}?q1",
               kind="question", text=f"Who is {SECRET}?", sources=(told,))  # fmt: skip
    context = Context(scope="anna", memory=chunk_id(open_turn), text=f"After {SECRET}.",
                      sources=(open_turn, told))  # fmt: skip
    engine.apply("test", WriteBatch(keys=(note,), contexts=(context,)))
    own = {"kind": "idea", "sources": (told,), "made": Made(job="test")}
    fact = memory_at("fact/1", f"Anna's therapist is {SECRET}.", NOW, **own)
    engine.apply("test", WriteBatch(memories=(fact,)))
    correction = replace(fact, id="note/1", kind="note", made=None, sources=(),
                         derived_from=(("anna", "fact/1"),))  # fmt: skip
    engine.notes.put(correction)
    engine.flush(indexed=True)
    hidden = {one.id for one in Look(engine).memories("anna") if one.local_only}
    assert {chunk_id(told), "fact/1", "note/1"} <= hidden
    told: list[tuple[str, int, int]] = []
    engine.upkeep.embed("anna", progress=lambda *what: told.append(what))
    assert told == [("embed", 0, 0)], "what must not be sent is not due for ever"
    assert any("Max" in text for text in embedder.texts)
    assert any(SECRET in text for text in embedder.texts) is not remote


@pytest.mark.parametrize("remote", [True, False])
def test_remote_embedder_gets_no_texts_from_idle_jobs(home, remote):
    """A job passes bare texts, of which nobody knows whose they are."""
    embedder = RecordingEmbedder(remote)
    made = home.open(embedder).indexer.encode([f"Anna's therapist is {SECRET}."])
    assert len(made.vectors) == (not remote)
    assert (SECRET in str(embedder.texts)) is not remote
