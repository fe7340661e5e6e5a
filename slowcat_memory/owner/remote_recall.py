"""A client's recalls: within the deadline over the wire, and ahead of the turn.

A recall ahead runs at the owner, which pushes its result; so a turn whose words were foreseen is
answered from this process's memory. The owner says when something changed in its scopes meanwhile.
"""

import asyncio
import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta

from msgspec.structs import asdict, replace

from slowcat_memory.core.memory import CHUNK
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.metrics import Metrics
from slowcat_memory.owner.backlog import Backlog
from slowcat_memory.owner.channel import Channel
from slowcat_memory.owner.numbers import FIRST_ID
from slowcat_memory.owner.protocol import messages
from slowcat_memory.owner.protocol.messages import Asked, Found
from slowcat_memory.owner.protocol.wire import WireError
from slowcat_memory.records import Turn
from slowcat_memory.runtime.recall.prefetch import KEEP_S
from slowcat_memory.runtime.recall.query import Query, Recollection, RetrievalOptions, need_of
from slowcat_memory.runtime.recall.service import ended_within

ON_THE_WAY_MS = 1.0  # beyond deadline and settling, for the socket

Arrived = Future[Recollection | None]


class RemoteAttempt:
    """A recall begun ahead at the owner; used like ``prefetch.Attempt``.

    Attributes:
        number: Its number at the owner.
        arrived: Its result, once it was pushed; None if it came to nothing.
        stale: Something changed meanwhile.
    """

    def __init__(
        self, number: int, query: Query, newest_id: int, abandon: Callable[[int], None]
    ) -> None:
        """Start without a result; ``newest_id`` is the provisional id of the next turn."""
        self.number, self.heard, self.query = number, query.text, query
        self.arrived: Arrived = Future()
        self.stale = False
        self._newest_id, self._abandon = newest_id, abandon

    def is_for(self, text: str) -> bool:
        return fingerprint(self.heard) == fingerprint(text)

    def abandon(self) -> None:
        self._abandon(self.number)

    def answers(self, query: Query) -> Recollection | None:
        """Return its result if that is also the one of a turn's query."""
        if self.stale or not self.arrived.done() or not self._asks_the_same(query):
            return None
        found = self.arrived.result()
        if found is None or found.stage == "none":
            return None
        more = query.exclude_words - self.query.exclude_words
        if any(fingerprint(hit.memory.text) in more for hit in found.hits):
            return None
        return found

    def _asks_the_same(self, query: Query) -> bool:
        own = self.query
        return (
            self.is_for(query.text)
            and (own.scope, own.also, own.local) == (query.scope, query.also, query.local)
            and own.called == query.called
            and own.dialogue == query.dialogue
            and own.exclude_words <= query.exclude_words
            and query.now - own.now < timedelta(seconds=KEEP_S)
            and all(map(self._is_newer, own.exclude ^ query.exclude))
        )

    def _is_newer(self, memory_id: str) -> bool:
        """Whether a memory is a turn that was logged since, so that no index had it."""
        number = memory_id.removeprefix(f"{CHUNK}/-")
        return number != memory_id and FIRST_ID <= self._newest_id <= -int(number)


