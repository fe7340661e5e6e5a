"""Options of idle work, and its limits: hours, tokens, battery.

The limits apply to every use of an LLM or an embedding model: a job reaches these only through its
context, which asks the budget before each call and counts the tokens. Work without them is never
limited: what was forgotten must be erased in time at any hour.
"""

from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, tzinfo
from typing import Annotated, Literal

from msgspec import Meta, Struct

from slowcat_memory.records import Run

Model = Literal["llm", "embedder"]


class JobOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set for any job, in ``[jobs.NAME]``; what is left out is the job's own choice.

    Attributes:
        enabled: Run it. Off, its waiting tasks stay until it is on again.
        every_s: Least seconds between two looks for work (1 to 2,592,000), in place of the job's
            own interval if it has one; more keeps a slow machine free.
        at_hour: Look for work once a day after this local hour (0 to 23), and at no other time.
        timeout_s: Seconds that one step may take before it fails, in place of ``idle.step_s``.
        model: LLM model for this job; "" for that of ``[idle_llm]``. The server must offer it.
        max_tokens: Longest answer in tokens (1 to 100,000), in place of the job's own limit.
        temperature: Sampling temperature (0 to 2), in place of ``[idle_llm] temperature``.
    """

    enabled: bool | None = None
    every_s: Annotated[float, Meta(ge=1, le=2_592_000)] | None = None
    at_hour: Annotated[int, Meta(ge=0, le=23)] | None = None
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    model: str = ""
    max_tokens: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None


class IdleOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Work done while no one is speaking.

    Attributes:
        enabled: Run idle jobs. Off, memory works as without an LLM; old texts, indexes and what
            was forgotten are taken care of by the next ``slowcat-memory doctor --repair``.
        grace_s: Seconds of silence before work starts, 0 to 600. A user who was just asked
            something answers within two or three.
        lost_s: Seconds without a sign, 1 to 3600, after which an activity that never reported its
            end counts as ended.
        from_hour: Local hour (0 to 23) from which an LLM or an embedding model may be used; with
            ``to_hour``, over midnight too: 22 and 6. The same hour twice: all day.
        to_hour: Local hour (0 to 24) at which that ends.
        tokens_per_hour: Tokens that prompts and answers of all jobs may use; 0 for no limit.
        on_battery: Use an LLM or a model while the machine runs on its battery.
        rest_s: Seconds between looks for work when there is none.
        step_s: Seconds that one step may take before it fails; a summary on a slow machine takes
            a few minutes. One job's limit is ``[jobs.NAME] timeout_s``.
        tries: How often a task is tried whose result cannot be used, 1 to 20.
        backoff_s: Seconds until the second try; each later one waits four times as long.
        backoff_most_s: Longest wait in seconds.
        jobs: Settings of single jobs by name, ``[jobs.NAME]``.
    """

    enabled: bool = True
    grace_s: Annotated[float, Meta(ge=0, le=600)] = 3.0
    lost_s: Annotated[float, Meta(ge=1, le=3600)] = 60.0
    from_hour: Annotated[int, Meta(ge=0, le=23)] = 0
    to_hour: Annotated[int, Meta(ge=0, le=24)] = 0
    tokens_per_hour: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    on_battery: bool = False
    rest_s: Annotated[float, Meta(gt=0, le=3600)] = 2.0
    step_s: Annotated[float, Meta(gt=0, le=86_400)] = 300.0
    tries: Annotated[int, Meta(ge=1, le=20)] = 3
    backoff_s: Annotated[float, Meta(ge=0, le=86_400)] = 30.0
    backoff_most_s: Annotated[float, Meta(ge=0, le=604_800)] = 21600.0
    jobs: dict[str, JobOptions] = {}

    def of_job(self, name: str) -> JobOptions:
        return self.jobs.get(name, JobOptions())


HOUR = timedelta(hours=1)
Limit = Literal["", "hours", "battery", "tokens"]


def on_battery() -> bool:
    """Return whether this machine runs on its battery; False if there is none or it is unknown."""
    try:
        import psutil

        battery = psutil.sensors_battery()
    except Exception:  # a kernel without the files, a container, a missing library
        return False
    return battery is not None and battery.power_plugged is False


class Budget:
    """Counts tokens, and returns which limit blocks a job. ``now`` is always timezone-aware."""

    def __init__(self, options: IdleOptions, battery: Callable[[], bool] = on_battery) -> None:
        self.options, self._battery = options, battery
        self._spent: deque[tuple[datetime, int]] = deque()

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
        options = self.options
        start, end, hour = options.from_hour, options.to_hour, now.astimezone(zone).hour
        # From 22 to 6 is over midnight; the same hour twice is all day.
        allowed = range(start, end) if start < end else {*range(24)} - {*range(end, start)}
        if hour not in allowed:
            return "hours"
        if not options.on_battery and self._battery():
            return "battery"
        if model == "llm" and 0 < options.tokens_per_hour <= self.spent(now):
            return "tokens"
        return ""
