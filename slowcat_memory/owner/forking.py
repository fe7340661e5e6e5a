"""Sockets of this process that a forked child must not hold: the other end would not see it end."""

import os
from contextlib import suppress

not_inherited: set[int] = set()
"""File descriptors, while they are open."""


def _close_in_child() -> None:
    for fd in not_inherited:
        with suppress(OSError):
            os.close(fd)
    not_inherited.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
