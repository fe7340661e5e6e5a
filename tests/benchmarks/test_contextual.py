from contextlib import contextmanager

import pytest

from benchmarks import contextual, datasets, quality, written
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import HashEmbedder
from tests.benchmarks import made_up


@pytest.fixture
def hashed(monkeypatch):
    """Engines whose vectors come from hashed words."""

    @contextmanager
    def opened(config, cache=None):
        embedder = HashEmbedder()
        engine = MemoryEngine(config, embedder=embedder)
        try:
            yield engine, embedder
        finally:
            engine.close()

    monkeypatch.setattr(quality, "opened", opened)


def test_what_was_written_about_a_turn_finds_it(hashed, tmp_path):
    data = datasets.load(made_up.write(tmp_path / "data"))
    notes = written.read(made_up.write_notes(tmp_path / "notes.jsonl.gz"))
    question = data.questions[1]
    asked = [datasets.replace(question, text="vessel remains relative")]
    found = contextual.measure(datasets.replace(data, questions=asked), notes)
    arms = found["arms"]
    assert found["n"] == 1 and found["contexts"] == 2
    assert arms["contextual embeddings + contextual BM25"]["MRR"] == 1.0
    assert arms["without text: embeddings + BM25"]["MRR"] < 1.0


def test_an_arm_without_its_text_says_so(hashed, tmp_path):
    data = datasets.load(made_up.write(tmp_path / "data"))
    arms = contextual.measure(data, written.Written())["arms"]
    assert list(arms) == [arm.name for arm in contextual.ARMS]
    for arm in contextual.ARMS:
        assert arms[arm.name].get("reason") == (contextual.NO_TEXT if arm.contexts else None)
