"""What a forked child must not hold: a memory, and sockets whose other end would not see them close.

In the child the sockets' descriptors are pointed at the null device instead of being closed: a closed
number would soon be another file's, and the socket object would close that file when it is freed.
"""

import os
import weakref
from contextlib import suppress
from typing import Protocol


class HasDescriptor(Protocol):
    """A socket, or what an event loop makes of one."""

    def fileno(self) -> int:
        """Return the file descriptor, or -1 once it is closed."""


class Forkable(Protocol):
    """An object that a forked child must not use."""

    def close_after_fork(self) -> None:
        """Refuse every use from now on, without touching what is the parent's."""


not_inherited: set[HasDescriptor] = set()
"""Sockets while they are open. No numbers: those of a closed socket are soon another file's."""

closed_in_child: "weakref.WeakSet[Forkable]" = weakref.WeakSet()


def _after_in_child() -> None:
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for one in not_inherited:
        with suppress(OSError):
            if (fd := one.fileno()) >= 0:
                os.dup2(nothing, fd, inheritable=False)
    os.close(nothing)
    not_inherited.clear()
    for forkable in list(closed_in_child):
        forkable.close_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_in_child)
