"""Workers of a fleet in processes of their own, that do what they are asked and may be killed.

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
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.harness import fleet_plants
from tests.harness.children import ask
from tests.harness.fleet_server import TENANT

WAIT_S = 30.0


class Orders(Struct, frozen=True, kw_only=True):
    """What a worker is.

    Attributes:
        name: In each word that it says; no two have the same.
        cache: The folder of its copies.
        clock_s: How far its wall clock is off.
        renews: Whether it renews its leases.
        plant: A fault to plant; see ``fleet_plants``.
    """

    dsn: str
    name: str
    cache: Path
    lease_s: float = 1.0
    clock_s: float = 0.0
    renews: bool = True
    plant: str = ""


def worker_config(orders: Orders) -> Any:
    from msgspec.structs import replace

    from slowcat_memory.testing import memory_config

    config = memory_config(
        orders.cache, recall={"deadline_ms": 2000.0, "settle_ms": 500.0, "floor": 0.0}
    )
    fleet = replace(
        config.fleet,
        dsn=orders.dsn, tenant=TENANT, cache=str(orders.cache), lease_s=orders.lease_s,
    )  # fmt: skip
    return replace(config, fleet=fleet)


# ------------------------------------------------------------------- in the child


class Doing:
    """What a puppet can do. Each method is an order; its result is the answer."""

    def __init__(self, orders: Orders, note: Callable[..., None]) -> None:
        from slowcat_memory.fleet.fleet_process import Fleet

        fleet_plants.plant(orders.plant)
        if orders.clock_s:
            _shift_clock(orders.clock_s)
        self.orders, self.note, self.n = orders, note, 0
        self.fleet = Fleet(worker_config(orders))
        if not orders.renews:
            self.fleet._renew = lambda: None  # type: ignore[method-assign]
        self.members: dict[str, Any] = {}
        self.turns: dict[str, int] = {}  # ids of turns that were acknowledged, by their words

    def begin(self) -> None:
        """Listen, and look at copies."""
        self.fleet.start()

    def hold(self, person: str, wait_s: float = 5.0) -> str:
        """Get a person's memory; return "" or why not."""
        member = self.members.get(person)
        if member is None:
            member = self.members[person] = self.fleet.member(person)
            member.availability.subscribe(
                lambda error: self.note("trouble", person=person, error=type(error).__name__),
                lambda: self.note("recovered", person=person),
            )
            member.start(wait_s)
            member.prepare(person)
        deadline = time.monotonic() + wait_s
        while not member.is_ready and time.monotonic() < deadline:
            time.sleep(0.005)
        if member.is_ready:
            return ""
        return type(member.last_error).__name__ if member.last_error else "slow"

    def is_ready(self, person: str) -> bool:
        return bool(self.members[person].is_ready)

    def release(self, person: str) -> None:
        self.members.pop(person).release()

    def say(self, person: str, count: int = 1, session: str = "") -> list[str]:
        """Append turns; receipts are noted. Returns their words."""
        from slowcat_memory.records import Turn

        words = []
        for _ in range(count):
            self.n += 1
            word = f"x{person}{self.orders.name}n{self.n}x"
            turn = Turn(
                session=session or self.orders.name, scope=person, speaker=person, role="user",
                text=f"My {word} is in the attic.", at=_now(),
            )  # fmt: skip
            self.note("said", word=word, person=person)
            try:
                ack = self.members[person].append(turn)
            except Exception as error:
                self.note("refused", word=word, error=type(error).__name__)
                continue
            ack.future.add_done_callback(lambda f, w=word, a=ack: self._settled(w, a, f))
            words.append(word)
        return words

    def _settled(self, word: str, ack: Any, future: Any) -> None:
        if future.cancelled() or (error := future.exception()) is not None:
            why = "cancelled" if future.cancelled() else type(error).__name__
            return self.note("refused", word=word, error=why)
        self.note("acked", word=word)
        self.turns[word] = ack.id

    def save(self, person: str, timeout_s: float = 5.0) -> bool:
        """Wait until everything is on this disk."""
        return bool(self.members[person].flush(timeout_s))

    def waiting(self, person: str) -> int:
        holding = self.members[person].holding
        return -1 if holding is None else holding.shipper.waiting

    def epoch(self, person: str) -> int:
        holding = self.members[person].holding
        return -1 if holding is None else holding.lease.epoch

    def recall(self, person: str, words: list[str]) -> list[str]:
        """Return those of the words that are recalled, and any of another person."""
        import asyncio

        found = asyncio.run(self.members[person].recall(" ".join(words), person))
        texts = " ".join(hit.memory.text for hit in found.hits)
        return [word for word in words if word in texts]

    def remember(self, person: str) -> str:
        self.n += 1
        word = f"x{person}{self.orders.name}m{self.n}x"
        self.note("said", word=word, person=person)
        self.members[person].remember(f"The {word} was a present.", person)
        self.note("acked", word=word)
        return word

    def mark(self, person: str, word: str) -> None:
        self.members[person].mark(person, f"chunk/{self.turns[word]}", pinned=True)

    def forget(self, person: str, words: list[str]) -> dict[str, Any]:
        """Forget turns of this worker that were acknowledged."""
        from slowcat_memory.records import Forget

        turns = tuple(self.turns[word] for word in words)
        for word in words:
            self.note("forgetting", word=word)
        gone = self.members[person].forget(Forget(turns=turns))
        if gone.erased:
            for word in words:
                self.note("forgotten", word=word)
        return {"erased": gone.erased, "problems": list(gone.problems)}

    def forget_text(self, person: str, words: list[str]) -> dict[str, Any]:
        """Forget turns by their words, whoever said them."""
        with self.members[person].snapshot() as snapshot:
            for turn in snapshot.turns(person):
                self.turns |= {word: turn.id for word in words if word in turn.text}
        return self.forget(person, words)

    def tidy(self) -> None:
        self.fleet.tidy()

    def texts(self, person: str) -> list[str]:
        with self.members[person].snapshot() as snapshot:
            turns = [turn.text for turn in snapshot.turns(person)]
            notes = [one.text for one in snapshot.memories(person) if one.kind == "note"]
        return turns + notes

    def end(self) -> None:
        for person in tuple(self.members):
            self.release(person)
        self.fleet.close()

    def drift(self, people: list[str], seed: int, pace_s: float = 0.01) -> None:
        """Talk with one after another until killed; see ``fleet_kills``."""
        from tests.harness.fleet_kills import drift

        drift(self, people, seed, pace_s)


