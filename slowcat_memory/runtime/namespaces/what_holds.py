"""What a scope's facts and latest turns say of earlier ones; read behind the opening of its index.

Reading takes time that grows with the facts, and the rules for turns that idle work has not read
yet compile some hundred patterns. No answer waits for that: what changes before it is done is kept
in order, and applied to what was read. The code of the rules is imported then, too.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING

from slowcat_memory.records import Memory, Turn

if TYPE_CHECKING:
    from slowcat_memory.runtime.namespaces.known_facts import Ending, KnownFacts


_Change = Callable[["KnownFacts"], object]


class WhatHolds:
    """Which statements of a scope are over, changed or asked for.

    Nothing is known before ``read``. Changed under the namespace's lock; answers take no lock.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._read: KnownFacts | None = None
        # Until ``read`` is done: each change, with the log id of a turn that is heard, else 0.
        self._missed: list[tuple[int, _Change]] = []

    def read(
        self, facts: Iterable[Memory], turns: Iterable[Turn], lock: AbstractContextManager[object]
    ) -> None:
        """Take the stored facts and the latest stored turns, and all changes since the opening.

        Takes microseconds a fact, a millisecond a turn, and half a second for the first turns of a
        process. The facts and turns must have been read from the store after the opening.

        Args:
            turns: The oldest first.
            lock: The namespace's; held only for what changed meanwhile.
        """
        from slowcat_memory.runtime.namespaces.known_facts import KnownFacts

        known, latest = KnownFacts(facts, self._language), 0
        for turn in turns:
            known.hear(turn)
            latest = turn.id
        with lock:
            for id_, change in self._missed:
                if not 0 < id_ <= latest:  # else it was among the turns
                    change(known)
            self._missed, self._read = [], known

    def put(self, memory: Memory) -> None:
        """Add or replace a fact; other memories are ignored."""
        self._change(lambda known: known.put(memory))

    def hear(self, turn: Turn) -> None:
        """Add a turn, the latest; see ``KnownFacts.hear``."""
        self._change(lambda known: known.hear(turn), turn.id)

    def drop(self, memory_id: str) -> None:
        """Remove a fact, or a turn's chunk."""
        self._change(lambda known: known.drop(memory_id))
        self._change(lambda known: known.changes.drop(memory_id))

    def _change(self, change: _Change, turn: int = 0) -> None:
        if self._read is None:
            self._missed.append((turn, change))
        else:
            change(self._read)

    def endings(self, chunk: str, now: datetime) -> "tuple[Ending, ...]":
        """Return what of a chunk is over at a time."""
        return self._read.of(chunk, now) if self._read else ()

    def written(self, chunk: str) -> tuple[str, ...]:
        """Return what an LLM wrote about a chunk that holds."""
        return self._read.written(chunk) if self._read else ()

    def stating(self, query: str, now: datetime) -> list[str]:
        """Return the chunks that state a fact which a query asks for."""
        return self._read.stating(query, now) if self._read else []

    def changing(self, keys: Iterable[str]) -> list[str]:
        """Return the latest chunks that may change an earlier one about a query; see ``Changes``."""
        return self._read.changes.about(keys) if self._read else []
