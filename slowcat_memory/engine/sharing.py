"""One object for each store of this process, opened by its first user and closed by its last."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")


class _Slot(Generic[T]):
    def __init__(self) -> None:
        self.lock = threading.Lock()  # held while the object opens or closes
        self.shared: T | None = None
        self.users = 0


class Shared(Generic[T]):
    """Objects by folder. Opening or closing one never delays those of other folders."""

    def __init__(self) -> None:
        self._slots: dict[Path, _Slot[T]] = {}
        self._pid = os.getpid()

    def acquire(self, folder: Path, make: Callable[[], T], is_closed: Callable[[T], bool]) -> T:
        """Return a folder's object, making it if there is none or ``is_closed`` says so."""
        if self._pid != os.getpid():  # a forked child: they are the parent's
            self._slots, self._pid = {}, os.getpid()
        slot = self._slots.setdefault(folder.absolute(), _Slot())
        with slot.lock:
            if slot.shared is None or is_closed(slot.shared):
                slot.shared, slot.users = None, 0
                slot.shared = make()
            slot.users += 1
            return slot.shared

    def release(self, folder: Path, shared: T, close: Callable[[], None]) -> None:
        """Close an object when its last user releases it, or when it was never shared."""
        slot = self._slots.get(folder.absolute()) if self._pid == os.getpid() else None
        if slot is None:
            return close()
        with slot.lock:
            if slot.shared is shared:
                slot.users -= 1
                if slot.users:
                    return
                slot.shared = None
            close()