def _now() -> datetime:
    from slowcat_memory.clock import SystemClock

    return SystemClock()()


def _shift_clock(seconds: float) -> None:
    from slowcat_memory.clock import SystemClock

    true = time.time

    def shifted(self: object) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=seconds)

    SystemClock.__call__ = shifted  # type: ignore[method-assign]
    time.time = lambda: true() + seconds


def _live(orders: Orders, from_parent: int, to_parent: int) -> None:
    lock = threading.Lock()

    def send(row: dict[str, Any]) -> None:
        with lock:
            os.write(to_parent, json.dumps(row).encode() + b"\n")

    doing = Doing(orders, lambda what, **more: send({"what": what, "at": time.time(), **more}))
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
            if os.environ.get("PUPPET_TRACE"):
                traceback.print_exc()
        send(answer | {"to": order["id"]})
        if order["do"] == "end":
            return


# ------------------------------------------------------------------- in the parent


def warm_up() -> None:
    """Import here what a worker imports in its life, so that those forked later need not."""

    def live() -> list[str]:
        import asyncio

        from slowcat_memory.engine import MemoryEngine
        from slowcat_memory.records import Forget, Turn
        from slowcat_memory.testing import memory_config

        with tempfile.TemporaryDirectory() as made:
            engine = MemoryEngine(memory_config(made))
            turn = Turn(session="s", scope="a", speaker="a", role="user", text="Hi.", at=_now())
            engine.log.append(turn).wait(WAIT_S)
            engine.prepare("a")
            engine.remember("A note.", "a")
            engine.flush(WAIT_S, indexed=True)
            asyncio.run(engine.recall("Hi", "a"))
            engine.mark("a", "chunk/1", pinned=True)
            engine.forget(Forget(turns=(1,)))
            engine.close()
        return [name for name in sys.modules if not name.startswith("__")]

    importlib.import_module("slowcat_memory.fleet.fleet_process")
    for name in ask(live) or ():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


class Puppet:
    """A worker in a child process. The parent has no threads."""

    def __init__(self, orders: Orders) -> None:
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

    def end(self) -> None:
        """Release everything, and end."""
        if self.is_alive:
            try:
                self.ask("end", timeout_s=60.0)
            except (RuntimeError, OSError):
                self.signal(signal.SIGKILL)
            self.reap()

    def reap(self) -> None:
        """Read the rest, and wait for its end."""
        if self.is_alive:
            while self.pump(5.0):
                pass
            self.is_alive = False
            os.waitpid(self.pid, 0)
            self.close_pipes()
            _living.remove(self)


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


def until(holds: Callable[[], Any], what: str = "it", timeout_s: float = WAIT_S) -> Any:
    """Poll until something holds; return it.

    Raises:
        AssertionError: It did not happen in time.
    """
    deadline = time.monotonic() + timeout_s
    while not (found := holds()):
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.005)
    return found
