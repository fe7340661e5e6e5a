"""Where the wait of a turn goes: by part, by thread, by switch of context.

The parts of recall are the laps of ``Recollection.timings``; the rest is timed from outside, around
the calls that a turn makes on its engine:

- *log*: ``engine.append``; *pack*: writing the block; *ledger*: ``engine.note_recall``;
- *hop*: the call of ``engine.recall`` without its laps: to the worker thread and back;
- *ahead*: the same call where recall was done while the user spoke. Where it had begun, and was
  not done, the wait is divided among its last laps;
- *late*: the same call where the deadline passed first;
- *turn*: all that the processor and Pipecat do beside these calls.

Processor time is that of all threads of the process between the two moments at which the wait
begins and ends, so that a library that spins on another thread is seen.
"""

import re
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from benchmarks.common import percentiles
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.recall.query import Recollection

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

LAPS = ("gate", "parse", "lexical", "embed", "dense", "fuse", "tokens", "doubt", "fetch")
PARTS = ("turn", "log", "hop", *LAPS, "pack", "ledger", "ahead", "late")
CALLS = {"append": "log", "append_all": "log", "pack": "pack", "note_recall": "ledger"}
AT_HAND_MS = 0.5  # what it takes at most to take over a recall that is done
SLOW = 0.1  # share of the turns that count as the slow ones


class Cost(Struct, frozen=True):
    """What one turn cost.

    Attributes:
        wait: Milliseconds.
        parts: Milliseconds by part; their sum is the wait.
        cpu: Milliseconds of all threads meanwhile.
        loop_cpu: The event loop's share of these.
        threads: All threads' shares, by name; "native" are those that Python did not start.
        voluntary: Switches of context because a thread waited.
        involuntary: Switches because another one was to run.
    """

    wait: float
    parts: dict[str, float]
    cpu: float
    loop_cpu: float
    voluntary: int
    involuntary: int
    threads: dict[str, float] = {}


class _Clocks(Struct, frozen=True):
    wall: float
    cpu: float
    loop: float
    voluntary: int
    involuntary: int


class Meter:
    """Measures turns on the event loop; ``watch`` it to see what they ask of an engine."""

    def __init__(self) -> None:
        self._calls: dict[str, float] = defaultdict(float)
        self._recalls: list[tuple[float, Recollection]] = []
        self._began: _Clocks | None = None
        self._threads: dict[str, float] = {}

    def watch(self, engine: MemoryEngine) -> Callable[[], None]:
        """Time an engine's calls.

        Args:
            engine: Its methods are replaced, for itself alone.

        Returns:
            Puts its own methods back.
        """
        timed = {name: self._timed(part, getattr(engine, name)) for name, part in CALLS.items()}
        timed["recall"] = self._recall(engine.recall)
        vars(engine).update(timed)

        def end() -> None:
            for name in timed:
                vars(engine).pop(name, None)

        return end

    def _timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*arguments, **named)
            finally:
                self._calls[part] += (time.perf_counter() - began) * 1e3

        return timed

    def _recall(self, call: Callable[..., Any]) -> Callable[..., Any]:
        async def timed(*arguments: Any, **named: Any) -> Recollection:
            began = time.perf_counter()
            found = await call(*arguments, **named)
            self._recalls.append(((time.perf_counter() - began) * 1e3, found))
            return found

        return timed

    def begin(self) -> None:
        """The context of a turn reaches the memory."""
        self._calls.clear()
        self._recalls.clear()
        self._threads = thread_clocks()
        self._began = clocks()  # last: what comes before is no part of the wait

    def end(self) -> Cost | None:
        """It leaves the memory; None when no turn had begun."""
        if self._began is None:
            return None
        was, now = self._began, clocks()
        threads, self._began = thread_clocks(), None
        wait = (now.wall - was.wall) * 1e3
        return Cost(
            wait=wait,
            parts=parts_of(wait, self._calls, self._recalls),
            cpu=(now.cpu - was.cpu) * 1e3,
            loop_cpu=(now.loop - was.loop) * 1e3,
            voluntary=now.voluntary - was.voluntary,
            involuntary=now.involuntary - was.involuntary,
            threads=_spent(self._threads, threads),
        )


def clocks() -> _Clocks:
    """Read the wall clock, the processor time of the process and this thread, and the switches."""
    used = resource.getrusage(resource.RUSAGE_SELF) if resource else None
    return _Clocks(
        wall=time.perf_counter(),
        cpu=time.process_time(),
        loop=time.thread_time(),
        voluntary=used.ru_nvcsw if used else 0,
        involuntary=used.ru_nivcsw if used else 0,
    )


