"""Faults of a fleet that are staged: who stalls, what is away, full or cut, and when."""

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.harness import fleet_laws
from tests.harness.cut_proxy import BEFORE_ANSWER, IN_REQUEST, CutProxy
from tests.harness.fleet_kills import Found, judge
from tests.harness.fleet_server import TENANT, Server
from tests.harness.puppet_life import Orders
from tests.harness.puppets import WAIT_S, Puppet, end_all, until

RACES = 10  # for one person
FORGOTTEN_S = 60.0  # until nothing holds it, on a busy machine


class Stage:
    """The workers of one scene, and what they found."""

    def __init__(self, server: Server, folder: Path, seed: int, plant: str) -> None:
        self.server, self.folder, self.plant = server, folder, plant
        self.rng, self.found = random.Random(seed), Found()
        self.everybody, self.people = list[Puppet](), list[str]()
        self.expected = set[str]()  # words that must be there besides acknowledged ones

    def worker(self, cache: str, begins: bool = True, **how: Any) -> Puppet:
        name = f"w{len(self.everybody)}"
        orders = {"dsn": self.server.dsn, "plant": self.plant, **how}
        one = Puppet(Orders(name=name, cache=self.folder / cache, **orders))
        self.everybody.append(one)
        if begins:
            one.ask("begin")
        return one

    def person(self, n: int) -> str:
        """Return a new person's name."""
        name = "abcdefghijklmnopqrstuvw"
        self.people.append("p" + "".join(name[int(digit)] for digit in f"{n:04}"))
        return self.people[-1]

    def hold(self, one: Puppet, person: str, wait_s: float = WAIT_S) -> None:
        why = one.ask("hold", person=person, wait_s=wait_s)
        assert not why, f"{one.orders.name} does not get {person}: {why}"

    def check(self, holds: bool, what: str) -> None:
        if not holds:
            self.found.wrong.append(what)

    def until(self, holds: Callable[[], Any], what: str) -> None:
        """Wait; it is a fault if that never comes, and a planted one is not waited for long."""
        try:
            until(holds, timeout_s=15.0 if self.plant else WAIT_S)
        except AssertionError:
            self.check(False, f"{what} did not come")

    def all_acked(self, one: Puppet, words: list[str]) -> None:
        self.until(lambda: set(words) <= one.words("acked"), "a receipt")

    def end(self) -> Found:
        end_all(self.everybody)
        caches = sorted({one.orders.cache for one in self.everybody})
        judge(self.server, self.folder, caches, self.everybody, tuple(self.people), self.found,
              self.expected)  # fmt: skip
        return self.found


# ------------------------------------------------------------------- leases


def stalls(server: Server, folder: Path, count: int, seed: int = 1, plant: str = "") -> Found:
    """Stop a worker beyond its lease, or let it run out; another takes over; the first goes on."""
    stage = Stage(server, folder, seed, plant)
    for n in range(count):
        person, stops = stage.person(n), n % 3 < 2
        off = stage.rng.choice((0.0, 3600.0, -3600.0))  # only the database's clock counts
        first = stage.worker("a", renews=stops, clock_s=off)
        second = stage.worker("a" if n % 4 == 3 else "b", clock_s=-off)  # also on one machine
        stage.hold(first, person)
        stage.all_acked(first, first.ask("say", person=person, count=3))
        last = [first.send("say", person=person, count=5)]
        time.sleep(stage.rng.random() * 0.02)  # in the middle of it
        if stops:
            first.signal(signal.SIGSTOP)
        last.append(first.send("say", person=person, count=3))  # is said as soon as it goes on
        stage.hold(second, person)
        stage.all_acked(second, second.ask("say", person=person, count=3))
        first.signal(signal.SIGCONT)
        for order in last:
            stage.expected |= set(first.answer(order))
        stage.expected |= set(first.ask("say", person=person, count=3))
        stage.until(lambda one=first: one.noted("trouble"), "a notice of the trouble")
        stage.all_acked(second, second.ask("say", person=person, count=2))
        second.ask("release", person=person)
        if n % 2 == 0 and stops:  # else its turns wait in its cache until somebody looks
            stage.until(lambda one=first, who=person: one.ask("is_ready", person=who), "its return")
        first.ask("release", person=person)
        end_all((first, second))
    return stage.end()


