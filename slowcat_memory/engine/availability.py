"""Whether a memory can be read and saved, and who is notified when that changes."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from loguru import logger

from slowcat_memory.errors import (
    FleetError,
    SlowcatError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnsafeError,
    describe_error,
)

OnTrouble = Callable[[SlowcatError], object]
OnBack = Callable[[], object]

KEPT = "Until then what is said is kept in memory, and saved as soon as that is possible"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM})


class _Listener(NamedTuple):
    on_trouble: OnTrouble
    on_back: OnBack


class Availability:
    """Reports each trouble once, and once that it is over. Safe to use from any thread.

    Listeners are called on the thread that reports, and must return at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: list[_Listener] = []
        self._trouble: SlowcatError | None = None
        self._notices: list[SlowcatError] = []  # for the first listener

    @property
    def trouble(self) -> SlowcatError | None:
        """Why the memory cannot be saved now; None while it can."""
        return self._trouble

    def subscribe(self, on_trouble: OnTrouble, on_back: OnBack) -> Callable[[], None]:
        """Register callbacks; a trouble that lasts is reported at once.

        Returns:
            Ends the subscription.
        """
        listener = _Listener(on_trouble, on_back)
        with self._lock:
            self._listeners.append(listener)
            reports, self._notices = self._notices, []
            if self._trouble:
                reports.append(self._trouble)
        for error in reports:
            _call(on_trouble, error)

        def end() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return end

    def fail(self, error: SlowcatError) -> None:
        """Report a trouble, unless one lasts already."""
        with self._lock:
            if self._trouble:
                return
            self._trouble, listeners = error, tuple(self._listeners)
        for listener in listeners:
            _call(listener.on_trouble, error)

    def recover(self) -> None:
        """Report that the trouble is over, if there was one."""
        with self._lock:
            if self._trouble is None:
                return
            self._trouble, listeners = None, tuple(self._listeners)
        for listener in listeners:
            _call(listener.on_back)

    def announce(self) -> None:
        """Report that a memory has joined a conversation that began without it."""
        with self._lock:
            listeners = () if self._trouble else tuple(self._listeners)
        for listener in listeners:
            _call(listener.on_back)

    def report(self, error: SlowcatError) -> None:
        """Report something that the application must know and that is over already."""
        with self._lock:
            listeners = tuple(self._listeners)
            if not listeners:
                self._notices.append(error)
        for listener in listeners:
            _call(listener.on_trouble, error)


def _call(callback: Callable[..., object], *arguments: object) -> None:
    try:
        callback(*arguments)
    except Exception as error:  # the application's code
        logger.error(f"memory: a listener failed: {describe_error(error)}")


def trouble_of(error: Exception, folder: Path) -> SlowcatError:
    """Return the error of ours that says why a store cannot be opened, and what to do."""
    if isinstance(error, FleetError):  # of the database, not of the folder
        return error
    if isinstance(error, StoreError) and isinstance(error.__cause__, OSError):
        error = error.__cause__
    if isinstance(error, StoreBusyError):
        return StoreBusyError(error.message, hint=f"End that process. {KEPT}", pid=error.pid)
    if isinstance(error, StoreUnsafeError):
        return _unsafe(error, folder)
    if isinstance(error, SlowcatError):
        return error
    if not isinstance(error, OSError):
        return StoreError(f"{folder} cannot be opened: {describe_error(error)}", hint=KEPT)
    if error.errno in _FULL:
        return StoreFullError(f"the disk of {folder} is full", hint=f"Make room. {KEPT}")
    if error.errno == errno.EROFS:
        return _read_only(folder)
    if error.errno in _FORBIDDEN:
        return StoreUnsafeError(
            f"{folder} is not writable: {error.strerror}",
            hint=f"Give this user write access to the folder and its files. {KEPT}",
        )
    reason = error.strerror or type(error).__name__
    return StoreError(f"{folder} cannot be opened: {reason}", hint=f"Is its disk there? {KEPT}")


def _unsafe(error: StoreUnsafeError, folder: Path) -> StoreError:
    if folder.is_symlink() and not folder.exists():
        return StoreUnsafeError(
            f"{folder} leads to {folder.readlink()}, which does not exist",
            hint=f"Is its disk mounted? {KEPT}",
        )
    if _is_read_only(folder):
        return _read_only(folder)
    return StoreUnsafeError(error.message, hint=f"{error.hint.rstrip('.')}. {KEPT}")


def _read_only(folder: Path) -> StoreError:
    return StoreUnsafeError(f"the disk of {folder} is read-only", hint=f"Make it writable. {KEPT}")


def _is_read_only(folder: Path) -> bool:
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return False
