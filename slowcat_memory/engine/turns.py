"""Appends turns to the log and the index, and recalls for a turn within a deadline."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypedDict, TypeVar, Unpack

import numpy as np

from slowcat_memory.clock import Clock
from slowcat_memory.config import Config
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.core.time.calendar import check_time
from slowcat_memory.engine.wiring import EngineWiring
from slowcat_memory.errors import StoreError
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.providers import Encoded
from slowcat_memory.records import Cursor, Event, SessionEdge, Turn
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.runtime.recall.prefetch import Prefetch
from slowcat_memory.runtime.recall.query import Query, Recollection, ledger_entry
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.store import Ack

T = TypeVar("T")
INDEX_AFTER_S = 0.05  # after a turn: longer than it waits for its recall
ACTIVITY = "engine/append"  # the activity by which an append closes the idle gate


def check_events(events: Sequence[Event]) -> None:
    """Check what is to be appended.

    Raises:
        ValueError: There is no event.
        ConfigError: A scope is not a valid name, or a time has no zone.
    """
    if not events:
        raise ValueError("there is no event to append")
    for event in events:
        check_scope(event.scope)
        check_time(event.at)


class EventLog:
    """Appends events; each append also closes the idle gate for its grace period."""

    def __init__(
        self, wiring: EngineWiring, gate: IdleGate, on_session_end: Callable[[], object]
    ) -> None:
        self._wiring, self._gate, self._on_session_end = wiring, gate, on_session_end

    def append(self, events: Sequence[Event], cursor: Cursor | None = None) -> Ack:
        wiring = self._wiring
        check_events(events)
        self._gate.busy(ACTIVITY)
        self._gate.free(ACTIVITY)
        wiring.clock_guard.doubt()  # before these turns' dates are the newest ones
        for event in events:
            if isinstance(event, Turn) and event.unnamed:
                wiring.users.learn(event.scope, event.speaker)
        acks = wiring.store.append_all(events, cursor, quiet=True)
        wiring.indexer.add(acks)
        for ack in acks:
            wiring.events.stored(ack)
        self._wake_soon()
        if any(isinstance(event, SessionEdge) and event.kind == "end" for event in events):
            self._on_session_end()
        return acks[-1]

    def _wake_soon(self) -> None:
        """Wake the writer and, later, the indexer; on an event loop, after the caller has returned.

        Waking a thread costs 0.05 ms, which a frame need not wait for. A turn is indexed and
        embedded when its own recall is over, not beside it (see ``Indexer.release``).
        """
        store, indexer = self._wiring.store, self._wiring.indexer
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # not on an event loop
            store.wake_writer()
            indexer.release()
        else:
            loop.call_soon(store.wake_writer)
            # A turn that comes meanwhile waits for its own recall.
            loop.call_later(INDEX_AFTER_S, indexer.release, store.last_id())


class RecallArguments(TypedDict, total=False):
    """Optional context of a recall.

    Attributes:
        also: Other namespaces to read beside the turn's own.
        local: Whether the LLM is on this machine; otherwise local-only memories are excluded.
        now: The time of the question; None for now.
        exclude: Ids of memories not to return.
        exclude_words: Fingerprints of texts not to return.
        vector: The text's vector, if already embedded.
        dialogue: The turns before, oldest first.
    """

    also: Sequence[str]
    local: bool
    now: datetime | None
    exclude: frozenset[str]
    exclude_words: frozenset[str]
    vector: Encoded | np.ndarray | None
    dialogue: Sequence[DialogueTurn]


def build_query(clock: Clock, text: str, scope: str, /, **known: Unpack[RecallArguments]) -> Query:
    """Return a turn's query, with the thresholds of the options."""
    return Query(
        text=text,
        scope=scope,
        now=known.get("now") or clock(),
        exclude=known.get("exclude", frozenset()),
        exclude_words=known.get("exclude_words", frozenset()),
        vector=known.get("vector"),
        dialogue=tuple(known.get("dialogue", ())),
        also=tuple(known.get("also", ())),
        local=known.get("local", False),
    )


def prefetch_of(
    config: Config,
    ask: Callable[[str], Query | None],
    retrieval: Callable[[], Retrieval],
) -> Prefetch:
    """Return a prefetcher; ``retrieval`` is asked each time, and may raise ``StoreError``."""

    def with_query(do: Callable[[Retrieval, Query], T], text: str = "") -> T | None:
        if (query := ask(text)) is not None:
            with suppress(RuntimeError, StoreError):  # it is being closed, or not open
                return do(retrieval(), query)
        return None

    return Prefetch(
        lambda text: with_query(lambda found, query: found.begin(query), text),
        config.prefetch,
        asyncio.get_running_loop(),
        lambda: with_query(lambda found, query: found.touch(query)),
    )


def note_recall(wiring: EngineWiring, turn: Turn, found: Recollection, packed: Packed) -> None:
    """Write the ledger row of a turn; see ``MemoryEngine.note_recall``."""

    def record() -> None:
        entry = ledger_entry(turn, found, packed)
        wiring.store.write_ledger(entry)
        wiring.events.recalled(entry)

    if wiring.namespaces.is_guests(turn.scope):
        return
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # not on an event loop
        record()
    else:
        loop.call_soon(wiring.indexer.soon, record)