def races(server: Server, folder: Path, count: int, seed: int = 1, plant: str = "") -> Found:
    """Let two workers talk with one person: one takes the lease while the other appends under it."""
    stage = Stage(server, folder, seed, plant)
    both = [stage.worker("a", lease_s=15.0), stage.worker("b", lease_s=15.0)]
    for n in range(count):
        person = stage.person(n // RACES) if n % RACES == 0 else stage.people[-1]
        holder, taker = stage.rng.sample(both, 2)
        stage.hold(holder, person)
        orders = [(holder, holder.send("say", person=person, count=5))]
        stage.server.execute(f"UPDATE slowcat.owner SET purpose = 'idle' WHERE person = '{person}'")
        taken = taker.send("hold", person=person, wait_s=WAIT_S)
        orders.append((holder, holder.send("say", person=person, count=5)))
        stage.check(not (why := taker.answer(taken)), f"the lease was not taken over: {why}")
        orders.append((taker, taker.send("say", person=person, count=2)))
        for one, order in orders:
            stage.expected |= set(one.answer(order))
        for one in (taker, holder):
            one.ask("release", person=person)
    return stage.end()


# ------------------------------------------------------------------- the database


def away(server: Server, folder: Path, count: int, seed: int = 1, plant: str = "") -> Found:
    """Stop the database, or fill its disk, in mid-conversation; the worker is killed, or goes on."""
    stage = Stage(server, folder, seed, plant)
    for n in range(count):
        person, one = stage.person(n), stage.worker(f"a{n}")
        stage.hold(one, person)
        before = one.ask("say", person=person, count=3)
        stage.all_acked(one, before)
        with server.full() if n % 4 > 1 else server.away():
            waiting = one.ask("say", person=person, count=5)
            stage.check(one.ask("save", person=person), "turns were not saved on this disk")
            stage.expected |= set(waiting)
            stage.until(lambda one=one: one.noted("trouble"), "a notice of the trouble")
            stage.check(not one.words("acked") & set(waiting), "acknowledged while away")
            found = one.ask("recall", person=person, words=before[:1])
            stage.check(found == before[:1], f"recall while away: {found}")
            if n % 2 == 0:
                one.kill()
        if one.is_alive:
            stage.all_acked(one, waiting)
        else:
            _return(stage, person, f"a{n}", n)
    return stage.end()


def _return(stage: Stage, person: str, cache: str, n: int) -> None:
    """Begin again after a kill, without or after another worker; what waited must arrive."""
    other = stage.worker("other")
    if n % 4 == 2:
        stage.hold(other, person)
        stage.all_acked(other, other.ask("say", person=person, count=2))
        other.ask("release", person=person)
    stage.worker(cache)  # it looks at its cache by itself
    sql = "SELECT last_seq FROM slowcat.owner WHERE person = $1"
    was = stage.server.value(sql, person)
    stage.until(lambda: stage.server.value(sql, person) > was, "the return of what waited")
    other.end()


def cut(server: Server, folder: Path, count: int, seed: int = 1, plant: str = "") -> Found:
    """Cut connections in the middle of a statement, or after it and before its answer."""
    stage, proxy, person = Stage(server, folder, seed, plant), CutProxy(server.dsn), "anna"
    stage.people.append(person)
    try:
        one = stage.worker("a", dsn=proxy.dsn, lease_s=15.0)  # only a cut may cost it
        words = list[str]()
        for n in range(count):
            if n % 10 == 0 and n % 20:
                proxy.cut(stage.rng.choice((IN_REQUEST, BEFORE_ANSWER)))
            if n % 10 == 0:
                stage.hold(one, person)
            proxy.cut(BEFORE_ANSWER if n % 3 else IN_REQUEST)
            for _ in range(5):  # some while the outcome of the first is not known
                words += one.ask("say", person=person)
                time.sleep(stage.rng.random() * 0.02)
            if n % 3:  # so that the next cut meets a statement, and no new connection
                stage.all_acked(one, words)
            if n % 10 == 9 and not plant:
                stage.all_acked(one, words)
                one.ask("release", person=person)
        stage.expected |= set(words)
        lost = [row for row in one.noted("trouble") if row["error"] == "LeaseLostError"]
        stage.check(not lost or bool(plant), f"a lease was given up {len(lost)} times for a cut")
        return stage.end()
    finally:
        end_all(stage.everybody)
        proxy.close()


# ------------------------------------------------------------------- forgetting


class Forgetting(NamedTuple):
    """What a person has forgotten on the second worker after talking with the first."""

    person: str
    words: list[str]
    first: Puppet
    second: Puppet

    def hand_over(self, stage: Stage) -> None:
        self.first.ask("release", person=self.person)
        stage.hold(self.second, self.person)

    def forget(self, stage: Stage) -> None:
        done = self.second.ask("forget_text", person=self.person, words=self.words)
        stage.check(done["erased"], f"not erased: {done}")


def forget(server: Server, folder: Path, count: int, seed: int = 1, plant: str = "") -> Found:
    """Forget on one worker what others have, too, while one thing or another goes wrong."""
    stage = Stage(server, folder, seed, plant)
    kinds = (_plainly, _killed, _while_away, _behind_a_stall, _with_leftovers)
    for n in range(count):
        kind, person = kinds[n % len(kinds)], stage.person(n)
        first, second = stage.worker("a"), stage.worker("b")
        stage.hold(first, person)
        words = first.ask("say", person=person, count=6)
        stage.all_acked(first, words)
        gone = kind(stage, Forgetting(person, words[1:4], first, second))
        if gone:
            stage.check(not (left := _left(stage, gone)), f"{kind.__name__}: {left}")
        end_all(stage.everybody)
    return stage.end()


def _left(stage: Stage, words: list[str]) -> list[str]:
    """Return where words still are, when it is time that they are nowhere."""
    caches = sorted({one.orders.cache for one in stage.everybody})

    def look() -> list[str]:
        rows = fleet_laws.rows_with(stage.server, words)
        return rows + [line for cache in caches for line in fleet_laws.files_with(cache, words)]

    return fleet_laws.within(FORGOTTEN_S, look)


def _plainly(stage: Stage, case: Forgetting) -> list[str]:
    case.hand_over(stage)
    case.forget(stage)
    found = case.second.ask("recall", person=case.person, words=case.words)
    stage.check(not found, f"recalled: {found}")
    return case.words


def _killed(stage: Stage, case: Forgetting) -> list[str]:
    """Kill the holder at any step; another, or one with its cache, comes after it."""
    case.hand_over(stage)
    case.second.send("forget_text", person=case.person, words=case.words)
    time.sleep(stage.rng.random() * 0.5)
    case.second.kill()
    again = stage.worker("b")
    heir = again if stage.rng.random() < 0.5 else case.first
    stage.hold(heir, case.person)
    texts = " ".join(heir.ask("texts", person=case.person))
    there = [word for word in case.words if word in texts]
    stage.check(there in ([], case.words), f"forgotten in part: {there}")
    stage.found.figures["kept" if there else "gone"] += 1
    return case.words if not there else []


def _while_away(stage: Stage, case: Forgetting) -> list[str]:
    """Stop the database in the middle."""
    case.hand_over(stage)
    order = case.second.send("forget_text", person=case.person, words=case.words)
    time.sleep(stage.rng.random() * 0.2)
    with stage.server.away():
        time.sleep(stage.rng.random())
    try:
        case.second.answer(order)
    except RuntimeError as error:
        stage.found.figures[f"refused: {str(error)[:40]}"] += 1
        return []
    return case.words


def _behind_a_stall(stage: Stage, case: Forgetting) -> list[str]:
    """Forget while a worker that has the copy open, and something to send, is stopped."""
    case.first.signal(signal.SIGSTOP)
    order = case.first.send("say", person=case.person, count=2)
    try:
        stage.hold(case.second, case.person)
        case.forget(stage)
    finally:
        case.first.signal(signal.SIGCONT)
    stage.expected |= set(case.first.answer(order))
    return case.words


def _with_leftovers(stage: Stage, case: Forgetting) -> list[str]:
    """Forget beside a copy whose making, and one whose deletion, was interrupted."""
    import shutil

    from slowcat_memory.fleet.copies import copy_name
    from slowcat_memory.store import data_file

    case.hand_over(stage)
    for place in case.first.orders.cache.glob(f"{copy_name(TENANT, case.person)}/copy-*"):
        shutil.copytree(place, place.with_name("copy-b.new"))
        shutil.copytree(place, place.with_name("copy-c"))
        data_file(place.with_name("copy-c")).rename(place.with_name("copy-c") / "other")
    case.forget(stage)
    return case.words
