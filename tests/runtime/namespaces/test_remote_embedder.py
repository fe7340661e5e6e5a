"""An embedding model on another machine is sent no text of a local-only memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Context, Key, Made, Memory, WriteBatch
from slowcat_memory.testing import HashEmbedder, memory_config
from tests.support.engine_talks import NOW, Clock, talk

SECRET = "Zqxsecret"


class Away(HashEmbedder):
    """Records the documents that it is sent."""

    def __init__(self, remote: bool) -> None:
        super().__init__()
        self.remote, self.texts = remote, list[str]()

    def encode(self, texts: Any, progress: Any = None) -> np.ndarray:
        self.texts += texts
        return super().encode(texts, progress)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    made: list[MemoryEngine] = []

    def open_it(embedder: Away) -> MemoryEngine:
        while made:
            made.pop().close()
        made.append(MemoryEngine(memory_config(tmp_path / "m"), clock=Clock(), embedder=embedder))
        return made[0]

    yield open_it
    while made:
        made.pop().close()


@pytest.mark.parametrize("remote", [True, False])
def test_remote_embedder_gets_no_text_of_local_only_memories(opened: Any, remote: bool) -> None:
    embedder = Away(remote)
    engine = opened(embedder)
    open_turn, told = talk(engine, "My dog is called Max.", "Nice.", "And another thing.")[::2]
    engine.mark("anna", chunk_id(told), local_only=True)
    engine.remember(f"My bank pin is {SECRET}.", "anna", local_only=True)
    note = Key(scope="anna", memory=chunk_id(open_turn), id=f"{chunk_id(open_turn)}?q1",
               kind="question", text=f"Who is {SECRET}?", sources=(told,))  # fmt: skip
    context = Context(scope="anna", memory=chunk_id(open_turn), text=f"After {SECRET}.",
                      sources=(open_turn, told))  # fmt: skip
    engine.apply("test", WriteBatch(keys=(note,), contexts=(context,)))
    made = Made(job="test")
    fact = Memory(id="fact/1", kind="idea", scope="anna", speaker="Anna", valid_from=NOW,
                  text=f"Anna's therapist is {SECRET}.", sources=(told,), made=made)  # fmt: skip
    engine.apply("test", WriteBatch(memories=(fact,)))
    correction = replace(fact, id="note/1", kind="note", made=None, sources=(),
                         derived_from=(("anna", "fact/1"),))  # fmt: skip
    engine.notes.put(correction)
    engine.drain()
    hidden = engine.wiring.namespaces.get("anna").local_only()
    assert {chunk_id(told), "fact/1", "note/1"} <= hidden
    told: list[tuple[str, int, int]] = []
    engine.maintain("embed", "anna", progress=lambda *what: told.append(what))
    assert told == [("embed", 0, 0)], "what must not be sent is not due for ever"
    assert any("Max" in text for text in embedder.texts)
    assert any(SECRET in text for text in embedder.texts) is not remote


@pytest.mark.parametrize("remote", [True, False])
def test_remote_embedder_gets_no_texts_from_idle_jobs(opened: Any, remote: bool) -> None:
    """A job passes bare texts, of which nobody knows whose they are."""
    embedder = Away(remote)
    made = opened(embedder).wiring.vectors.encode([f"Anna's therapist is {SECRET}."])
    assert len(made.vectors) == (not remote)
    assert (SECRET in str(embedder.texts)) is not remote
