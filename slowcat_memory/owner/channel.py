"""A client's connection to an owner: messages out without waiting, messages in on a thread.

``send`` writes to the socket on the caller's thread, which takes microseconds and spares a turn the
wake of another thread. What the socket does not take at once (the owner is stopped, or slow) waits
in order for a second thread, up to a limit.
"""

import select
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from loguru import logger

from slowcat_memory.errors import StoreBusyError, StoreError, describe_error
from slowcat_memory.owner.address import peer_uid
from slowcat_memory.owner.forking import not_inherited
from slowcat_memory.owner.protocol.messages import (
    FromOwner,
    Hello,
    Message,
    Refused,
    Welcome,
    from_owner,
)
from slowcat_memory.owner.protocol.wire import PROTOCOL, FrameBuffer, WireError, framed

GREETING_S = 2.0  # how long an owner may take to answer: it may be stopped
UNSENT_LIMIT = 64 << 20  # bytes that wait for an owner before the connection is given up
_CHUNK = 1 << 18


class OwnerAwayError(StoreError):
    """Nobody answers where a store's owner listens, or it has gone."""


class Channel:
    """One connection; it ends once, for good."""

    def __init__(self, connected: socket.socket, welcome: Welcome, received: FrameBuffer) -> None:
        """Take over a socket on which the greeting is done; see ``connect``."""
        self.welcome = welcome
        self._socket, self._received = connected, received
        not_inherited.add(connected)
        self._lock = threading.Lock()  # of the outgoing side; held for microseconds
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes, self._limit = 0, UNSENT_LIMIT
        self._wake = threading.Event()
        self._lost = threading.Event()
        self._ended = threading.Event()

    def start(self, on_message: Callable[[Any], None], on_lost: Callable[[], None]) -> None:
        """Begin to receive.

        Args:
            on_message: Called on the channel's thread with each message; must not block.
            on_lost: Called on it once, after the last message.
        """
        self._on_message, self._on_lost = on_message, on_lost
        for work, name in ((self._receive, "slowcat-client"), (self._drain, "slowcat-send")):
            threading.Thread(target=work, name=name, daemon=True).start()

    @property
    def is_lost(self) -> bool:
        return self._lost.is_set()

    def send(self, message: Message, *, again: bool = False) -> None:
        """Send a message. Never waits; what is sent on a lost connection goes nowhere.

        Args:
            again: It was kept for this owner: however much that is, it does not end the connection.

        Raises:
            WireError: It is too large.
            TypeError: It holds something that cannot be sent.
        """
        data = memoryview(framed(message))
        if again:
            self._limit += len(data)
        self._write(data)

    def hang_up(self) -> None:
        """Close a connection that was never started; the owner reads what was sent."""
        not_inherited.discard(self._socket)
        self._socket.close()

    def close(self) -> None:
        """End the connection; idempotent."""
        self._lost.set()
        self._wake.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    # ------------------------------------------------------------------- outgoing

    def _write(self, data: memoryview) -> None:
        with self._lock:
            if self._lost.is_set():
                return
            if not self._unsent:
                try:
                    data = data[self._socket.send(data, socket.MSG_DONTWAIT) :]
                except BlockingIOError:
                    pass
                except OSError:
                    return self._lose()
            if not data:
                return
            self._unsent.append(data)
            self._unsent_bytes += len(data)
            if self._unsent_bytes > self._limit:
                logger.warning("memory: its owner does not read; the connection is given up")
                return self._lose()
        self._wake.set()

    def _drain(self) -> None:
        """Send what waits, on a thread of its own."""
        while not self._lost.is_set():
            self._wake.wait()
            self._wake.clear()
            while self._unsent and not self._lost.is_set():
                if self._takes_more():
                    self._send_some()

    def _takes_more(self) -> bool:
        """Wait until the socket takes something, a second at most."""
        waiting = select.poll()  # ``select`` refuses descriptors beyond 1023
        try:
            waiting.register(self._socket, select.POLLOUT)
            return bool(waiting.poll(1000))
        except (OSError, ValueError):  # it was closed meanwhile
            return False

    def _send_some(self) -> None:
        with self._lock:
            try:
                sent = self._socket.send(self._unsent[0], socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                return self._lose()
            self._unsent_bytes -= sent
            if sent == len(self._unsent[0]):
                self._unsent.popleft()
            else:
                self._unsent[0] = self._unsent[0][sent:]

    def _lose(self) -> None:
        self._lost.set()
        self._wake.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    # ------------------------------------------------------------------- incoming

    def _receive(self) -> None:
        try:
            for body in self._received.feed(b""):  # came with the greeting
                self._on_message(from_owner.decode(body))
            while data := self._socket.recv(_CHUNK):
                for body in self._received.feed(data):
                    self._on_message(from_owner.decode(body))
        except OSError:
            pass
        except (WireError, msgspec.MsgspecError) as error:
            logger.warning("memory: its owner sent what is no message: {}", describe_error(error))
        finally:
            self._lose()
            not_inherited.discard(self._socket)
            with self._lock:
                self._socket.close()
            self._on_lost()


def connect(where: Path, hello: Hello, uid: int) -> Channel:
    """Connect to the owner that listens at a path.

    Raises:
        OwnerAwayError: Nobody answers there.
        StoreBusyError: It does not serve this client.
    """
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.settimeout(GREETING_S)
    try:
        connected.connect(str(where))
        if peer_uid(connected) != uid:
            raise StoreBusyError(f"{where} is another user's", hint="Is the folder yours?")
        with suppress(BrokenPipeError):  # it was refused already
            connected.sendall(framed(hello))
        received = FrameBuffer()
        welcome = _greeting(connected, received)
        connected.settimeout(None)
    except BaseException as error:
        connected.close()
        if isinstance(error, OSError):
            raise OwnerAwayError(f"nobody answers at {where}: {error.strerror or error}") from error
        raise
    return Channel(connected, welcome, received)


def _greeting(connected: socket.socket, received: FrameBuffer) -> Welcome:
    while data := connected.recv(_CHUNK):
        for body in received.feed(data):
            found: FromOwner = from_owner.decode(body)
            if isinstance(found, Refused):
                raise StoreBusyError(found.reason, hint=found.hint)
            if isinstance(found, Welcome) and found.protocol == PROTOCOL:
                return found
            raise StoreBusyError("the owner of the memory speaks another protocol")
    raise OwnerAwayError("the owner of the memory went away")
