import pytest

from slowcat_memory.providers import CircuitBreaker


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def fail(breaker: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        breaker.failed()


def test_circuit_breaker_succeeded_resets_the_wait_and_a_probe_does_not(clock: Clock) -> None:
    breaker = CircuitBreaker(failures=1, first_wait_s=5, clock=clock)
    fail(breaker, 1)
    breaker.probe_succeeded()
    assert breaker.closed
    fail(breaker, 1)
    assert breaker.seconds_until_trial == 10
    breaker.succeeded()
    fail(breaker, 1)
    assert breaker.seconds_until_trial == 5


def test_circuit_breaker_allows_when_the_clock_was_put_back(clock: Clock) -> None:
    breaker = CircuitBreaker(failures=1, clock=clock)
    breaker.failed()
    clock.now -= 3600
    assert breaker.allows()
