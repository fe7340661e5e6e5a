from concurrent.futures import Future

import pytest

from slowcat_memory.runtime.namespaces.page_cache import Residence


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
def test_pages_are_given_back_when_they_are_too_many(mapped, released):
    done, worker = [], Worker()
    residence = Residence(100, 0, [lambda: done.append(1)], worker.later, lambda: mapped)
    residence.recalled()
    assert not done, "a recall must not wait for it"
    worker.run()
    assert len(done) == released


def test_recalls_in_a_row_ask_once():
    worker = Worker()
    residence = Residence(1, 0, [], worker.later)
    for _ in range(5):
        residence.recalled()
    assert len(worker.waiting) == 1
    worker.run()
    residence.recalled()
    assert len(worker.waiting) == 1


@pytest.mark.parametrize("most", [0, 1])
def test_in_between_recalls_nothing_is_given_back(most):
    worker = Worker()
    residence = Residence(most, 1000 if most else 0, [], worker.later)
    residence.recalled()
    residence.stop()
    assert not worker.waiting
