"""The memory of another process, over a channel.

Calls that are a question and its answer are made from the protocol's signatures (``verbs``); only
those of a turn are written by hand. What was said is kept in the ``Backlog``, which outlives this
connection.
"""

import functools
import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from slowcat_memory.config import Config
from slowcat_memory.config.config import retrieval_options
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.errors import StoreError
from slowcat_memory.metrics import Metrics
from slowcat_memory.owner.address import Owner
from slowcat_memory.owner.backlog import Backlog, Entry
from slowcat_memory.owner.callbacks import CallbackThread
from slowcat_memory.owner.channel import connect
from slowcat_memory.owner.protocol import messages, verbs
from slowcat_memory.owner.protocol.wire import PROTOCOL, WireError, untagged
from slowcat_memory.owner.remote_recall import RemoteAttempt, RemoteRecalls
from slowcat_memory.owner.version import VERSION
from slowcat_memory.records import Turn
from slowcat_memory.runtime.recall.query import Query, Recollection

CALLS = messages.CALLS_LIMIT - 8  # at a time that are waited for; other threads wait their turn
ANSWER_S = 10.0  # how long a call may take that does no long work
LONG = frozenset({"maintain", "think", "forget", "apply", "flush", "prepare"})


class RemoteMemory:
    """A memory that another process owns, while the connection lasts.

    Attributes:
        owner: The process at the other end.
    """

    def __init__(
        self,
        config: Config,
        owner: Owner,
        backlog: Backlog,
        *,
        name: str,
        metrics: Metrics,
        callbacks: CallbackThread,
        serves: bool = False,
    ) -> None:
        """Connect.

        Args:
            callbacks: Calls the application's functions.
            name: What this process is, for lists of clients.
            serves: Whether it is a server, to which the owner may give way.

        Raises:
            OwnerAwayError: Nobody answers.
            StoreBusyError: The owner does not serve this client.
        """
        hello = messages.Hello(PROTOCOL, VERSION, backlog.client, name, os.getpid(), serves)
        self._channel = connect(Path(owner.socket), hello, os.getuid())
        self.owner, self.metrics = owner, metrics
        self._backlog = backlog
        options = retrieval_options(config)
        self._recalls = RemoteRecalls(self._channel, backlog, options, metrics)
        self._numbers = itertools.count(-1, -1)  # recalls have the positive ones
        self._calls: dict[int, _PendingCall] = {}
        self._calls_lock, self._has_ended = threading.Lock(), False
        self._turns = threading.Semaphore(CALLS)
        self._listeners: dict[object, dict[str, Callable[..., Any]]] = {}
        self._callbacks = callbacks
        self._on_lost: Callable[[str], None] = lambda to: None
        self._goodbye = ""

    def start(self, on_lost: Callable[[str], None]) -> None:
        """Send what is not acknowledged, and begin to receive.

        Args:
            on_lost: Called once, on a thread, when the connection has ended, with "server" if the
                owner gives way to one.
        """
        self._on_lost = on_lost
        self._channel.start(self._receive, self._lose)

    def release(self) -> None:
        """End the connection."""
        self._channel.close()

    @property
    def is_lost(self) -> bool:
        return self._channel.is_lost

    # ------------------------------------------------------------------- turns

    def send(self, entry: Entry, *, again: bool = False) -> None:
        """Send an entry of the backlog. Entries are sent in order, under the caller's lock.

        Args:
            again: It has waited for this owner.
        """
        append = messages.Append(
            entry.counter,
            self._backlog.floor,
            self._backlog.outgoing(entry),
            entry.cursor,
            entry.bulk,
        )
        try:
            self._channel.send(append, again=again)
        except (WireError, TypeError, UnicodeError) as error:  # it fails alone
            poison = StoreError(f"this cannot be saved: {error}")
            self._backlog.settle(entry.counter, poison)

    async def recall(self, query: Query, attempt: RemoteAttempt | None) -> Recollection:
        return await self._recalls.recall(query, attempt)

    def begin(self, query: Query) -> RemoteAttempt | None:
        """Begin a recall ahead of its turn."""
        return self._recalls.begin(query)

    def touch(self, query: Query) -> None:
        self._recalls.touch(query)

    def note_recall(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        self._recalls.note(turn, found, packed)

    def set_activity(self, name: str, busy: bool) -> None:
        self._channel.send(messages.Activity(name, busy))

    # ------------------------------------------------------------------- events

    def subscribe(self, **callbacks: Callable[..., Any] | None) -> Callable[[], None]:
        """Register callbacks; they run on the thread of callbacks, in order."""
        key = object()
        self._listeners[key] = {name: one for name, one in callbacks.items() if one is not None}
        self._subscribe()

        def end() -> None:
            self._listeners.pop(key, None)
            self._subscribe()

        return end

    def _subscribe(self) -> None:
        wanted = {name for callbacks in tuple(self._listeners.values()) for name in callbacks}
        self._channel.send(messages.Subscribe(tuple(sorted(wanted))))

    def _happened(self, sent: messages.Happened) -> None:
        arguments = tuple(map(untagged, sent.arguments))
        for callbacks in tuple(self._listeners.values()):
            if callback := callbacks.get(sent.callback):
                self._callbacks.later(functools.partial(callback, *arguments))

    # ------------------------------------------------------------------- calls

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the owner's memory, or read one of its properties. Blocks.

        Raises:
            StoreError: The owner ended meanwhile, or does not answer.
        """
        try:
            return self._ask(None if name in LONG else ANSWER_S, name, *args, **kwargs)
        except _LateError:
            raise StoreError(
                f"process {self.owner.pid}, which holds the memory, does not answer",
                hint="Is it stopped, or very busy?",
            ) from None

    def flush(self, timeout_s: float | None, *, indexed: bool) -> bool:
        """Wait until everything is durable; it is not, if the owner does not answer in time.

        Raises:
            StoreError: The owner ended meanwhile.
        """
        try:
            return bool(self._ask(timeout_s, "flush", timeout_s, indexed=indexed))
        except _LateError:
            return False

    def _ask(self, answer_s: float | None, name: str, *args: Any, **kwargs: Any) -> Any:
        verb = verbs.verb(name)
        number, call = next(self._numbers), _PendingCall(verb.functions(*args, **kwargs))
        arguments = msgspec.Raw(verb.encode_arguments(*args, **kwargs))
        if not self._turns.acquire(timeout=answer_s):
            raise _LateError
        try:
            with self._calls_lock:
                self._calls[number] = call
            if self._has_ended:
                self._fail_calls()
            self._channel.send(messages.Call(number, name, arguments, tuple(call.callbacks)))
            if not wait((call.answer,), answer_s).done:
                raise _LateError
            sent = call.answer.result()
        finally:
            with self._calls_lock:
                self._calls.pop(number, None)
            self._turns.release()
        return verb.decode_result(sent)

    def send_call(self, name: str, *args: Any) -> None:
        """Call a method without waiting for its end."""
        arguments = msgspec.Raw(verbs.verb(name).encode_arguments(*args))
        self._channel.send(messages.Call(next(self._numbers), name, arguments))

    def _fail_calls(self) -> None:
        gone = StoreError(
            f"process {self.owner.pid}, which held the memory, ended during this call",
            hint="Look whether it was done, and try again",
        )
        with self._calls_lock:
            self._has_ended = True
            calls, self._calls = self._calls, {}
        for call in calls.values():
            with suppress(InvalidStateError):  # it was answered just now
                call.answer.set_exception(gone)

    # ------------------------------------------------------------------- from the owner

    def _receive(self, message: Any) -> None:
        kind = type(message)
        if kind is messages.Recalled:
            self._recalls.take_in(message)
        elif kind is messages.Acked:
            self._backlog.number(message.counter, message.first)
            self._backlog.settle(message.counter)
        elif kind is messages.NotSaved:
            self._backlog.settle(message.counter, verbs.error_of(message.error))
        elif kind is messages.Answer or kind is messages.Failed:
            self._answered(message)
        elif kind is messages.Called_:
            self._called_back(message)
        elif kind is messages.Stale:
            self._recalls.mark_stale(message.scope)
        elif kind is messages.Happened:
            self._happened(message)
        elif kind is messages.Goodbye:
            self._goodbye = message.to or "end"

    def _answered(self, message: messages.Answer | messages.Failed) -> None:
        if message.number > 0:
            if isinstance(message, messages.Failed):
                self._recalls.take_in(message)
            return
        call = self._calls.get(message.number)
        if call is None:
            return
        with suppress(InvalidStateError):  # it has failed just now
            if isinstance(message, messages.Answer):
                call.answer.set_result(message.result)
            else:
                call.answer.set_exception(verbs.error_of(message.error))

    def _called_back(self, message: messages.Called_) -> None:
        if call := self._calls.get(message.number):
            callback = call.callbacks[message.callback]
            self._callbacks.later(functools.partial(callback, *map(untagged, message.arguments)))

    def _lose(self) -> None:
        self._recalls.lost()
        self._on_lost(self._goodbye)
        self._fail_calls()  # last, since its caller looks for the next owner at once


class _LateError(Exception):
    """The answer to a call has not come in time."""


class _PendingCall:
    """A call that waits for its answer."""

    def __init__(self, callbacks: dict[str, Callable[..., Any]]) -> None:
        self.callbacks = callbacks
        self.answer: Future[msgspec.Raw] = Future()
