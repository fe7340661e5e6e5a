"""Recalls that an owner makes for a client: for a turn that waits, and ahead of it."""

from collections.abc import Callable
from typing import Any, cast

from msgspec.structs import asdict, replace

from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.owner.numbers import Numbers
from slowcat_memory.owner.protocol.messages import Asked, Found, NoteRecall
from slowcat_memory.runtime.recall.prefetch import Attempt, Prefetch
from slowcat_memory.runtime.recall.query import Query, Recollection

BEGUN = 32  # recalls ahead at a time; the oldest is abandoned for the next
KEPT = 32  # recollections whose row of the ledger may still be written


class _Taken:
    """A recall that was begun ahead, as a turn takes it."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt

    def take(self) -> Attempt:
        return self._attempt


class ClientRecalls:
    """The recalls of one client. All calls come from the owner's event loop."""

    def __init__(self, engine: MemoryEngine, numbers: Numbers) -> None:
        """Start without any; ``numbers`` has the ids of what the client appended."""
        self._engine, self._numbers = engine, numbers
        self._attempts: dict[int, Attempt] = {}
        self._found: dict[int, Recollection] = {}

    async def recall(self, number: int, asked: Asked, ahead: int) -> Found:
        """Recall for a turn that waits, with what was begun ahead for it."""
        attempt = self._attempts.pop(ahead, None)
        taken = cast(Prefetch, _Taken(attempt)) if attempt else None
        found = await self._engine.wiring.retrieval.recall(self._query(asked), taken)
        return self._sent(number, found)

    def begin(self, number: int, asked: Asked, ready: Callable[[Found | None], None]) -> None:
        """Begin a recall ahead of its turn.

        Args:
            ready: Called on a thread with the result; None if there is none.
        """
        attempt = self._engine.wiring.retrieval.begin(self._query(asked))
        if attempt is None:
            return ready(None)
        self._attempts[number] = attempt
        if len(self._attempts) > BEGUN:
            self.abandon(next(iter(self._attempts)))

        def done(running: Any) -> None:
            failed = running.cancelled() or running.exception() is not None
            ready(None if failed else self._sent(number, running.result()))

        attempt.running.add_done_callback(done)

    def abandon(self, number: int) -> None:
        if attempt := self._attempts.pop(number, None):
            attempt.abandon()

    def abandon_all(self) -> None:
        for number in list(self._attempts):
            self.abandon(number)

    def drop_found(self) -> None:
        """Drop every recollection: something was forgotten that one may hold."""
        self._found.clear()

    def touch(self, asked: Asked) -> None:
        self._engine.wiring.retrieval.touch(self._query(asked))

    @property
    def scopes(self) -> set[str]:
        """Scopes in which a recall ahead is under way, or may still be taken."""
        queries = [attempt.query for attempt in self._attempts.values()]
        return {scope for query in queries for scope in (query.scope, *query.also)}

    def note(self, sent: NoteRecall) -> None:
        """Write the ledger's row of a turn."""
        found = self._found.get(sent.ticket)
        turn = self._numbers.logged_event(sent.turn)
        id_ = self._numbers.logged_id(sent.turn.id, missing=0)
        if found is None or not id_:
            return self._engine.metrics.count("recalls_not_noted")
        hits = {hit.memory.id: hit for hit in found.hits}
        offered = tuple(hits[id_] for id_ in sent.offered if id_ in hits)
        kept = [hits[id_] for id_ in sent.kept if id_ in hits]
        self._engine.note_recall(
            replace(turn, id=id_),  # type: ignore[arg-type]  # a turn stays a turn
            replace(found, hits=kept, timings=sent.timings),
            Packed("", offered, sent.tokens),
        )

    def _query(self, asked: Asked) -> Query:
        return Query(**asdict(self._numbers.logged_query(asked)))

    def _sent(self, ticket: int, found: Recollection) -> Found:
        self._found[ticket] = found
        while len(self._found) > KEPT:
            del self._found[next(iter(self._found))]
        return Found(
            hits=found.hits,
            stage=found.stage,
            timings=found.timings,
            words=found.words,
            evidence=found.evidence,
            names_speaker=found.names_speaker,
            unknown=found.unknown,
            unchanged=found.unchanged,
            asks_time=found.asks_time,
            packed=found.packed,
            ticket=ticket,
        )
