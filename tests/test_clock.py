import pytest

from slowcat_memory import clock
from slowcat_memory.clock import SystemClock, read_clocks, seconds_of, seconds_since_synchronised
from slowcat_memory.testing import FixedClock


def test_seconds_of_a_clock_with_its_own_boot_clock_is_used() -> None:
    fixed = FixedClock()
    seconds = seconds_of(fixed)
    fixed.advance(5)
    assert seconds() == 5
    fixed.now = fixed.now.replace(year=2030)
    assert seconds() == 5


def test_read_clocks_a_bare_function_is_compared_with_the_machines_boot_clock() -> None:
    fixed = FixedClock()
    before, read = clock.boot_seconds(), read_clocks(lambda: fixed.now)
    assert read.wall == fixed.now and before <= read.boot_s <= clock.boot_seconds()
    assert read.boot == "" and read.synchronised_s is None


def test_system_clock_is_aware_and_its_boot_clock_advances() -> None:
    system = SystemClock()
    first, second = read_clocks(system), read_clocks(system)
    assert first.wall.tzinfo is not None and first.boot == second.boot
    assert second.boot_s >= first.boot_s


@pytest.mark.parametrize(
    ("state", "error_us", "seconds"), [(0, 50_000, 100.0), (5, 16_000_000, None), (-1, 0, None)]
)
def test_seconds_since_synchronised_is_what_the_kernel_says(
    monkeypatch: pytest.MonkeyPatch, state: int, error_us: int, seconds: float | None
) -> None:
    class Kernel:
        def adjtimex(self, timex: object) -> int:
            timex._obj.maxerror = error_us  # type: ignore[attr-defined]
            return state

    monkeypatch.setattr(clock.sys, "platform", "linux")
    monkeypatch.setattr(clock, "_c_library", Kernel)
    assert seconds_since_synchronised() == seconds


def test_seconds_since_synchronised_is_unknown_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock.sys, "platform", "darwin")
    assert seconds_since_synchronised() is None
