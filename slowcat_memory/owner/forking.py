"""Sockets of this process that a forked child must not hold: the other end would not see it end."""

import os
from contextlib import suppress
from typing import Protocol


class HasDescriptor(Protocol):
    """A socket, or what an event loop makes of one."""

    def fileno(self) -> int:
        """Return the file descriptor, or -1 once it is closed."""


not_inherited: set[HasDescriptor] = set()
"""Sockets while they are open. No numbers: those of a closed socket are soon another file's."""


def _close_in_child() -> None:
    for one in not_inherited:
        with suppress(OSError):
            if (fd := one.fileno()) >= 0:
                os.close(fd)
    not_inherited.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
