"""Engines over one folder, and ways to block their disk and their workers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.search import latest_session
from slowcat_memory.providers import Embedder
from slowcat_memory.records import LedgerEntry, Memory, Session, SessionEdge, Turn
from slowcat_memory.runtime.commands.executor import why
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.store import Store
from slowcat_memory.testing import FixedClock, HashEmbedder, memory_config
from tests.support.rows import listed_texts
from tests.support.said import turn_at

TALK = listed_texts("engine_talk")
HOUR = 3600.0
SECRET = "the secret word is swordfish"


class Gate:
    """Blocks work in its middle until it is released."""

    def __init__(self, then: Callable[..., Any] = lambda *_: None) -> None:
        self.reached, self.open, self._then = threading.Event(), threading.Event(), then

    def __call__(self, *args: Any, **how: Any) -> Any:
        self.reached.set()
        assert self.open.wait(30)
        return self._then(*args, **how)


class GatedEmbedder(HashEmbedder):
    """Embeds queries of some threads while its gate is open, and notes them."""

    def __init__(self, *threads: str, note: Callable[[str], Any] = str) -> None:
        super().__init__(512)
        self.threads, self.note, self.asked = threads, note, list[Any]()
        self.reached, self.gate = threading.Event(), threading.Event()
        self.gate.set()

    def encode_query(self, text: str) -> Any:
        if threading.current_thread().name.startswith(self.threads):
            self.asked.append(self.note(text))
            self.reached.set()
            assert self.gate.wait(20)
        return super().encode_query(text)


class RecordingEmbedder(HashEmbedder):
    """Notes the documents that it is sent."""

    def __init__(self, remote: bool = True) -> None:
        super().__init__()
        self.remote, self.texts = remote, list[str]()

    def encode(self, texts: Any) -> Any:
        self.texts += texts
        return super().encode(texts)


@contextmanager
def held(work: Callable[[Gate], Any]) -> Iterator[None]:
    """Do some work in another thread, and keep it in its middle."""
    gate = Gate()
    thread = threading.Thread(target=work, args=(gate,))
    thread.start()
    assert gate.reached.wait(30)
    try:
        yield
    finally:
        gate.open.set()
        thread.join()


def stalled(store: Store) -> AbstractContextManager[None]:
    """Block all writes to disk."""
    return held(store._checked_writer().call)


def busy(engine: MemoryEngine) -> AbstractContextManager[None]:
    """Keep the engine's worker busy."""
    return held(engine.indexer.talk.submit)


class Home:
    """A folder in which engines are opened one after another."""

    def __init__(self, path: Path) -> None:
        self.path, self.clock, self.engines = path / "memory", FixedClock(), []

    def open(self, embedder: Embedder | None = None, **how: Any) -> MemoryEngine:
        readonly = how.pop("readonly", False)
        engine = MemoryEngine(
            memory_config(self.path, **how),
            clock=self.clock,
            embedder=embedder,
            readonly=readonly,
        )
        self.engines.append(engine)
        engine.prepare("anna")
        return engine

    def again(self, embedder: Embedder | None = None, **how: Any) -> MemoryEngine:
        """Close the engine that was opened last, and open the folder as a restart does."""
        self.engines[-1].close()
        return self.open(embedder, **how)

    def turn(self, text: str, session: str = "s", scope: str = "anna", role: str = "user") -> Turn:
        self.clock.advance(1)
        return turn_at(text, self.clock(), session=session, scope=scope, role=role)

    def talk(self, engine: MemoryEngine, *texts: str, session: str = "s") -> list[int]:
        ids = [engine.append(self.turn(text, session)).id for text in texts or TALK]
        engine.flush(indexed=True)
        return ids

    def say(self, engine: MemoryEngine, session: str, text: str = "hello there") -> int:
        id_ = engine.append(self.turn(text, session)).id
        engine.store.flush()
        return id_

    def edge(self, engine: MemoryEngine, session: str, kind: str, **more: Any) -> None:
        engine.append(edge(self, session, kind, **more))
        engine.store.flush()

    def session(self, engine: MemoryEngine, name: str) -> str:
        """A whole session, whose preamble was requested before; then five hours pass."""
        told = engine.session_context("anna")
        self.edge(engine, name, "start")
        self.say(engine, name)
        self.edge(engine, name, "end")
        self.clock.advance(5 * HOUR)
        return told


def texts(found: Recollection) -> list[str]:
    return [hit.memory.text for hit in found.hits]


def first(engine: MemoryEngine, text: str) -> str:
    return (texts(engine.search(text, "anna")) or [""])[0]


def edge(home: Home, session: str, kind: Any, **more: Any) -> SessionEdge:
    home.clock.advance(60)
    return SessionEdge(session=session, scope="anna", kind=kind, at=home.clock(), **more)


def why_of(engine: MemoryEngine, turn: int) -> tuple[LedgerEntry, dict[str, Memory]] | None:
    """Return the ledger row of a turn, and its memories."""
    with engine.snapshot() as snapshot:
        return why(snapshot, turn)


def last_session(engine: MemoryEngine, scope: str = "anna") -> Session | None:
    """Return the session that was active last."""
    with engine.snapshot() as snapshot:
        return latest_session(snapshot, scope, engine.clock())
