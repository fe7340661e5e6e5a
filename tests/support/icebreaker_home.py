"""A store with sessions and icebreakers."""

from pathlib import Path
from typing import Any

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import SessionEdge, Turn
from slowcat_memory.testing import FixedClock, memory_config

HOUR = 3600.0


class Home:
    """A folder in which engines are opened one after another; the clock shows noon."""

    def __init__(self, path: Path) -> None:
        self.path, self.clock, self.engines = path / "memory", FixedClock(), []

    def open(self, readonly: bool = False, **icebreakers: Any) -> MemoryEngine:
        config = memory_config(self.path, icebreakers=icebreakers)
        engine = MemoryEngine(config, clock=self.clock, readonly=readonly)
        self.engines.append(engine)
        return engine

    def edge(self, engine: MemoryEngine, session: str, kind: str) -> None:
        at = self.clock()
        engine.append(SessionEdge(session=session, scope="anna", kind=kind, at=at))  # type: ignore[arg-type]
        engine.store.flush()

    def say(self, engine: MemoryEngine, session: str, text: str = "hello there") -> int:
        self.clock.advance(10)
        turn = {"session": session, "scope": "anna", "speaker": "Anna", "role": "user"}
        ack = engine.append(Turn(**turn, text=text, at=self.clock()))  # type: ignore[arg-type]
        engine.store.flush()
        return ack.id

    def session(self, engine: MemoryEngine, name: str) -> str:
        """A whole session, whose preamble was requested before; then five hours pass."""
        told = engine.session_context("anna")
        self.edge(engine, name, "start")
        self.say(engine, name)
        self.edge(engine, name, "end")
        self.clock.advance(5 * HOUR)
        return told
