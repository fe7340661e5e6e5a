"""Limits of idle work: hours of the day, tokens an hour, and not on a battery.

They apply to every use of an LLM or an embedding model: a job reaches these only through its
context, which asks the budget before each call and counts the tokens. Work without them is never
limited: what was forgotten must be erased in time at any hour.
"""

from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, tzinfo
from typing import Literal

from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.records import Run

HOUR = timedelta(hours=1)
BATTERY_CHECK = timedelta(seconds=30)  # between two checks of the battery
Limit = Literal["", "hours", "battery", "tokens"]
Model = Literal["llm", "embedder"]


def on_battery() -> bool:
    """Return whether this machine runs on its battery; False if there is none or it is unknown."""
    try:
        import psutil

        battery = psutil.sensors_battery()
    except Exception:  # a kernel without the files, a container, a missing library
        return False
    return battery is not None and battery.power_plugged is False


def is_within(hour: int, start: int, end: int) -> bool:
    """Return whether an hour (0 to 23) is between two hours, ``end`` excluded.

    ``end`` before ``start`` is the next day's; equal to it means all day.
    """
    if start == end:
        return True
    return start <= hour < end if start < end else hour >= start or hour < end


class Budget:
    """Counts tokens, and returns which limit blocks a job. ``now`` is always timezone-aware."""

    def __init__(self, options: IdleOptions, battery: Callable[[], bool] = on_battery) -> None:
        self._options, self._battery = options, battery
        self._spent: deque[tuple[datetime, int]] = deque()
        self._battery_checked: datetime | None = None
        self._on_battery = False

    def remember(self, runs: Iterable[Run]) -> None:
        """Restore the count from the run log, the latest run first, after a restart."""
        for run in reversed(list(runs)):
            self.spend(run.tokens_in + run.tokens_out, run.at)

    def spend(self, tokens: int, now: datetime) -> None:
        if tokens > 0:
            self.spent(now)  # forgets what is older than an hour
            self._spent.append((now, tokens))

    def spent(self, now: datetime) -> int:
        """Return the tokens of the last hour, ignoring times in the future (a wrong clock)."""
        while self._spent and not -HOUR < now - self._spent[0][0] < HOUR:
            self._spent.popleft()
        return sum(tokens for _, tokens in self._spent)

    def blocks(self, model: Model, now: datetime, zone: tzinfo) -> Limit:
        """Return the limit that forbids the LLM or the embedding model; "" if it may be used."""
        options = self._options
        if not is_within(now.astimezone(zone).hour, options.from_hour, options.to_hour):
            return "hours"
        if not options.on_battery and self._runs_on_battery(now):
            return "battery"
        if model == "llm" and 0 < options.tokens_per_hour <= self.spent(now):
            return "tokens"
        return ""

    def ends(self, limit: Limit, now: datetime, zone: tzinfo) -> datetime | None:
        """Return when a limit no longer applies; None if it is unknown, as for the battery."""
        if limit == "hours":
            local = now.astimezone(zone)
            start = local.replace(hour=self._options.from_hour, minute=0, second=0, microsecond=0)
            return start if start > local else start + timedelta(days=1)
        if limit == "tokens" and self.spent(now):
            left = self.spent(now)
            for at, tokens in self._spent:
                left -= tokens
                if left < self._options.tokens_per_hour:
                    return at + HOUR
        return None

    def _runs_on_battery(self, now: datetime) -> bool:
        checked = self._battery_checked
        if checked is None or not timedelta() <= now - checked < BATTERY_CHECK:
            self._battery_checked, self._on_battery = now, self._battery()
        return self._on_battery
