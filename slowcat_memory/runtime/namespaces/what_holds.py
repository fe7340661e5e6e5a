"""What a scope's facts and latest turns say of earlier ones; read behind the opening of its index.

Reading takes time that grows with the facts, and the rules for turns that idle work has not read
yet compile some hundred patterns. No answer waits for that: what changes before it is done is kept
in order, and applied to what was read. The code of the rules is imported then, too.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING

from slowcat_memory.core.memory import chunk_id, turn_of
from slowcat_memory.core.query.asked_facts import Wording
from slowcat_memory.records import Memory, Turn

if TYPE_CHECKING:
    from slowcat_memory.runtime.namespaces.known_facts import Ending, Endings


MOST_TURNS = 8  # latest turns kept for a word
MOST_FOUND = 6  # chunks returned for a query
_Change = Callable[["Endings", "Changes"], object]


class WhatHolds:
    """Which statements of a scope are over, changed or asked for.

    Nothing is known before ``read``. Changed under the namespace's lock; answers take no lock.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._read: tuple[Endings, Changes] | None = None
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
        from slowcat_memory.runtime.namespaces.known_facts import Endings

        endings, changes, latest = Endings(facts, self._language), Changes(self._language), 0
        for turn in turns:
            endings.hear(turn)
            changes.hear(turn)
            latest = turn.id
        with lock:
            for id_, change in self._missed:
                if not 0 < id_ <= latest:  # else it was among the turns
                    change(endings, changes)
            self._missed, self._read = [], (endings, changes)

    def put(self, memory: Memory) -> None:
        """Add or replace a fact; other memories are ignored."""
        self._change(lambda endings, _: endings.put(memory))

    def hear(self, turn: Turn) -> None:
        """Add a turn, the latest; see ``Endings.hear`` and ``Changes.hear``."""

        def hear(endings: "Endings", changes: "Changes") -> None:
            endings.hear(turn)
            changes.hear(turn)

        self._change(hear, turn.id)

    def drop(self, memory_id: str) -> None:
        """Remove a fact, or a turn's chunk."""

        def drop(endings: "Endings", changes: "Changes") -> None:
            endings.drop(memory_id)
            changes.drop(memory_id)

        self._change(drop)

    def _change(self, change: _Change, turn: int = 0) -> None:
        if self._read is None:
            self._missed.append((turn, change))
        else:
            change(*self._read)

    def endings(self, chunk: str, now: datetime) -> "tuple[Ending, ...]":
        """Return what of a chunk is over at a time."""
        return self._read[0].of(chunk, now) if self._read else ()

    def written(self, chunk: str) -> tuple[str, ...]:
        """Return what an LLM wrote about a chunk that holds."""
        return self._read[0].written(chunk) if self._read else ()

    def stating(self, query: str, now: datetime) -> list[str]:
        """Return the chunks that state a fact which a query asks for."""
        return self._read[0].known.stating(query, now) if self._read else []

    def changing(self, keys: Iterable[str]) -> list[str]:
        """Return the latest chunks that may change an earlier one about a query; see ``Changes``."""
        return self._read[1].about(keys) if self._read else []


class Changes:
    """A scope's latest statements of a change or a value. Changed under the namespace's lock."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._by_key: dict[str, tuple[int, ...]] = {}

    def hear(self, turn: Turn) -> None:
        """Keep a user's turn if it may change an earlier one. Takes 30 us, off the frame path."""
        if turn.role != "user" or turn.aside:
            return
        read = Wording(turn.text, self._language)
        for key in read.keys if read.may_revise else ():
            kept = self._by_key.get(key, ())
            self._by_key[key] = tuple(sorted({*kept, turn.id}))[-MOST_TURNS:]

    def drop(self, memory_id: str) -> None:
        """Forget a turn's chunk."""
        gone = turn_of(memory_id)
        for key, turns in self._by_key.items():
            self._by_key[key] = tuple(turn for turn in turns if turn != gone)

    def about(self, keys: Iterable[str]) -> list[str]:
        """Return the chunks that share a word with a query, the latest first.

        Args:
            keys: Of the query, as in ``core.query.asked_facts.keys``.
        """
        turns = {turn for key in keys for turn in self._by_key.get(key, ())}
        return [chunk_id(turn) for turn in sorted(turns, reverse=True)[:MOST_FOUND]]
