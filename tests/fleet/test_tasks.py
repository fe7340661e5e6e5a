"""Idle work on any worker: claimed with the lease, ended with its result, yielding to people."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.config import Config
from slowcat_memory.core.retention import RetentionOptions
from slowcat_memory.errors import BusyElsewhereError, DatabaseAwayError, LeaseLostError
from slowcat_memory.fleet import hydration, leases, person_log
from slowcat_memory.fleet.fleet_process import CopyEngine, Fleet
from slowcat_memory.fleet.idle_worker import IdleWorker, Worked
from slowcat_memory.providers import EmbedderOptions
from slowcat_memory.store import Store
from slowcat_memory.store.disk.outbox import Unsent
from tests.fleet.talking import rows, say, schedule, talking
from tests.support.said import turn_at

Make = Callable[..., Config]
STATE = "SELECT attempts, leased_by <> '' FROM slowcat.task WHERE tenant = $1 ORDER BY person"


@pytest.fixture
def worker_config(worker_config: Make) -> Make:
    """Workers without a model for vectors: idle work would take seconds."""
    return partial(worker_config, embedding=EmbedderOptions(kind="none"))


@pytest.fixture
def fleet(worker_config: Make) -> Any:
    with Fleet(worker_config("idle")) as fleet:
        yield fleet


def claim(fleet: Fleet) -> leases.Lease | None:
    return fleet.database.run(leases.claim_task, fleet.worker)


def due_in(fleet: Fleet) -> float:
    query = (
        "SELECT extract(epoch FROM not_before - clock_timestamp())::float8"
        " FROM slowcat.task WHERE tenant = $1"
    )
    return float(rows(fleet, query)[0][0])


def work_once(fleet: Fleet, **how: Any) -> Worked | None:
    return IdleWorker(fleet, **how).work_once(threading.Event())


# ---------------------------------------------------------------- the table


def test_the_earlier_of_two_times_counts(fleet):
    schedule(fleet, after_s=100.0)
    schedule(fleet, after_s=1000.0)
    assert due_in(fleet) < 101.0
    schedule(fleet, after_s=10.0)
    assert due_in(fleet) < 11.0
    assert claim(fleet) is None


def test_a_person_who_talks_is_left_alone(fleet, worker_config):
    with Fleet(worker_config("other")) as other, talking(other) as member:
        say(member, "My dog is called Bello.")
        schedule(fleet)
        assert claim(fleet) is None
    assert claim(fleet) is not None


def test_a_task_that_runs_and_is_scheduled_again_is_due_after_it(fleet):
    schedule(fleet)
    claimed = claim(fleet)
    assert claimed is not None and claim(fleet) is None
    schedule(fleet)
    fleet.database.run(leases.finish_task, claimed)
    assert rows(fleet, STATE) == [(0, False)]


def test_a_failed_task_waits_longer_each_time_and_is_given_up(fleet):
    for attempts in range(1, leases.MOST_ATTEMPTS + 1):
        schedule(fleet)
        rows(fleet, "UPDATE slowcat.task SET not_before = now() WHERE tenant = $1 RETURNING 1")
        claimed = claim(fleet)
        assert claimed is not None and claimed.attempts == attempts - 1
        failed = claimed, leases.pause_s(attempts), attempts, "ValueError"
        fleet.database.run(leases.finish_task, *failed)
        fleet.database.run(leases.release, claimed, 0)
        assert due_in(fleet) == pytest.approx(leases.pause_s(attempts), abs=2.0)
        if attempts == 1:  # a new conversation does not shorten the pause
            schedule(fleet)
            assert due_in(fleet) == pytest.approx(leases.pause_s(attempts), abs=2.0)
    rows(fleet, "UPDATE slowcat.task SET not_before = now() WHERE tenant = $1 RETURNING 1")
    assert claim(fleet) is None
    schedule(fleet)  # somebody talked again
    assert claim(fleet) is not None


def test_a_worker_that_vanished_counts_as_a_failure(worker_config):
    with Fleet(worker_config("dead", 1.0)) as dead, Fleet(worker_config("b")) as alive:
        schedule(dead)
        assert claim(dead) is not None
        expire = "UPDATE slowcat.owner SET until = now() WHERE tenant = $1 RETURNING 1"
        assert claim(alive) is None
        rows(alive, expire)
        claimed = claim(alive)
        assert claimed is not None and claimed.attempts == 1


def test_a_conversation_that_takes_over_makes_the_task_due_untried_at_once(worker_config):
    with Fleet(worker_config("idle")) as idle, Fleet(worker_config("b")) as other:
        schedule(idle)
        assert claim(idle) is not None  # and it dies just now: it puts nothing back
        with talking(other) as member:
            assert rows(other, STATE) == [(0, False)]
            say(member, "My dog is called Bello.")
        claimed = claim(other)
        assert claimed is not None and claimed.attempts == 0


def test_people_whose_worker_died_are_not_left_out(fleet):
    fleet.database.run(leases.take, replace(fleet.worker, lease_s=0.0), "anna")
    assert claim(fleet) is None
    assert due_in(fleet) == pytest.approx(leases.ABANDONED_S, abs=2.0)


# ---------------------------------------------------------------- the work


def test_what_one_worker_heard_another_thinks_about(fleet, worker_config):
    with Fleet(worker_config("a")) as first, talking(first) as member:
        say(member, "My sister Clara lives in Lisbon.", "I work as a nurse.")
    assert 0 < due_in(fleet) <= leases.THINK_AFTER_S
    assert work_once(fleet) is None
    schedule(fleet)
    worked = work_once(fleet)
    assert worked is not None and (worked.person, worked.outcome) == ("anna", "done")
    assert rows(fleet, STATE) == []
    assert rows(fleet, "SELECT released FROM slowcat.owner WHERE tenant = $1") == [(True,)]
    with Fleet(worker_config("b")) as second, talking(second) as member:
        with member.snapshot() as snapshot:
            kinds = {memory.kind for memory in snapshot.memories("anna")}
            jobs = [run.job for run in snapshot.runs()]
    assert "fact" in {kind.partition("/")[0] for kind in kinds}
    assert jobs[0] == "think" and "facts" in jobs


def test_a_task_its_result_and_its_run_are_one_transaction(fleet, worker_config, monkeypatch):
    with Fleet(worker_config("a")) as first, talking(first) as member:
        say(member, "My sister Clara lives in Lisbon.")
    schedule(fleet)
    before = rows(fleet, "SELECT last_seq FROM slowcat.owner WHERE tenant = $1")[0][0]
    appended = list[int]()
    finish = leases.finish_task

    async def killed(connection: Any, *put_back: Any, **how: Any) -> None:
        if put_back:
            return await finish(connection, *put_back)
        appended.append(await connection.fetchval("SELECT max(seq) FROM slowcat.log"))
        await finish(connection, **how)
        raise DatabaseAwayError("killed between the result and the commit")

    monkeypatch.setattr(leases, "finish_task", killed)
    monkeypatch.setattr("slowcat_memory.fleet.holding.FLUSH_S", 0.1)
    worked = work_once(fleet)
    assert worked is not None and worked.outcome == "interrupted"
    seq = rows(fleet, "SELECT last_seq FROM slowcat.owner WHERE tenant = $1")[0][0]
    assert before <= seq < appended[0] and rows(fleet, STATE) == [(0, False)]
    monkeypatch.setattr(leases, "finish_task", finish)
    worked = work_once(fleet)
    assert worked is not None and worked.outcome == "done"
    assert rows(fleet, STATE) == []


def test_a_task_that_fails_is_tried_later(fleet, monkeypatch):
    def fails(engine: CopyEngine) -> None:
        raise ValueError("my dog is called Bello")

    monkeypatch.setattr(CopyEngine, "append_unsent", fails)
    schedule(fleet)
    worked = work_once(fleet)
    assert worked is not None and worked.outcome == "failed"
    assert worked.error.startswith("ValueError at ")
    assert rows(fleet, STATE) == [(1, False)]
    assert rows(fleet, "SELECT error FROM slowcat.task WHERE tenant = $1") == [(worked.error,)]
    assert due_in(fleet) == pytest.approx(leases.FIRST_PAUSE_S, abs=2.0)


def test_a_worker_that_ends_puts_its_task_back(fleet):
    schedule(fleet)
    stop = threading.Event()
    stop.set()
    worked = IdleWorker(fleet).work_once(stop)
    assert worked is not None and worked.outcome == "interrupted"
    assert rows(fleet, STATE) == [(0, False)] and due_in(fleet) <= 0.0


def test_after_its_time_the_next_person_has_a_turn(fleet, monkeypatch):
    monkeypatch.setattr("slowcat_memory.fleet.idle_worker.MOST_S", -1.0)
    schedule(fleet, "anna", after_s=-10.0)
    schedule(fleet, "ben", after_s=-5.0)
    seen = list[Worked]()
    worker = IdleWorker(fleet, on_worked=seen.append)
    worker.work_once(threading.Event())
    assert (seen[0].person, seen[0].outcome, seen[0].again_s) == ("anna", "done", 0.0)
    worker.work_once(threading.Event())
    assert seen[1].person == "ben" and len(rows(fleet, STATE)) == 2


def test_a_look_a_day_later_where_something_expires(worker_config):
    with Fleet(worker_config(retention=RetentionOptions(raw_days=30))) as fleet:
        with talking(fleet) as member:
            say(member, "My dog is called Bello.")
        schedule(fleet)
        worked = work_once(fleet)
        assert worked is not None and worked.again_s == 86_400.0
        assert due_in(fleet) == pytest.approx(86_400.0, abs=5.0)


# ---------------------------------------------------------------- the last append


def test_an_append_of_an_older_lease_does_nothing_else_either(fleet):
    old = fleet.database.run(leases.take, fleet.worker, "anna", "idle")
    fleet.database.run(leases.take, replace(fleet.worker, holder="y"), "anna")
    done = list[object]()

    async def also(connection: Any) -> None:
        done.append(connection)

    sets = [Unsent(1, old.epoch, 0, b"x")]
    with pytest.raises(LeaseLostError):
        fleet.database.run(person_log.append, old, sets, also)
    assert done == []


# ---------------------------------------------------------------- many at once


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
        fleet.database.run(leases.schedule_task, fleet.worker.tenant, person)
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
        fleet.database.run(leases.schedule_task, fleet.worker.tenant, person)
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
