"""Our own engine, with its defaults: ``engine.recall`` on an event loop, as a turn of Pipecat asks."""

import asyncio
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from benchmarks import common
from benchmarks.peers.base import Item, K
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import QueryEmbedder
from slowcat_memory.records import Event, SessionEdge, Turn


class Slowcat:
    """One scope of one engine. Nothing is held back: no floor, no deadline, as for the others."""

    embeds = True

    def __init__(self, folder: Path, embedder: QueryEmbedder) -> None:
        """Open an engine.

        Args:
            folder: Its store.
            embedder: Makes all vectors.
        """
        config = common.configuration(
            folder,
            recall={"deadline_ms": 60_000.0, "floor": 0.0, "keep_share": 0.0},
            pack={"memories": K},
        )
        self._engine = MemoryEngine(config, embedder=embedder)
        self._scope = ""
        self._loop = asyncio.new_event_loop()
        self._origin: dict[int, str] = {}

    def add_all(self, items: Sequence[Item]) -> None:
        """Log sessions, embed them, and seal."""
        self._scope = items[0].turn.scope
        for _, group in groupby(items, key=lambda item: item.turn.session):
            turns = [item.turn for item in group]
            acks = self._engine.append_all(_session(turns))
            acks[-1].wait()  # else thousands would wait to be saved
            for ack in acks:
                if isinstance(ack.event, Turn):
                    self._origin[ack.id] = ack.event.origin
        self._engine.maintain("embed", self._scope)
        self._engine.upkeep.seal(self._scope)

    def add(self, item: Item) -> None:
        """Log a turn and wait until it is on disk; its vector follows by itself."""
        ack = self._engine.append(item.turn)
        ack.wait()
        self._origin[ack.id] = item.id

    def settle(self) -> None:
        """Wait for the vectors of what was added."""
        self._engine.drain()

    def search(self, text: str, vector: np.ndarray | None, k: int) -> list[str]:
        """Recall as a turn does."""
        asked = self._engine.recall(text, self._scope, vector=vector)
        hits = self._loop.run_until_complete(asked).hits
        return [self._origin[turn] for hit in hits[:k] for turn in hit.memory.sources]

    def close(self) -> None:
        """Close the engine and the loop."""
        self._engine.close()
        self._loop.close()


def _session(turns: Sequence[Turn]) -> list[Event]:
    session, scope = turns[0].session, turns[0].scope
    start = SessionEdge(session=session, scope=scope, kind="start", at=turns[0].at)
    end = SessionEdge(session=session, scope=scope, kind="end", at=turns[-1].at, reason="silence")
    return [start, *turns, end]


def open_peer(folder: Path, embedder: QueryEmbedder) -> Slowcat:
    return Slowcat(folder, embedder)
