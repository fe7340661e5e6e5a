"""Asking while a turn waits: recall within its deadline, the block it makes, and the ledger's row."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypedDict, Unpack

import numpy as np

from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine.wiring import Parts
from slowcat_memory.providers import Encoded
from slowcat_memory.records import Turn
from slowcat_memory.runtime.recall import ledger
from slowcat_memory.runtime.recall.prefetch import Attempt, Prefetch
from slowcat_memory.runtime.recall.query import Query, Recollection


class Asked(TypedDict, total=False):
    """How a turn asks; whatever is left out is as if nothing were known of it.

    Attributes:
        also: Other namespaces that are read beside it.
        local: Whether the LLM is on this machine: else what is local-only is left out.
        now: The time of the question; None for now.
        exclude: Ids of memories not to return.
        exclude_words: Fingerprints of texts not to return.
        vector: What ``encode`` returned for the text, when it was embedded ahead.
        dialogue: The turns before, oldest first.
    """

    also: Sequence[str]
    local: bool
    now: datetime | None
    exclude: frozenset[str]
    exclude_words: frozenset[str]
    vector: Encoded | np.ndarray | None
    dialogue: Sequence[DialogueTurn]


class Asking(Parts):
    """Recalls for turns."""

    async def recall(
        self, text: str, scope: str, *, prefetch: Prefetch | None = None, **asked: Unpack[Asked]
    ) -> Recollection:
        """Recall for a turn that waits: within the deadline, whatever is ready by then.

        Args:
            text: The user's words.
            scope: The namespace.
            prefetch: What was recalled ahead for this turn; it is taken, and costs no wait.
            **asked: How it is asked; see ``Asked``.

        Returns:
            The hits worth offering, and how far recall came.

        Raises:
            ConfigError: That is not a scope's name.
        """
        return await self._retrieval.recall(self.query(text, scope, **asked), prefetch)

    def query(self, text: str, scope: str, **asked: Unpack[Asked]) -> Query:
        """Say what a turn asks; for ``recall``, and for what is recalled ahead of it.

        Args:
            text: The user's words.
            scope: The namespace.
            **asked: How it is asked; see ``Asked``.

        Returns:
            The query.
        """
        return Query(
            text=text,
            scope=scope,
            now=asked.get("now") or self.clock(),
            exclude=asked.get("exclude", frozenset()),
            exclude_words=asked.get("exclude_words", frozenset()),
            vector=asked.get("vector"),
            dialogue=tuple(asked.get("dialogue", ())),
            also=tuple(asked.get("also", ())),
            local=asked.get("local", False),
        )

    def prefetch(self, ask: Callable[[str], Query | None]) -> Prefetch:
        """Return what recalls ahead of one speaker. To be called, and used, on an event loop.

        Args:
            ask: Says what a turn of these words would ask, as of now; None for nothing.

        Returns:
            Told what is heard; then handed to ``recall``.
        """
        loop = asyncio.get_running_loop()

        def begin(text: str) -> Attempt | None:
            query = ask(text)
            return None if query is None else self._retrieval.begin(query)

        return Prefetch(begin, self.config.prefetch, loop)

    def encode(
        self, text: str, scope: str, dialogue: Sequence[DialogueTurn] = ()
    ) -> Encoded | None:
        """Embed a query ahead of its recall. Takes milliseconds: call it from a thread.

        Args:
            text: The user's words, so far.
            scope: The namespace.
            dialogue: The turns before, oldest first, which a follow-up takes words from.

        Returns:
            For ``recall``; None without a model.
        """
        return self._retrieval.encode(self.query(text, scope, dialogue=dialogue))

    def pack(self, found: Recollection, now: datetime | None = None) -> Packed:
        """Write a recollection as the block for the LLM.

        Args:
            found: From ``recall``.
            now: The time of the question; None for now.

        Returns:
            The block, inside the budget.
        """
        return self._retrieval.pack(found, now or self.clock())

    def note_recall(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        """Enter into the ledger what was put before the LLM, and what was not.

        Of guests, nothing is entered. On an event loop, the row is made on the recall worker once the caller has gone on.

        Args:
            turn: The user's turn, numbered.
            found: What recall returned.
            packed: What was injected of it.
        """
        if self._namespaces.is_guests(turn.scope):
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # not on an event loop
            self._record(turn, found, packed)
        else:
            loop.call_soon(self._indexer.soon, self._record, turn, found, packed)

    def _record(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        self.store.record(ledger.entry(turn, found, packed))