def thread_clocks() -> dict[str, float]:
    """Return the processor time of each thread in seconds, by name without its number.

    "native" are threads that Python did not start. Empty where the system does not tell.
    """
    if not hasattr(time, "pthread_getcpuclockid"):
        return {}
    whole, found = time.process_time(), dict[str, float]()
    for thread in threading.enumerate():
        try:
            seconds = time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))
        except (OSError, OverflowError):  # it has just ended
            continue
        name = re.sub(r"[-_]?\d+.*", "", thread.name)
        found[name] = found.get(name, 0.0) + seconds
    return found | {"native": whole - sum(found.values())}


def _spent(was: dict[str, float], now: dict[str, float]) -> dict[str, float]:
    spent = {name: (seconds - was.get(name, 0.0)) * 1e3 for name, seconds in now.items()}
    return {name: ms for name, ms in spent.items() if ms > 0}


def parts_of(
    wait: float, calls: dict[str, float], recalls: Sequence[tuple[float, Recollection]]
) -> dict[str, float]:
    """Divide a turn's wait.

    Args:
        wait: Milliseconds.
        calls: Milliseconds of the calls that are timed from outside, by part.
        recalls: Milliseconds of each recall, and what it found.

    Returns:
        Milliseconds by name of ``PARTS``; their sum is the wait.
    """
    parts = defaultdict(float, calls)
    for ms, found in recalls:
        for name, spent in _of_recall(ms, found).items():
            parts[name] += spent
    parts["turn"] = max(0.0, wait - sum(parts.values()))
    return dict(parts)


def _of_recall(ms: float, found: Recollection) -> dict[str, float]:
    laps = {name: lap for name, lap in found.timings.items() if name in LAPS}
    if found.packed is not None:
        return {"ahead": ms} if ms < AT_HAND_MS else _last(ms, laps)
    if found.stage not in ("full", "skipped"):
        return {"late": ms}
    return laps | {"hop": max(0.0, ms - sum(laps.values()))}


def _last(ms: float, laps: dict[str, float]) -> dict[str, float]:
    """Divide a wait for the end of a recall among its laps, from the last one back."""
    parts, left = dict[str, float](), ms
    for name, lap in reversed(laps.items()):
        if name != "gate":  # another recall's: this one began before the turn
            parts[name] = min(lap, left)
            left -= parts[name]
    return parts | {"hop": left}


def summary(costs: Sequence[Cost]) -> dict[str, Any]:
    """Summarise turns.

    Args:
        costs: At least one.

    Returns:
        ``parts`` by name, mean milliseconds of the ``middle`` half of the turns by their wait, and
        of the ``slow`` tenth; ``cpu`` and ``loop_cpu`` (percentiles), ``cpu_ratio`` (processor time
        over wait, of all turns together), ``threads`` (mean milliseconds a turn, by name) and
        ``switches`` (mean a turn, by kind).
    """
    by_wait = sorted(costs, key=lambda cost: cost.wait)
    count = len(by_wait)
    middle = by_wait[count // 4 : max(count // 4 + 1, count - count // 4)]
    slow = by_wait[count - max(1, round(SLOW * count)) :]
    return {
        "parts": {"middle": _mean_parts(middle), "slow": _mean_parts(slow)},
        "cpu": percentiles([cost.cpu for cost in costs]),
        "loop_cpu": percentiles([cost.loop_cpu for cost in costs]),
        "cpu_ratio": round(sum(c.cpu for c in costs) / sum(c.wait for c in costs), 3),
        "threads": _mean_threads(costs),
        "switches": {
            "voluntary": round(statistics.mean(cost.voluntary for cost in costs), 2),
            "involuntary": round(statistics.mean(cost.involuntary for cost in costs), 2),
        },
    }


def _mean_parts(costs: Sequence[Cost]) -> dict[str, float]:
    found = {name: statistics.mean(cost.parts.get(name, 0.0) for cost in costs) for name in PARTS}
    return {name: round(ms, 4) for name, ms in found.items() if ms > 0}


def _mean_threads(costs: Sequence[Cost]) -> dict[str, float]:
    names = sorted({name for cost in costs for name in cost.threads})
    means = {name: statistics.mean(cost.threads.get(name, 0.0) for cost in costs) for name in names}
    return {name: round(ms, 4) for name, ms in means.items()}