class RemoteRecalls:
    """The recalls of one connection. ``take_in`` and ``lost`` come from the channel's thread."""

    def __init__(
        self,
        channel: Channel,
        backlog: Backlog,
        options: RetrievalOptions,
        metrics: Metrics,
    ) -> None:
        self._channel, self._backlog, self._options = channel, backlog, options
        self._metrics = metrics
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Arrived] = {}
        self._ahead: dict[int, RemoteAttempt] = {}

    # ------------------------------------------------------------------- for a turn

    async def recall(self, query: Query, attempt: RemoteAttempt | None) -> Recollection:
        """Recall within the deadline; nothing comes of an owner that is away. Never raises.

        Args:
            query: The turn's, with provisional ids as far as they are not known.
        """
        began = time.perf_counter()
        need = need_of(query.text, self._options)
        if not need.query:
            if attempt:
                attempt.abandon()
            self._metrics.count("recall_skipped")
            return Recollection(stage="skipped", asks_time=need.asks_time)
        found = attempt.answers(query) if attempt else None
        if attempt and found is not None:
            self._metrics.count("prefetch_stood")
            gate = round((time.perf_counter() - began) * 1e3, 4)
            found = replace(found, timings={**found.timings, "gate": gate})
            asyncio.get_running_loop().call_soon(self.abandon, attempt.number)
        else:
            found = await self._from_owner(query, attempt)
        self._metrics.count(f"recall_{found.stage}")
        return found

    async def _from_owner(self, query: Query, attempt: RemoteAttempt | None) -> Recollection:
        number, arrived = next(self._numbers), Arrived()
        if attempt:
            self._ahead.pop(attempt.number, None)
        self._waiting[number] = arrived
        recall = self._options.recall
        try:
            ahead = attempt.number if attempt else 0
            self._channel.send(messages.Recall(number, self._asked(query), ahead))
            within = recall.deadline_ms + recall.settle_ms + ON_THE_WAY_MS
            if await ended_within(arrived, within):
                return arrived.result() or Recollection()
            self._metrics.count("owner_late")
        except (WireError, TypeError, UnicodeError):  # a text that cannot be sent
            self._metrics.count("recalls_not_sent")
        finally:
            self._waiting.pop(number, None)
        return Recollection()

    # ------------------------------------------------------------------- ahead of it

    def begin(self, query: Query) -> RemoteAttempt | None:
        """Begin a recall ahead; None if the words need no memory."""
        if not need_of(query.text, self._options).query:
            return None
        number = next(self._numbers)
        attempt = RemoteAttempt(number, query, self._backlog.next_id, self.abandon)
        self._ahead[number] = attempt
        self._metrics.count("prefetch_begun")
        self._send_soon(messages.Ahead(number, self._asked(query)))
        return attempt

    def abandon(self, number: int) -> None:
        if self._ahead.pop(number, None):
            self._send_soon(messages.Abandon(number))

    def touch(self, query: Query) -> None:
        self._send_soon(messages.Touch(self._asked(query)))

    def note(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        """Have the ledger's row written, if an owner made this recall."""
        if found.ticket:
            kept = tuple(hit.memory.id for hit in found.hits)
            offered = tuple(hit.memory.id for hit in packed.hits)
            note = messages.NoteRecall(
                turn, found.ticket, found.timings, kept, offered, packed.tokens
            )
            self._send_soon(note)

    # ------------------------------------------------------------------- from the owner

    def take_in(self, sent: messages.Recalled | messages.Failed) -> bool:
        """Take in a result; False if it belongs to no recall."""
        arrived = self._waiting.pop(sent.number, None)
        if arrived is None and (attempt := self._ahead.get(sent.number)):
            arrived = attempt.arrived
        if arrived is None or arrived.done():
            return isinstance(sent, messages.Recalled)
        if isinstance(sent, messages.Failed):
            self._metrics.count("recalls_failed")
            arrived.set_result(None)
        else:
            arrived.set_result(_recollection(sent.found))
        return True

    def mark_stale(self, scope: str) -> None:
        for attempt in tuple(self._ahead.values()):
            if scope == attempt.query.scope or scope in attempt.query.also:
                attempt.stale = True

    def lost(self) -> None:
        """Nothing more will come: whoever waits goes on without."""
        for arrived in tuple(self._waiting.values()):
            if not arrived.done():
                arrived.set_result(None)
        for attempt in tuple(self._ahead.values()):
            attempt.stale = True

    # ------------------------------------------------------------------- parts

    def _send_soon(self, message: messages.Message) -> None:
        try:
            self._channel.send(message)
        except (WireError, TypeError, UnicodeError):  # a text that cannot be sent
            self._metrics.count("recalls_not_sent")

    def _asked(self, query: Query) -> Asked:
        asked = Asked(**{name: getattr(query, name) for name in _ASKED})
        return self._backlog.numbers.logged_query(asked)


_ASKED = Asked.__struct_fields__


def _recollection(found: Found | None) -> Recollection | None:
    if found is None:
        return None
    return Recollection(**asdict(found))  # its hits and blocks are taken over as they are
