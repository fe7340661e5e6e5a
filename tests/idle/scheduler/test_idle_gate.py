"""The gate: closed while anything goes on, open after a grace, whatever is lost on the way."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.idle.scheduler.idle_gate import IdleGate

OPTIONS = IdleOptions(grace_s=3, lost_s=60)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gate(clock: Clock) -> IdleGate:
    return IdleGate(OPTIONS, clock)


def test_idle_gate_listeners_are_told_on_the_thread_that_closed_it_until_they_leave(gate, clock):
    told: list[str] = []
    clock.now += 3
    closer = threading.Thread(target=gate.busy, args=("a",), name="closer")
    with gate.on_close(lambda: told.append(threading.current_thread().name)):
        closer.start()
        closer.join()
    clock.now += 100  # it is lost
    gate.busy("b")
    assert told == ["closer"]


def test_idle_gate_laws_under_random_histories():
    """Against an oracle that keeps everything: open exactly when nothing went on for the grace."""
    for seed in range(200):
        rng, clock = random.Random(seed), Clock()
        gate = IdleGate(OPTIONS, clock)
        heard: dict[str, float] = {}
        quiet, closings, told = clock.now, 1, []  # closed as it begins: told at once
        with gate.on_close(lambda told=told: told.append(1)):
            for _ in range(60):
                clock.now += rng.choice((0, 0.5, 3, 20, 61, 70))
                for name, at in list(heard.items()):
                    if clock.now - at >= OPTIONS.lost_s:
                        quiet = max(quiet, at + OPTIONS.lost_s)
                        del heard[name]
                is_open = not heard and clock.now - quiet >= OPTIONS.grace_s
                assert (gate.opens_in() == 0) == is_open, f"seed {seed}"
                name = rng.choice("abc")
                if rng.random() < 0.5:
                    gate.busy(name)
                    closings += is_open
                    heard[name] = clock.now
                else:
                    gate.free(name)
                    if heard.pop(name, None) is not None:
                        quiet = clock.now
                assert len(told) == closings, f"seed {seed}"


def test_idle_gate_threads_may_hammer_it():
    gate, told = IdleGate(IdleOptions(grace_s=0, lost_s=60)), []

    def talk(who: str) -> None:
        for n in range(2000):
            gate.busy(f"{who}/{n % 3}")
            assert gate.opens_in() > 0
            gate.free(f"{who}/{n % 3}")
        gate.busy(f"{who}/x")
        gate.gone(f"{who}/")

    def listen() -> None:
        for _ in range(500):
            with gate.on_close(lambda: None):
                pass

    with gate.on_close(lambda: told.append(1)), ThreadPoolExecutor(5) as threads:
        work = [*(threads.submit(talk, str(n)) for n in range(4)), threads.submit(listen)]
    assert not [one for one in work if one.exception()] and told and gate.opens_in() == 0
