"""What a worker of a fleet does in a process of its own, order by order; see ``puppets``."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.harness import fleet_plants
from tests.harness.fleet_server import TENANT
from tests.harness.puppets import WAIT_S
from tests.support.said import turn_at, until


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
    lease_s: float = 2.0
    clock_s: float = 0.0
    renews: bool = True
    plant: str = ""

    def begin(self, note: Callable[..., None]) -> "Doing":
        return Doing(self, note)


def worker_config(orders: Orders) -> Any:
    from msgspec.structs import replace

    from slowcat_memory.testing import memory_config

    config = memory_config(
        orders.cache, recall={"deadline_ms": 60_000.0, "settle_ms": 500.0, "floor": 0.0}
    )
    fleet = replace(
        config.fleet,
        dsn=orders.dsn, tenant=TENANT, cache=str(orders.cache), lease_s=orders.lease_s,
    )  # fmt: skip
    return replace(config, fleet=fleet)


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
        """Look at copies, and renew leases."""
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
        if until(lambda: member.engine is not None, wait_s):
            return ""
        return type(member.availability.trouble).__name__

    def is_ready(self, person: str) -> bool:
        return self.members[person].engine is not None

    def release(self, person: str) -> None:
        self.members.pop(person).close()
        self.note("released", person=person)

    def say(self, person: str, count: int = 1, session: str = "") -> list[str]:
        """Append turns; receipts are noted. Returns their words."""
        words = []
        for _ in range(count):
            self.n += 1
            word = f"x{person}{self.orders.name}n{self.n}x"
            of = {"session": session or self.orders.name, "scope": person, "speaker": person}
            turn = turn_at(f"My {word} is in the attic.", now(), **of)
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

    def save(self, person: str, timeout_s: float = WAIT_S) -> bool:
        """Wait until everything is on this disk."""
        return bool(self.members[person].flush(timeout_s))

    def recall(self, person: str, words: list[str]) -> list[str]:
        """Return those of the words that are recalled, and any of another person."""
        import asyncio

        found = asyncio.run(self.members[person].recall(" ".join(words), person))
        texts = " ".join(hit.memory.text for hit in found.hits)
        return [word for word in words if word in texts]

    def remember(self, person: str) -> str:
        self.n += 1
        word = f"x{person}{self.orders.name}m{self.n}x"
        self.note("said", word=word, person=person, raises=True)
        self.members[person].remember(f"The {word} was a present.", person)
        self.note("acked", word=word)
        return word

    def mark(self, person: str, word: str) -> None:
        self.members[person].edit(person, f"chunk/{self.turns[word]}", pinned=True)

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


def now() -> datetime:
    from slowcat_memory.clock import SystemClock

    return SystemClock()()


def _shift_clock(seconds: float) -> None:
    from slowcat_memory.clock import SystemClock

    true = time.time

    def shifted(self: object) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=seconds)

    SystemClock.__call__ = shifted  # type: ignore[method-assign]
    time.time = lambda: true() + seconds
