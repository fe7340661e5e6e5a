import pytest

from slowcat_memory.errors import EndpointError
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


def test_circuit_breaker_opens_at_the_threshold_of_failures_in_a_row(clock: Clock) -> None:
    breaker = CircuitBreaker(failures=3, clock=clock)
    fail(breaker, 2)
    assert breaker.closed and breaker.allows()
    breaker.succeeded()
    fail(breaker, 2)
    assert breaker.allows(), "a success between them starts the count again"
    fail(breaker, 1)
    assert not breaker.closed and not breaker.allows()


def test_circuit_breaker_waits_grow_up_to_the_longest(clock: Clock) -> None:
    breaker = CircuitBreaker(failures=1, first_wait_s=5, longest_wait_s=60, growth=4, clock=clock)
    waits = []
    for _ in range(4):
        breaker.failed()
        waits.append(breaker.seconds_until_trial)
        clock.now += waits[-1]
        assert not breaker.closed and breaker.allows()
    assert waits == [5, 20, 60, 60]


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


def test_circuit_breaker_on_trial_at_start_is_open_after_one_failure(clock: Clock) -> None:
    breaker = CircuitBreaker(failures=3, on_trial=True, clock=clock)
    assert not breaker.closed and breaker.allows()
    fail(breaker, 1)
    assert not breaker.allows()


def test_circuit_breaker_opens_at_once_for_the_retry_after_of_an_error(clock: Clock) -> None:
    breaker = CircuitBreaker(failures=3, clock=clock)
    breaker.failed(EndpointError("busy", retry_after=100))
    assert breaker.seconds_until_trial == 100


def test_circuit_breaker_allows_when_the_clock_was_put_back(clock: Clock) -> None:
    breaker = CircuitBreaker(failures=1, clock=clock)
    breaker.failed()
    clock.now -= 3600
    assert breaker.allows()
