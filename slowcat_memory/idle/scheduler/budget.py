"""How much may be thought: at which hours, how many tokens an hour, and not on a battery.

Upkeep is never rationed: what was forgotten must be erased in time whatever hour it is. The budget
holds jobs that use an LLM or an embedding model.
"""

from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, tzinfo
from typing import Literal

from slowcat_memory.idle.job import Needs
from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.records import Run

HOUR = timedelta(hours=1)
Held = Literal["", "hours", "battery", "tokens"]


def on_battery() -> bool:
    """Tell whether this machine runs on its battery.

    Returns:
        False where there is none, or nobody can tell.
    """
    try:
        import psutil

        battery = psutil.sensors_battery()
    except Exception:  # a kernel without the files, a container, a missing library
        return False
    return battery is not None and battery.power_plugged is False


def within(hour: int, start: int, end: int) -> bool:
    """Tell whether an hour lies in a part of the day.

    Args:
        hour: 0 to 23.
        start: The part's first hour.
        end: The first hour after it; before ``start`` it is the next day's, and equal to it the
            part is the whole day.

    Returns:
        True when it does.
    """
    if start == end:
        return True
    return start <= hour < end if start < end else hour >= start or hour < end


class Budget:
    """Counts what is spent, and tells what holds a job."""

    LOOK = timedelta(seconds=30)  # between looks at the battery

    def __init__(self, options: IdleOptions, battery: Callable[[], bool] = on_battery) -> None:
        """Start with nothing spent.

        Args:
            options: What may be spent.
            battery: Tells whether the machine runs on one.
        """
        self._options, self._battery = options, battery
        self._spent: deque[tuple[datetime, int]] = deque()
        self._looked: datetime | None = None
        self._on_battery = False

    def remember(self, runs: Iterable[Run]) -> None:
        """Count what was spent before a restart.

        Args:
            runs: Of the run log, the latest first.
        """
        for run in reversed(list(runs)):
            self.spend(run.tokens_in + run.tokens_out, run.at)

    def spend(self, tokens: int, now: datetime) -> None:
        """Count tokens.

        Args:
            tokens: Of a prompt and its answer.
            now: When.
        """
        if tokens > 0:
            self._spent.append((now, tokens))

    def spent(self, now: datetime) -> int:
        """Tell what was spent within the hour.

        Args:
            now: The time, aware.

        Returns:
            Tokens. What a clock that was wrong dated far ahead does not count.
        """
        while self._spent and not -HOUR < now - self._spent[0][0] < HOUR:
            self._spent.popleft()
        return sum(tokens for _, tokens in self._spent)

    def holds(self, needs: Needs, now: datetime, zone: tzinfo) -> Held:
        """Tell what keeps a job from running.

        Args:
            needs: The job's.
            now: The time, aware.
            zone: The user's.

        Returns:
            Which of the limits; "" when it may run.
        """
        if needs == "nothing":
            return ""
        options = self._options
        if not within(now.astimezone(zone).hour, options.from_hour, options.to_hour):
            return "hours"
        if not options.on_battery and self._runs_on_battery(now):
            return "battery"
        if needs == "llm" and 0 < options.tokens_per_hour <= self.spent(now):
            return "tokens"
        return ""

    def _runs_on_battery(self, now: datetime) -> bool:
        if self._looked is None or not timedelta() <= now - self._looked < self.LOOK:
            self._looked, self._on_battery = now, self._battery()
        return self._on_battery
