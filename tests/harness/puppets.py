"""Processes that do what they are asked and may be killed: of one memory, or of a fleet.

A puppet is forked, gets orders as lines of JSON, and answers with lines; what happens without an
order (a receipt, a trouble) is a line, too. What it wrote before it was killed can still be read.
"""

import contextlib
import importlib
import json
import os
import queue
import selectors
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from tests.harness.children import ask
from tests.support import said

WAIT_S = 600.0  # after so long, something hangs, on whatever machine


def warm_up() -> None:
    """Import here what a worker imports in its life, so that those forked later need not."""

    def lived() -> list[str]:
        import asyncio

        from slowcat_memory.engine import MemoryEngine
        from slowcat_memory.records import Forget
        from slowcat_memory.testing import memory_config

        with tempfile.TemporaryDirectory() as made:
            engine = MemoryEngine(memory_config(made))
            engine.append(said.turn_at("Hi.", scope="a")).wait(WAIT_S)
            engine.prepare("a")
            engine.remember("A note.", "a")
            engine.flush(WAIT_S, indexed=True)
            asyncio.run(engine.recall("Hi", "a"))
            engine.edit("a", "chunk/1", pinned=True)
            engine.forget(Forget(turns=(1,)))
            engine.close()
        return [name for name in sys.modules if not name.startswith("__")]

    for name in ask(lived) or ():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


class Orders(Protocol):
    """What a puppet is; its name is in each word that it says."""

    @property
    def name(self) -> str: ...

    def begin(self, note: Callable[..., None]) -> Any:
        """Make, in the child, the object whose methods are the orders."""


class Puppet:
    """An object in a child process, whose methods are called by orders. The parent has no threads."""

    def __init__(self, orders: Any) -> None:
        self.orders, self.rows, self._rest, self._id = orders, list[dict[str, Any]](), b"", 0
        self.answers: dict[int, dict[str, Any]] = {}
        order_read, self._order = os.pipe()
        self._out, row_write = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.setpgid(0, 0)
                for other in _living:
                    other.close_pipes()
                os.close(self._order)
                os.close(self._out)
                _live(orders, order_read, row_write)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(order_read)
        os.close(row_write)
        os.set_blocking(self._out, False)
        _living.append(self)
        self.is_alive = True

    def close_pipes(self) -> None:
        os.close(self._order)
        os.close(self._out)

    def send(self, do: str, **how: Any) -> int:
        """Give an order; return its number."""
        self._id += 1
        os.write(self._order, json.dumps({"id": self._id, "do": do, "how": how}).encode() + b"\n")
        return self._id

    def answer(self, id_: int, timeout_s: float = WAIT_S) -> Any:
        """Wait for the answer to an order.

        Raises:
            RuntimeError: It raised, or the puppet is gone.
        """
        deadline = time.monotonic() + timeout_s
        while id_ not in self.answers:
            if not self.pump(0.01) and id_ not in self.answers:
                raise RuntimeError(f"{self.orders.name} is gone")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.orders.name} does not answer")
        found = self.answers.pop(id_)
        if "error" in found:
            raise RuntimeError(found["error"])
        return found["answer"]

    def ask(self, do: str, timeout_s: float = WAIT_S, **how: Any) -> Any:
        return self.answer(self.send(do, **how), timeout_s)

    def pump(self, wait_s: float = 0.0) -> bool:
        """Read what it has written; return False at its end."""
        if not self.is_alive:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            if not selector.select(wait_s):
                return True
        try:
            piece = os.read(self._out, 1 << 16)
        except BlockingIOError:
            return True
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            row = json.loads(line)
            if "to" in row:
                self.answers[row["to"]] = row
            else:
                self.rows.append(row)
        return bool(piece)

    def noted(self, what: str) -> list[dict[str, Any]]:
        self.pump()
        return [row for row in self.rows if row["what"] == what]

    def words(self, what: str) -> set[str]:
        return {row["word"] for row in self.noted(what)}

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.reap()

    def end(self) -> bool:
        """Release everything, and end; return whether that went in order."""
        in_order = self.is_alive
        if self.is_alive:
            try:
                self.ask("end")
            except (RuntimeError, OSError):
                in_order = False
                self.signal(signal.SIGKILL)
            self.reap()
        return in_order

    def reap(self) -> None:
        """Read the rest, and wait for its end."""
        if self.is_alive:
            while self.pump(5.0):
                pass
            self.is_alive = False
            os.waitpid(self.pid, 0)
            self.close_pipes()
            _living.remove(self)


def _live(orders: Orders, from_parent: int, to_parent: int) -> None:
    lock = threading.Lock()

    def send(row: dict[str, Any]) -> None:
        with lock:
            os.write(to_parent, json.dumps(row).encode() + b"\n")

    doing = orders.begin(lambda what, **more: send({"what": what, "at": time.time(), **more}))
    todo: queue.Queue[str] = queue.Queue()

    def read() -> None:
        with os.fdopen(from_parent) as lines:
            for line in lines:
                todo.put(line)
        os._exit(3)  # the parent is gone

    threading.Thread(target=read, daemon=True).start()
    while True:
        order = json.loads(todo.get())
        try:
            answer = {"answer": getattr(doing, order["do"])(**order["how"])}
        except Exception as error:
            answer = {"answer": None, "error": f"{type(error).__name__}: {error}"}
        send(answer | {"to": order["id"]})
        if order["do"] == "end":
            return


_living: list[Puppet] = []


def end_all(puppets: Iterable[Puppet]) -> None:
    """End each; kill those that do not end."""
    for one in puppets:
        if one.is_alive:
            one.signal(signal.SIGCONT)
            one.end()


def kill_all() -> None:
    """Kill whatever a broken run has left."""
    for one in tuple(_living):
        one.signal(signal.SIGCONT)
        one.kill()


def until(holds: Callable[[], Any], what: str = "it", timeout_s: float = WAIT_S) -> None:
    """Poll until something holds.

    Raises:
        AssertionError: It did not happen in time.
    """
    assert said.until(holds, timeout_s), f"{what} did not happen"
