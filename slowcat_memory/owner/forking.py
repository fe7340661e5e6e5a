"""What a forked child must not hold: sockets, whose other end would not see them end, and a memory.

The descriptors stay in use in the child, for nothing: closed, their numbers would be another file's,
and a socket that is forgotten later would close that one.
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
    """What is of no use in a forked child."""

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
