import threading

from slowcat_memory.runtime.namespaces.silence import Silence


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def made(seconds=300.0):
    clock, told = Clock(), []
    return clock, told, Silence(seconds, lambda: told.append(clock.now), clock)


def test_it_is_told_once_per_silence():
    clock, told, silence = made()
    clock.now += 299
    assert silence.due() == 1.0 and told == []
    clock.now += 1
    assert silence.due() == 300.0 and told == [400.0]
    clock.now += 5000
    silence.due()
    assert told == [400.0], "nothing was said since"
    silence.broken()
    assert silence.due() == 300.0
    clock.now += 300
    silence.due()
    assert told == [400.0, 5700.0]
    silence.stop()


def test_who_speaks_puts_it_off():
    clock, told, silence = made()
    for _ in range(20):
        clock.now += 200
        silence.broken()
        assert silence.due() == 300.0
    assert told == []
    assert silence.since() == clock.now
    silence.stop()


def test_the_thread_notices_by_itself():
    told = threading.Event()
    silence = Silence(0.01, told.set)
    assert told.wait(5)
    silence.stop()


def test_zero_never_tells():
    before = threading.active_count()
    _, told, silence = made(0.0)
    assert threading.active_count() == before and told == []
    silence.stop()
