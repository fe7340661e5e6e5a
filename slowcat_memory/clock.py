"""The clocks of the machine: the wall clock, the boot clock, and whether the wall clock is right.

The wall clock dates. Everything that lasts is measured by the boot clock, which runs on while the
machine sleeps and which nobody can set. A clock is any callable that returns the time; one with
``boot_s`` brings a boot clock of its own, and one with ``is_synchronised`` can say that it is right.
"""

import ctypes
import functools
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

Clock = Callable[[], datetime]

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_UNSYNCHRONISED = 5  # TIME_ERROR of adjtimex(2)


class SystemClock:
    """The machine's clocks."""

    def __call__(self) -> datetime:
        return datetime.now(UTC)

    def boot_s(self) -> float:
        return boot_seconds()

    def is_synchronised(self) -> bool:
        return kernel_is_synchronised()


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
    buffer, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
    try:
        failed = _c_library().sysctlbyname(name, buffer, ctypes.byref(size), None, 0)
    except (OSError, AttributeError):
        return ""
    return "" if failed else buffer.value.decode("ascii", "replace")


def _boot_clock() -> Callable[[], float]:
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC") if sys.platform != "win32" else ():
        if number := getattr(time, name, None):
            return lambda: time.clock_gettime(number)
    return time.monotonic


boot_seconds = _boot_clock()
"""Seconds since boot, sleep included, where the system has such a clock: setting the time does not
change them."""


def seconds_of(clock: Clock) -> Callable[[], float]:
    """Return the clock to measure durations with: that of ``clock`` itself, or the machine's."""
    return getattr(clock, "boot_s", boot_seconds)


def is_synchronised(clock: Clock) -> bool:
    """Return whether a clock says that its time is right; one that cannot say so does not."""
    return bool(getattr(clock, "is_synchronised", bool)())


@functools.cache
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def kernel_is_synchronised() -> bool:
    """Return whether the Linux kernel's time is synchronised; False on other systems.

    The kernel forgets that it was when the time is set by hand, and with each boot.
    """
    if sys.platform != "linux":
        return False
    timex = ctypes.create_string_buffer(512)  # a ``struct timex`` of zeros asks and sets nothing
    try:
        return bool(0 <= _c_library().adjtimex(timex) < _UNSYNCHRONISED)
    except (OSError, AttributeError):
        return False
