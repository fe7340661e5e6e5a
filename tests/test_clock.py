import ast
from pathlib import Path

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


# ------------------------------------------------------------------- who reads the wall clock

WALL = {("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("time", "time")}
READERS = {
    "clock.py": "the clock itself",
    "cli/run/jobs.py": "says when a waiting task is due",
    "store/options.py": "dates of backups, locks and creation; nothing is ordered or erased by them",
    "idle/scheduler/loop.py": "default of a loop that is used alone",
    "core/time/calendar.py": "the system's time zone",
    "transfer/ingest.py": "the date of an import without dates",
    "cli/shared/dates.py": "the present of a date in words",
    "index/build/generation.py": "whether a file's time is old enough to tell a change by it",
    "processor/turn.py": "the begin and end of a trace span",
    "providers/llm/server_info.py": "a server's Retry-After date; capped",
    "providers/embedding/export/child.py": "drafts of killed exports, that are made again",
    "testing/contracts.py": "the date of a checked job",
}


def wall_clock_readers(package: Path) -> set[str]:
    found = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if (node.value.id, node.attr) in WALL:
                    found.add(str(path.relative_to(package)))
    return found


def test_wall_clock_is_read_where_it_dates_and_nowhere_else() -> None:
    """Whoever measures time takes ``seconds_of``; whoever erases asks the clock's judge."""
    assert wall_clock_readers(Path(clock.__file__).parent) == READERS.keys()


def test_wall_clock_a_new_reader_is_found(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("import time\nstart = time.time()\n")
    assert wall_clock_readers(tmp_path) == {"new.py"}
