from concurrent.futures import Future

import pytest
from loguru import logger

from slowcat_memory.runtime.namespaces.registry import PageCache


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
