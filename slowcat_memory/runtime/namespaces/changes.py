"""Later statements that may change earlier ones, by their words.

A turn that says "we've moved the party, it's the 9th now" is often no neighbour of the question
that finds the earlier one. So the latest such turns are kept by the beginnings of their words.
"""

from collections.abc import Iterator

from slowcat_memory.core.memory import chunk_id, turn_of
from slowcat_memory.core.query.revisions import keys, may_revise
from slowcat_memory.records import Turn

MOST_TURNS = 8  # of one word, the latest
MOST_FOUND = 6  # for a query


class Changes:
    """A scope's latest statements of a change or a value. Changed under the namespace's lock."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._by_key: dict[str, tuple[int, ...]] = {}

    def hear(self, turn: Turn) -> None:
        """Keep a user's turn if it may change an earlier one. Takes 30 us, off the frame path."""
        text = turn.text
        if turn.role != "user" or turn.aside:
            return
        if may_revise(text, self._language):
            for key in keys(text, self._language):
                kept = self._by_key.get(key, ())
                self._by_key[key] = tuple(sorted({*kept, turn.id}))[-MOST_TURNS:]

    def drop(self, memory_id: str) -> None:
        """Forget a turn's chunk."""
        gone = turn_of(memory_id)
        holding = [key for key, turns in self._by_key.items() if gone in turns] if gone else []
        for key in holding:
            self._by_key[key] = tuple(one for one in self._by_key[key] if one != gone)

    def about(self, query: str) -> list[str]:
        """Return the chunks that share a word with a query, the latest first."""
        found = sorted(set(self._turns(query)), reverse=True)
        return [chunk_id(turn) for turn in found[:MOST_FOUND]]

    def _turns(self, query: str) -> Iterator[int]:
        for key in keys(query, self._language):
            yield from self._by_key.get(key, ())
