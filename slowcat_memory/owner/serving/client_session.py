"""One client's connection, on the owner's event loop: messages in, answers and events out.

Nothing of a client delays another one, or the owner itself: what blocks runs on threads of the
server, a client that sends too fast is read more slowly, and one that reads too slowly is dropped.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec
from loguru import logger

from slowcat_memory.errors import SlowcatError, StoreClosedError, StoreError, describe_error
from slowcat_memory.owner.address import peer_uid
from slowcat_memory.owner.forking import not_inherited
from slowcat_memory.owner.protocol import messages, verbs
from slowcat_memory.owner.protocol.messages import CALLS_LIMIT, Message, from_client
from slowcat_memory.owner.protocol.wire import PROTOCOL, FrameBuffer, WireError, framed, tagged
from slowcat_memory.owner.serving.ahead import ClientRecalls
from slowcat_memory.owner.version import VERSION
from slowcat_memory.records import MemoryEvent

if TYPE_CHECKING:
    from slowcat_memory.owner.serving.owner_server import OwnerServer

UNREAD_LIMIT = 16 << 20  # bytes that a client may leave unread when the next message comes
HELLO_S = 10.0  # how long one that has connected may take to say what it is
RATE = 5000.0  # messages a second that a client may send, over ``BURST``
BURST = 20_000.0


class ClientSession(asyncio.Protocol):
    """A client that an owner serves.

    Attributes:
        name: What the client is, for people; "" before it said so.
        client: Its unique name.
        pid: Its process.
    """

    def __init__(self, server: "OwnerServer") -> None:
        self._server, self._engine = server, server.engine
        self.name = self.client = ""
        self.pid = 0
        self._received = FrameBuffer()
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._calls = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._unsubscribe: Callable[[], None] = lambda: None
        self._allowed, self._counted_at = BURST, self._loop.time()

    # ------------------------------------------------------------------- connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        connected = transport.get_extra_info("socket")
        self._socket = connected
        not_inherited.add(connected)
        self._server.connections.add(self)
        self._silent = self._loop.call_later(HELLO_S, self.drop)
        try:
            ours = peer_uid(connected) == self._server.uid
        except OSError:
            ours = False
        if not ours:
            self._refuse("only programs of the user whose memory this is are served")

    def data_received(self, data: bytes) -> None:
        try:
            for body in self._received.feed(data):
                if self._is_ending:  # it was refused
                    return
                self._receive(from_client.decode(body))
                self._limit_rate()
        except Exception as error:  # whatever it sent costs it its connection, and nobody else
            name = self.name or "a client"
            logger.warning("memory: {} is dropped: {}", name, describe_error(error))
            self.drop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._silent.cancel()
        self._server.connections.discard(self)
        not_inherited.discard(self._socket)
        self._unsubscribe()
        for task in self._tasks:
            task.cancel()
        if self.client:
            self.recalls.abandon_all()
        self._server.left(self)

    def send(self, message: Message) -> None:
        """Send a message; on the event loop."""
        if self._transport is None or self._is_ending:
            return
        if self._transport.get_write_buffer_size() > UNREAD_LIMIT:
            self._engine.metrics.count("clients_dropped")
            logger.warning("memory: {} does not read, and is dropped", self.name)
            return self.drop()
        self._transport.write(framed(message))

    @property
    def _is_ending(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def send_soon(self, message: Message) -> None:
        """Send a message, from any thread."""
        self._server.soon(self.send, message)

    def drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def finish(self, message: Message) -> None:
        """Send a last message, and close the connection."""
        self.send(message)
        if self._transport is not None:
            self._transport.close()

    def _refuse(self, reason: str, hint: str = "") -> None:
        self.finish(messages.Refused(reason, hint))

    def _limit_rate(self) -> None:
        """Read the client more slowly while it sends more than ``RATE`` messages a second."""
        now = self._loop.time()
        self._allowed = min(BURST, self._allowed + (now - self._counted_at) * RATE) - 1
        self._counted_at = now
        if self._allowed < 0 and self._transport is not None and self._transport.is_reading():
            self._transport.pause_reading()
            self._loop.call_later(-self._allowed / RATE + 0.1, self._resume_reading)

    def _resume_reading(self) -> None:
        if self._transport is not None and not self._is_ending:
            self._transport.resume_reading()

    # ------------------------------------------------------------------- messages

    def _receive(self, message: Any) -> None:
        kind = type(message)
        if not self.client:
            if kind is messages.Hello:
                return self._greet(message)
            return self._refuse("a client begins with Hello")
        if (handler := _HANDLERS.get(kind)) is None:
            raise WireError("a client says Hello once")
        handler(self, message)

    def _greet(self, hello: messages.Hello) -> None:
        if hello.protocol != PROTOCOL:
            ours = VERSION
            return self._refuse(
                f"the memory is held by version {ours} of slowcat-memory, this is {hello.version}",
                f"Restart process {self._server.pid}, or this program, with the same version",
            )
        self.client, self.name, self.pid = hello.client, hello.name, hello.pid
        self._silent.cancel()
        self._intake = self._server.intake_of(self.client)
        self.recalls = ClientRecalls(self._engine, self._intake.numbers)
        self.send(messages.Welcome(PROTOCOL, VERSION, self._server.pid))
        self._server.came(self, serves=hello.serves)

    def _append(self, sent: messages.Append) -> None:
        try:
            first, saved = self._intake.accept(sent)
        except StoreClosedError:
            raise  # the owner ends: the client sends it to the next one
        except Exception as error:  # one that cannot be logged: it fails alone
            return self.send(messages.NotSaved(sent.counter, verbs.failure(error)))

        def settled(future: Any) -> None:
            error = future.exception()
            if isinstance(error, StoreClosedError):
                return  # it may have been saved: the next owner knows
            answer: Message = messages.Acked(sent.counter, first)
            if error is not None:
                answer = messages.NotSaved(sent.counter, verbs.failure(error))
            self.send_soon(answer)

        saved.add_done_callback(settled)

    def _recall(self, sent: messages.Recall) -> None:
        if len(self._tasks) < CALLS_LIMIT:
            self._start(self._answer_recall(sent))
        else:
            self.send(messages.Recalled(sent.number, None))

    def _start(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_recall(self, sent: messages.Recall) -> None:
        try:
            found = await self.recalls.recall(sent.number, sent.asked, sent.ahead)
        except Exception as error:  # the turn goes on without
            self.send(messages.Failed(sent.number, verbs.failure(error)))
        else:
            self.send(messages.Recalled(sent.number, found))

    def _ahead(self, sent: messages.Ahead) -> None:
        def ready(found: messages.Found | None) -> None:
            self.send_soon(messages.Recalled(sent.number, found))

        try:
            self.recalls.begin(sent.number, sent.asked, ready)
        except (SlowcatError, RuntimeError):  # it is being closed
            ready(None)

    def _abandon(self, sent: messages.Abandon) -> None:
        self.recalls.abandon(sent.number)

    def _touch(self, sent: messages.Touch) -> None:
        self.recalls.touch(sent.asked)

    def _note(self, sent: messages.NoteRecall) -> None:
        self.recalls.note(sent)

    def _activity(self, sent: messages.Activity) -> None:
        self._engine.set_activity(f"{self.activity}{sent.name}", sent.busy)

    @property
    def activity(self) -> str:
        """The prefix of this client's activities."""
        return f"client {self.client}/"

    def _subscribe(self, sent: messages.Subscribe) -> None:
        self._unsubscribe()
        wanted = {name: partial(self._happened, name) for name in sent.wanted}
        self._unsubscribe = self._engine.subscribe(**wanted) if wanted else lambda: None

    def _happened(self, callback: str, *arguments: Any) -> None:
        self.send_soon(messages.Happened(callback, tuple(map(tagged, arguments))))

    def stale(self, event: MemoryEvent) -> None:
        """Tell the client that recalls ahead in a scope do not hold, if there are any."""
        if event.what == "forgotten":
            self.recalls.drop_found()
        if event.scope in self.recalls.scopes:
            self.send(messages.Stale(event.scope))

    def _pause(self, sent: messages.Pause) -> None:
        self._server.pause()

    # ------------------------------------------------------------------- calls

    def _call(self, sent: messages.Call) -> None:
        if self._calls >= CALLS_LIMIT:
            busy = StoreError("too many calls at a time", hint="Try again in a moment")
            return self.send(messages.Failed(sent.number, verbs.failure(busy)))
        self._calls += 1
        self._server.submit(self._carry_out, sent)

    def _carry_out(self, sent: messages.Call) -> None:
        """On a thread of the server."""
        answer: Message
        try:
            verb = verbs.verb(sent.verb)
            if verb.is_property:
                result = getattr(self._engine, sent.verb)
            else:
                args, kwargs = verb.decode_arguments(sent.arguments)
                kwargs = self._intake.numbers.logged_known(kwargs)
                for name in sent.callbacks:
                    kwargs[name] = partial(self._call_back, sent.number, name)
                result = getattr(self._engine, sent.verb)(*args, **kwargs)
                if sent.verb == "stats":
                    result |= {"clients": self._server.clients}
            answer = messages.Answer(sent.number, msgspec.Raw(verb.encode_result(result)))
        except Exception as error:  # whatever it is belongs to the caller
            answer = messages.Failed(sent.number, verbs.failure(error))
        self._server.soon(self._end_call, answer)

    def _call_back(self, number: int, callback: str, *arguments: Any) -> None:
        if self._transport is None:  # nobody waits for the end of this call any more
            raise StoreClosedError(f"{self.name} has ended")
        self.send_soon(messages.Called_(number, callback, tuple(map(tagged, arguments))))

    def _end_call(self, answer: messages.Answer | messages.Failed) -> None:
        self._calls -= 1
        try:
            self.send(answer)
        except WireError as error:  # too large
            self.send(messages.Failed(answer.number, verbs.failure(error)))


_HANDLERS: dict[type, Callable[[ClientSession, Any], None]] = {
    messages.Append: ClientSession._append,
    messages.Call: ClientSession._call,
    messages.Recall: ClientSession._recall,
    messages.Ahead: ClientSession._ahead,
    messages.Abandon: ClientSession._abandon,
    messages.Touch: ClientSession._touch,
    messages.NoteRecall: ClientSession._note,
    messages.Activity: ClientSession._activity,
    messages.Subscribe: ClientSession._subscribe,
    messages.Pause: ClientSession._pause,
}
