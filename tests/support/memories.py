"""Reads a memory's content for tests, and prepares it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Event, LedgerEntry, SessionEdge, Turn
from slowcat_memory.store import Store


@contextmanager
def engine_of(config: Config, **parts: Any) -> Iterator[MemoryEngine]:
    with closing(MemoryEngine(config, **parts)) as engine:
        yield engine


def engine_remembering(told: Mapping[float, Iterable[str]]) -> Any:
    """Return a fixture: an engine that was told lines, by days ago."""

    @pytest.fixture
    def engine(config: Config) -> Iterator[MemoryEngine]:
        for days, lines in told.items():
            remember(config, *lines, days=days)
        with engine_of(config) as made:
            yield made

    return engine


def events(config: Config, scope: str = "") -> list[Event]:
    """Read the whole log; also while a pipeline of this process writes it."""
    with Store.open(config.folder, readonly=True) as store, store.snapshot() as snapshot:
        return list(snapshot.events(scope))


def turns(config: Config, scope: str = "") -> list[Turn]:
    return [event for event in events(config, scope) if isinstance(event, Turn)]


def said(config: Config, scope: str = "") -> list[tuple[str, str]]:
    """Return (speaker, words) of each turn."""
    return [(turn.speaker, turn.text) for turn in turns(config, scope)]


def edges(config: Config) -> list[str]:
    """Return how sessions began and ended: "start", "end disconnect"."""
    found = [event for event in events(config) if isinstance(event, SessionEdge)]
    return [f"{edge.kind} {edge.reason}".strip() for edge in found]


def ledger(config: Config) -> list[LedgerEntry]:
    """Return the ledger's rows, oldest first."""
    with Store.open(config.folder, readonly=True) as store, store.snapshot() as snapshot:
        return sorted(snapshot.ledger_tail(1000), key=lambda entry: entry.turn)


def remember(config: Config, *lines: str, days: float = 3, scope: str = "user") -> None:
    """Store one session of an earlier day: "Anna: My dog is called Max."."""
    at = datetime.now(UTC) - timedelta(days=days)
    session = f"earlier-{days}"
    with engine_of(config) as engine:
        engine.append(SessionEdge(session=session, scope=scope, kind="start", at=at))
        for line in lines:
            speaker, _, text = line.partition(": ")
            role = "assistant" if speaker == "Assistant" else "user"
            turn = Turn(session=session, scope=scope, speaker=speaker, role=role, text=text, at=at)
            engine.append(turn)
            at += timedelta(seconds=10)
        edge = SessionEdge(session=session, scope=scope, kind="end", at=at, reason="silence")
        engine.append(edge)


class Look:
    """Reads a store or an engine: ``Look(store).turns("anna")``, each read a snapshot of its own."""

    def __init__(self, store: Store | MemoryEngine) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def read(*arguments: Any, **how: Any) -> Any:
            with self._store.snapshot() as snapshot:
                found = getattr(snapshot, name)(*arguments, **how)
                return list(found) if isinstance(found, Iterator) else found

        return read


def ids(rows: Iterable[Any]) -> list[Any]:
    return [row.id for row in rows]


def contents(folder: Path) -> list[tuple[str, bytes]]:
    """Read all files under a folder; all anew if one is gone, since another may hold its text."""
    while True:
        with suppress(FileNotFoundError):
            files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
            return [(str(path.relative_to(folder)), path.read_bytes()) for path in files]


def residue(folder: Path, word: str) -> list[str]:
    """Return the files under a folder that hold a word, in any writing."""
    return [name for name, held in contents(folder) if word.lower().encode() in held.lower()]
