import threading
from concurrent.futures import Future
from pathlib import Path

import pytest
from loguru import logger

from slowcat_memory.pages import mapped_mb, resident_mb
from slowcat_memory.runtime.namespaces.registry import IdleTimer, PageCache


class Worker:
    """Runs what it is given when it is told to."""

    def __init__(self):
        self.waiting = []

    def later(self, work):
        future = Future()
        self.waiting.append((work, future))
        return future

    def run(self):
        waiting, self.waiting = self.waiting, []
        for work, future in waiting:
            work()
            future.set_result(None)


@pytest.mark.parametrize(("mapped", "released"), [(99.0, 0), (100.0, 0), (101.0, 1)])
def test_page_cache_pages_are_given_back_when_they_are_too_many(mapped, released):
    done, worker = [], Worker()
    cache = PageCache(100, 0, [lambda: done.append(1)], worker.later, lambda: mapped)
    cache.recalled()
    assert not done, "a recall must not wait for it"
    worker.run()
    assert len(done) == released


@pytest.mark.parametrize(("limit", "warned"), [(0, 0), (900, 1), (1000, 0)])
def test_page_cache_warns_once_of_a_process_above_the_limit(limit, warned):
    lines, worker = [], Worker()
    cache = PageCache(100, 0, [], worker.later, lambda: 1.0, warn_mb=limit, resident=lambda: 1000.0)
    sink = logger.add(lambda line: lines.append(str(line)), level="WARNING")
    try:
        for _ in range(3):
            cache.recalled()
            worker.run()
    finally:
        logger.remove(sink)
    assert len([line for line in lines if "memory.warn_mb" in line]) == warned


def test_the_memory_of_this_process_is_known():
    assert resident_mb() > mapped_mb() > 0 or not Path("/proc/self/statm").exists()


def test_page_cache_recalls_in_a_row_ask_once():
    worker = Worker()
    cache = PageCache(1, 0, [], worker.later)
    for _ in range(5):
        cache.recalled()
    assert len(worker.waiting) == 1
    worker.run()
    cache.recalled()
    assert len(worker.waiting) == 1


@pytest.mark.parametrize("most", [0, 1])
def test_page_cache_in_between_recalls_nothing_is_given_back(most):
    worker = Worker()
    cache = PageCache(most, 1000 if most else 0, [], worker.later)
    cache.recalled()
    cache.stop()
    assert not worker.waiting


# ------------------------------------------------------------------- the timer


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def made(seconds=300.0):
    clock, told = Clock(), []
    return clock, told, IdleTimer(seconds, lambda: told.append(clock.now), clock)


def test_registry_pages_timer_calls_back_once_per_idle_period():
    clock, told, timer = made()
    clock.now += 299
    assert timer.check() == 1.0 and told == []
    clock.now += 1
    assert timer.check() == 300.0 and told == [400.0]
    clock.now += 5000
    timer.check()
    assert told == [400.0], "nothing was said since"
    timer.reset()
    assert timer.check() == 300.0
    clock.now += 300
    timer.check()
    assert told == [400.0, 5700.0]
    timer.stop()


def test_registry_pages_timer_reset_postpones_the_call():
    clock, told, timer = made()
    for _ in range(20):
        clock.now += 200
        timer.reset()
        assert timer.check() == 300.0
    assert told == []
    timer.stop()


def test_registry_pages_timer_thread_calls_back_by_itself():
    told = threading.Event()
    timer = IdleTimer(0.01, told.set)
    assert told.wait(30)
    timer.stop()


def test_registry_pages_timer_of_zero_never_calls_back():
    before = threading.active_count()
    _, told, timer = made(0.0)
    assert threading.active_count() == before and told == []
    timer.stop()
