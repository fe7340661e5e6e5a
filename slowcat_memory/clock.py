"""The clocks of the machine: the wall clock, the boot clock, and when the wall clock was set.

The wall clock dates. Everything that lasts is measured by the boot clock, which runs on while the
machine sleeps and which nobody can set. A clock is any callable that returns the time; one with
``boot_s``, ``boot`` and ``synchronised_s`` brings a boot clock of its own.
"""

import ctypes
import functools
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

Clock = Callable[[], datetime]

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_UNSYNCHRONISED = 5  # TIME_ERROR of adjtimex(2)
_DRIFT = 500e-6  # share by which the kernel's greatest error grows between two synchronisations


class Reading(Struct, frozen=True, kw_only=True):
    """All clocks at one moment.

    Attributes:
        wall: Timezone-aware.
        boot_s: Seconds of the boot clock.
        boot: Id of the boot that they count from; "" if they compare within one process only.
        synchronised_s: At most how many seconds ago the system last compared its time with a time
            server; None if it does not say, or has not since the time was set by hand.
    """

    wall: datetime
    boot_s: float
    boot: str = ""
    synchronised_s: float | None = None


class SystemClock:
    """The machine's clocks."""

    def __init__(self) -> None:
        self._boot: str | None = None

    def __call__(self) -> datetime:
        return datetime.now(UTC)

    def boot_s(self) -> float:
        return boot_seconds()

    @property
    def boot(self) -> str:
        if self._boot is None:
            self._boot = boot_id()
        return self._boot

    def synchronised_s(self) -> float | None:
        return seconds_since_synchronised()


def boot_id() -> str:
    """Return the id of this boot of this machine; "" where the system does not say."""
    if sys.platform == "darwin":
        return _sysctl(b"kern.bootsessionuuid")
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def _sysctl(name: bytes) -> str:
    """Return a text that the kernel of macOS keeps; "" if it has none of that name."""
    found, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
    try:
        failed = _c_library().sysctlbyname(name, found, ctypes.byref(size), None, 0)
    except (OSError, AttributeError):
        return ""
    return "" if failed else found.value.decode("ascii", "replace")


def _boot_clock() -> Callable[[], float]:
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC") if sys.platform != "win32" else ():
        if hasattr(time, name):
            number = getattr(time, name)
            return lambda: time.clock_gettime(number)
    return time.monotonic


boot_seconds = _boot_clock()
"""Seconds that nobody can set and that count sleep, where the system has such a clock."""


def seconds_of(clock: Clock) -> Callable[[], float]:
    """Return the clock to measure durations with: that of ``clock`` itself, or the machine's."""
    return getattr(clock, "boot_s", boot_seconds)


def read_clocks(clock: Clock) -> Reading:
    """Read all clocks. A clock without a boot clock is compared with the machine's."""
    synchronised = getattr(clock, "synchronised_s", None)
    return Reading(
        wall=clock(),
        boot_s=seconds_of(clock)(),
        boot=getattr(clock, "boot", ""),
        synchronised_s=synchronised() if synchronised else None,
    )


@functools.cache
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None)


class _Timex(ctypes.Structure):
    """The beginning of ``struct timex``; the kernel fills in more."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),  # microseconds
        ("rest", ctypes.c_char * 480),
    )


def seconds_since_synchronised() -> float | None:
    """Return ``Reading.synchronised_s`` of the Linux kernel; None on other systems.

    The kernel forgets that it was synchronised when the time is set by hand, and its greatest
    error starts anew with each synchronisation and grows at a known rate.
    """
    if sys.platform != "linux":
        return None
    timex = _Timex()
    try:
        state = _c_library().adjtimex(ctypes.byref(timex))
    except (OSError, AttributeError):
        return None
    if not 0 <= state < _UNSYNCHRONISED:
        return None
    return float(timex.maxerror / 1e6 / _DRIFT)
