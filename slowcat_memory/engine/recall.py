"""Recall for a turn that waits: the query, recall within its deadline, the block, the ledger row."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypedDict, Unpack

import numpy as np

from slowcat_memory.config import Config
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine.wiring import EngineWiring
from slowcat_memory.providers import Encoded
from slowcat_memory.records import Turn
from slowcat_memory.runtime.recall import ledger
from slowcat_memory.runtime.recall.prefetch import Attempt, Prefetch
from slowcat_memory.runtime.recall.query import Query, Recollection


class RecallArguments(TypedDict, total=False):
    """What is known of a turn beside its words; each may be left out.

    Attributes:
        also: Other namespaces to read beside the turn's own.
        local: Whether the LLM is on this machine; otherwise local-only memories are left out.
        now: The time of the question; None for now.
        exclude: Ids of memories not to return.
        exclude_words: Fingerprints of texts not to return.
        vector: The text's vector, when it was embedded ahead.
        dialogue: The turns before, oldest first.
    """

    also: Sequence[str]
    local: bool
    now: datetime | None
    exclude: frozenset[str]
    exclude_words: frozenset[str]
    vector: Encoded | np.ndarray | None
    dialogue: Sequence[DialogueTurn]


def build_query(
    config: Config, now: datetime, text: str, scope: str, /, **known: Unpack[RecallArguments]
) -> Query:
    """Return what a turn asks; thresholds are those of the options."""
    return Query(
        text=text,
        scope=scope,
        now=known.get("now") or now,
        exclude=known.get("exclude", frozenset()),
        exclude_words=known.get("exclude_words", frozenset()),
        vector=known.get("vector"),
        dialogue=tuple(known.get("dialogue", ())),
        also=tuple(known.get("also", ())),
        local=known.get("local", False),
    )


class TurnRecall:
    """Recalls for turns, packs the block and writes the ledger."""

    def __init__(self, wiring: EngineWiring) -> None:
        self._wiring = wiring

    def query(self, text: str, scope: str, **known: Unpack[RecallArguments]) -> Query:
        return build_query(self._wiring.config, self._wiring.clock(), text, scope, **known)

    def prefetch(self, ask: Callable[[str], Query | None]) -> Prefetch:
        """Return what recalls ahead of one speaker; see ``Memory.prefetch``."""
        loop = asyncio.get_running_loop()

        def begin(text: str) -> Attempt | None:
            query = ask(text)
            return None if query is None else self._wiring.retrieval.begin(query)

        return Prefetch(begin, self._wiring.config.prefetch, loop)

    def pack(self, found: Recollection, now: datetime | None = None) -> Packed:
        """Write a recollection as the block for the LLM; see ``Memory.pack``."""
        return self._wiring.retrieval.pack(found, now or self._wiring.clock())

    def note(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        """Write the turn's ledger row; see ``Memory.note_recall``."""
        if self._wiring.namespaces.is_guests(turn.scope):
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # not on an event loop
            self._record(turn, found, packed)
        else:
            loop.call_soon(self._wiring.indexer.soon, self._record, turn, found, packed)

    def _record(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        self._wiring.store.write_ledger(ledger.entry(turn, found, packed))
