"""Engines for the lists: a store that is gone afterwards, and a clock that follows what is said."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import cache

from benchmarks import common
from slowcat_memory.core.facts.fact import is_fact
from slowcat_memory.core.memory import FACT
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import Embedder, EmbedderOptions, open_query_embedder
from slowcat_memory.records import Memory, SessionEdge, Turn
from slowcat_memory.store import Snapshot
from slowcat_memory.testing import FixedClock, memory_config

SILENCE_S = 1800.0  # after which a conversation is over


class Home:
    """An engine and its clock, to which a conversation is told in order."""

    def __init__(self, engine: MemoryEngine, clock: FixedClock) -> None:
        self.engine, self.clock = engine, clock
        self._open: dict[str, tuple[str, datetime]] = {}  # by scope: session, and its last turn

    def say(self, scope: str, at: datetime, text: str, *, speaker: str = "User") -> int:
        """Log a turn, in its session; a long silence begins another one.

        Args:
            at: Aware; the clock is set to it, and never back.
            speaker: "" is the agent.

        Returns:
            The turn's log id.
        """
        self.wait_until(at)
        at = at.astimezone(UTC)
        session, last = self._open.get(scope, ("", at))
        if session and (at - last).total_seconds() > SILENCE_S:
            self._edge(scope, session, "end", last)
            session = ""
        if not session:
            session = f"{scope}-{at:%Y%m%d%H%M%S}"
            self._edge(scope, session, "start", at)
        self._open[scope] = session, at
        agent = self.engine.config.memory.agent_name
        turn = Turn(session=session, scope=scope, speaker=speaker or agent,
                    role="user" if speaker else "assistant", text=text, at=at)  # fmt: skip
        return self.engine.append(turn).id

    def hang_up(self) -> None:
        """End all sessions, and wait until everything is stored and indexed."""
        for scope, (session, last) in self._open.items():
            self._edge(scope, session, "end", last)
        self._open.clear()
        self.engine.flush(indexed=True)

    def wait_until(self, at: datetime) -> None:
        """Let the clock run to a moment, if that is ahead."""
        self.clock.advance(max(0.0, (at.astimezone(UTC) - self.clock()).total_seconds()))

    def _edge(self, scope: str, session: str, kind: str, at: datetime) -> None:
        reason = "silence" if kind == "end" else ""
        edge = SessionEdge(session=session, scope=scope, kind=kind, at=at, reason=reason)  # type: ignore[arg-type]  # of the two literals
        self.engine.append(edge)


@contextmanager
def home(
    language: str, zone: str, now: datetime, embedder: Embedder | None = None
) -> Iterator[Home]:
    """Open an engine without an LLM over an empty store.

    Args:
        now: Where its clock begins, aware.
        embedder: None for words alone.
    """
    clock = FixedClock(now.astimezone(UTC))
    with common.scratch() as folder:
        memory = {"path": str(folder), "time_zone": zone, "language": language}
        config = memory_config(folder, memory=memory, idle={"grace_s": 0.0, "on_battery": True})
        with closing(MemoryEngine(config, clock=clock, embedder=embedder)) as engine:
            yield Home(engine, clock)


@cache
def real_embedder() -> Embedder | None:
    """Return the configured embedding model; None if it is not on this machine."""
    return open_query_embedder(EmbedderOptions())[0]


def facts_of(snapshot: Snapshot, scope: str) -> list[Memory]:
    """Return the facts of a scope, ended ones included, without quarantined ones."""
    return [one for one in snapshot.memories(scope, f"{FACT}/") if is_fact(one)]
