"""Idle workers and conversations race for a few people; nothing said or ended is lost or doubled."""

import threading
import time
from collections import Counter
from functools import partial
from random import Random

import pytest

from slowcat_memory.errors import BusyElsewhereError
from slowcat_memory.fleet import hydration, tasks
from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.fleet.idle_worker import IdleWorker, Worked
from slowcat_memory.providers import EmbedderOptions
from slowcat_memory.store import Store
from tests.fleet.talking import rows, talking
from tests.support.said import turn_at

PEOPLE = ("anna", "ben", "clara")
RACE_S = 12.0


def converse(fleet: Fleet, random: Random, until: float, said: Counter[tuple[str, str]]) -> None:
    """Talk to one person after another; what was acknowledged goes into ``said``."""
    while time.monotonic() < until:
        person = random.choice(PEOPLE)
        try:
            with talking(fleet, person) as member:
                texts = [f"My number is {random.getrandbits(60)}." for _ in range(3)]
                acks = [member.append(turn_at(text, scope=person)) for text in texts]
                for text, ack in zip(texts, acks, strict=True):
                    ack.wait(20.0)
                    said[person, text] += 1
        except BusyElsewhereError:
            continue
        fleet.database.run(tasks.schedule, fleet.worker.tenant, person)
        time.sleep(random.uniform(0.0, 1.0))  # callers do not come without a pause


@pytest.mark.fleet
def test_idle_work_and_conversations_race(worker_config, tmp_path):
    config = partial(worker_config, embedding=EmbedderOptions(kind="none"))
    fleets = [Fleet(config(name)) for name in ("talk1", "talk2", "idle1", "idle2")]
    said, worked, stop = Counter[tuple[str, str]](), list[Worked](), threading.Event()
    until = time.monotonic() + RACE_S
    talkers = [
        threading.Thread(target=converse, args=(fleet, Random(n), until, said))
        for n, fleet in enumerate(fleets[:2])
    ]
    idlers = [
        threading.Thread(target=IdleWorker(fleet, on_worked=worked.append).run, args=(stop,))
        for fleet in fleets[2:]
    ]
    for thread in (*talkers, *idlers):
        thread.start()
    for thread in talkers:
        thread.join(60.0)
    stop.set()
    for thread in idlers:
        thread.join(60.0)
    assert not any(thread.is_alive() for thread in (*talkers, *idlers))
    fleet = fleets[0]
    for person in PEOPLE:
        fleet.database.run(tasks.schedule, fleet.worker.tenant, person)
    IdleWorker(fleet, on_worked=worked.append).run(threading.Event(), until_done=True)
    found, thought = Counter[tuple[str, str]](), Counter[str]()
    for person in {person for person, _ in said}:
        hydration.pull(fleet.worker, person, tmp_path / person)
        with Store.open(tmp_path / person, readonly=True) as store, store.snapshot() as snapshot:
            found.update((person, turn.text) for turn in snapshot.turns())
            thought[person] = sum(run.job == "think" for run in snapshot.runs())
    epochs = rows(
        fleet, "SELECT person, epoch FROM slowcat.log WHERE tenant = $1 ORDER BY person, seq"
    )
    left = rows(fleet, "SELECT person, attempts FROM slowcat.task WHERE tenant = $1")
    held = rows(fleet, "SELECT person FROM slowcat.owner WHERE tenant = $1 AND NOT released")
    for one in fleets:
        one.close()
    outcomes = Counter(one.outcome for one in worked)
    print(f"{len(said)} turns, idle work {dict(outcomes)}")
    assert found == said and len(said) > 20
    assert epochs == sorted(epochs)  # no older lease appended after a newer one
    ended = Counter(one.person for one in worked if one.outcome == "done")
    assert {person: ended[person] for person in thought} == dict(thought)
    assert outcomes["done"] >= len(PEOPLE) and outcomes["failed"] == 0
    assert left == [] and held == []
