import threading

from slowcat_memory.runtime.retention import LOOK_S, QUIET_S, Retention


class Hours:
    """A retention that looks when it is told to."""

    def __init__(self) -> None:
        self.now, self.spoken, self.calls = 1000.0, 1000.0, 0
        self.retention = Retention(False, lambda: self.spoken, self.call, lambda: self.now)

    def call(self) -> None:
        self.calls += 1


def test_nothing_is_erased_while_somebody_speaks() -> None:
    hours = Hours()
    hours.now += QUIET_S - 1
    hours.retention.look()
    assert hours.calls == 0


def test_it_looks_again_and_again_for_as_long_as_it_is_quiet() -> None:
    hours = Hours()
    for _ in range(3):
        hours.now += LOOK_S
        hours.retention.look()
    assert hours.calls == 3


def test_the_thread_ends() -> None:
    retention = Retention(True, lambda: 0.0, lambda: None)
    (thread,) = [t for t in threading.enumerate() if t.name == "slowcat-retention"]
    retention.stop()
    thread.join(10)
    assert not thread.is_alive()
