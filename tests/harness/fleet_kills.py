"""Workers and backends that are killed at random moments."""

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from tests.harness import fleet_laws
from tests.harness.fleet_server import Server
from tests.harness.puppet_life import Doing, Orders
from tests.harness.puppets import Puppet, end_all, until

PEOPLE = ("anna", "ben", "clara", "dora", "emil", "fay", "gus", "hal", "ida", "jon", "kim", "lea")
WORKERS = 3
RECEIPTS = 40  # at most, between two kills


class Found(Struct):
    """What faults showed.

    Attributes:
        wrong: Laws that were broken.
        figures: What was counted.
    """

    wrong: list[str] = field(default_factory=list)
    figures: Counter[str] = field(default_factory=Counter)


# ------------------------------------------------------------------- in the child


def drift(doing: Doing, people: list[str], seed: int, pace_s: float) -> None:
    """Talk with one person after another, and do what conversations do; never returns."""
    rng = random.Random(seed)
    while True:
        person = rng.choice(people)
        why = doing.hold(person, wait_s=0.3)
        doing.note("held" if not why else "away", person=person, why=why)
        if why and rng.random() < 0.7:  # else its turns wait until the memory is there
            doing.release(person)
            time.sleep(rng.random() * 0.05)
            continue
        own = [w for w in doing.turns if w.startswith(f"x{person}w")]
        for _ in range(rng.randint(1, 40)):
            try:
                _act(doing, person, rng, own)
            except Exception as error:
                doing.note("failed", error=type(error).__name__)
            time.sleep(pace_s * rng.random() * 2)
        doing.release(person)


def _act(doing: Doing, person: str, rng: random.Random, own: list[str]) -> None:
    chance = rng.random()
    if chance < 0.8:
        own += doing.say(person, rng.choice((1, 1, 1, 2, 5)))
    elif chance < 0.9:
        doing.recall(person, rng.sample(own, min(2, len(own))))
    elif chance < 0.94:
        doing.remember(person)
    elif chance < 0.96 and (known := [word for word in own if word in doing.turns]):
        doing.mark(person, rng.choice(known))
    elif chance < 0.99 and (known := [word for word in own if word in doing.turns]):
        word = rng.choice(known)
        own.remove(word)
        doing.forget(person, [word])


# ------------------------------------------------------------------- kills


def kills(server: Server, folder: Path, count: int, seed: int = 1, plant: str = "") -> Found:
    """Kill workers, and every fifth time a connection of one; every 20th its backend."""
    rng, found = random.Random(seed), Found()
    caches = [folder / f"cache{n}" for n in range(WORKERS)]
    everybody, running = list[Puppet](), list[Puppet]()

    def start() -> None:
        orders = Orders(
            dsn=server.dsn, name=f"w{len(everybody)}", cache=rng.choice(caches),
            lease_s=rng.choice((1.0, 2.0)), clock_s=rng.choice((0.0, 3600.0, -3600.0)), plant=plant,
        )  # fmt: skip
        one = Puppet(orders)
        one.send("begin")
        one.send("drift", people=list(PEOPLE), seed=rng.randrange(1 << 30))
        everybody.append(one)
        running.append(one)

    def receipts() -> int:
        return sum(len(one.noted("acked")) for one in everybody)

    for _ in range(WORKERS):
        start()
    for n in range(1, count + 1):
        enough = receipts() + rng.randint(1, RECEIPTS)
        until(lambda enough=enough: receipts() >= enough, "a receipt")
        time.sleep(rng.random() * 0.01)
        if n % 20 == 0:
            found.figures["backends killed"] += server.kill(rng)
        elif n % 5 == 0:
            found.figures["connections ended"] += server.terminate(rng)
        else:
            victim = rng.choice(running)
            running.remove(victim)
            victim.kill()
            found.figures["workers killed"] += 1
            start()
        for one in tuple(running):
            if not one.pump() and one in running:
                found.wrong.append(f"{one.orders.name} ended by itself")
                running.remove(one)
                one.reap()
                start()
    for one in running:
        one.kill()
    judge(server, folder, caches, everybody, PEOPLE, found)
    return found


def judge(
    server: Server,
    folder: Path,
    caches: list[Path],
    everybody: list[Puppet],
    people: tuple[str, ...],
    found: Found,
    expected: Any = (),
) -> None:
    """Have what waits sent, and look at every law."""
    tidied = [
        Puppet(Orders(dsn=server.dsn, name=f"tidy{n}", cache=cache))
        for n, cache in enumerate(caches)
    ]
    until(lambda: server.value(
        "SELECT count(*) = 0 FROM slowcat.owner WHERE until > clock_timestamp()"
    ), "the end of the leases")  # fmt: skip
    for one in tidied:
        one.ask("tidy")
    end_all(tidied)
    said = fleet_laws.of(everybody)
    texts = fleet_laws.memories(server, people)
    found.wrong += fleet_laws.turns(said, texts, expected)
    found.wrong += fleet_laws.log(server)
    found.wrong += fleet_laws.copies_equal(server, caches, people)
    if said.forgotten:
        found.wrong += fleet_laws.rows_with(server, said.forgotten)
        for cache in caches:
            found.wrong += fleet_laws.files_with(cache, said.forgotten)
    for cache in caches:
        found.wrong += [f"{left} was not appended" for left in cache.glob("*/unsent-*")]
    rows = [row["what"] for one in everybody for row in one.rows]
    errors = Counter(
        f"{row['what']}: {row['error']}"
        for one in everybody for row in one.rows if row["what"] in ("failed", "refused")
    )  # fmt: skip
    found.figures.update({
        "said": len(said.people), "acknowledged": len(said.acked),
        "forgotten": len(said.forgotten), "held": rows.count("held"),
        "found": sum(len(set(fleet_laws.WORD.findall(" ".join(t)))) for t in texts.values()),
        **errors,
    })  # fmt: skip
