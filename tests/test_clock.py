import ast

import pytest

from slowcat_memory import clock
from slowcat_memory.clock import SystemClock, is_synchronised, kernel_is_synchronised, seconds_of
from slowcat_memory.testing import FixedClock
from tests.support.rows import listed
from tests.support.sources import package_files


def test_seconds_of_a_clock_with_its_own_boot_clock_is_used():
    fixed = FixedClock()
    seconds = seconds_of(fixed)
    fixed.advance(5)
    assert seconds() == 5
    fixed.now = fixed.now.replace(year=2030)
    assert seconds() == 5


def test_system_clock_is_aware_and_its_boot_clock_advances():
    system = SystemClock()
    first, second = system.boot_s(), system.boot_s()
    assert system().tzinfo is not None and second >= first
    assert isinstance(is_synchronised(system), bool)


@pytest.mark.parametrize(("state", "synchronised"), [(0, True), (4, True), (5, False), (-1, False)])
def test_kernel_is_synchronised_as_it_says(monkeypatch, state, synchronised):
    class Kernel:
        def adjtimex(self, timex: object) -> int:
            assert not any(timex.raw)  # type: ignore[attr-defined]
            return state

    monkeypatch.setattr(clock.sys, "platform", "linux")
    monkeypatch.setattr(clock, "_c_library", Kernel)
    assert kernel_is_synchronised() == synchronised


# ------------------------------------------------------------------- who reads the wall clock

WALL = {("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("time", "time")}
READERS = {path for path, _ in listed("wall_clock")}  # the other column has what for


def test_wall_clock_is_read_where_it_dates_and_nowhere_else():
    """Whoever measures time takes ``seconds_of``; whoever erases asks the clock's guard."""
    found = {
        name
        for name, tree in package_files()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if (node.value.id, node.attr) in WALL
    }
    assert found == READERS
