"""Later statements that may change earlier ones, by their words.

A turn that says "we've moved the party, it's the 9th now" is often no neighbour of the question
that finds the earlier one. So the latest such turns are kept by the beginnings of their words.
"""

from collections.abc import Iterable

from slowcat_memory.core.memory import chunk_id, turn_of
from slowcat_memory.core.query.revisions import Wording
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
        if turn.role != "user" or turn.aside:
            return
        read = Wording(turn.text, self._language)
        for key in read.keys if read.may_revise else ():
            kept = self._by_key.get(key, ())
            self._by_key[key] = tuple(sorted({*kept, turn.id}))[-MOST_TURNS:]

    def drop(self, memory_id: str) -> None:
        """Forget a turn's chunk."""
        gone = turn_of(memory_id)
        for key in [key for key, turns in self._by_key.items() if gone in turns]:
            self._by_key[key] = tuple(one for one in self._by_key[key] if one != gone)

    def about(self, keys: Iterable[str]) -> list[str]:
        """Return the chunks that share a word with a query, the latest first.

        Args:
            keys: Of the query, as in ``core.query.revisions.keys``.
        """
        turns = {turn for key in keys for turn in self._by_key.get(key, ())}
        return [chunk_id(turn) for turn in sorted(turns, reverse=True)[:MOST_FOUND]]
