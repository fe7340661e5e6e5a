from contextlib import contextmanager

import pytest

from benchmarks import contextual, datasets, quality, thinking
from benchmarks.thinking import ThinkingChoice
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import HashEmbedder
from tests.support import tiny_dataset as made_up


@pytest.fixture
def hashed(monkeypatch):
    """Engines whose vectors come from hashed words."""

    @contextmanager
    def opened(config, llm=None):
        embedder = HashEmbedder()
        engine = MemoryEngine(thinking.configured(config), embedder=embedder, llm=llm)
        try:
            yield engine
        finally:
            engine.close()

    monkeypatch.setattr(quality, "opened", opened)


def asking(folder, text):
    data = datasets.load(folder)
    return datasets.replace(data, questions=[datasets.replace(data.questions[1], text=text)])


def test_contextual_what_was_written_about_a_turn_finds_it(hashed, tmp_path):
    folder = made_up.write_notes(made_up.write(tmp_path / "data"))
    data = asking(folder, "vessel remains relative")
    found = contextual.measure(data, folder, ThinkingChoice(recorded=True))
    arms = found["arms"]
    assert found["n"] == 1 and found["contexts"] == 2
    assert arms["contextual embeddings + contextual BM25"]["MRR"] == 1.0
    assert arms["without text: embeddings + BM25"]["MRR"] < 1.0
