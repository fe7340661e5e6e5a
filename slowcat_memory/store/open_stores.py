"""Registry of open stores: closes them at exit and marks them closed in forked children.

LMDB lets a forked child write, unguarded by the parent's locks; so a child's copies of the stores
refuse to work.
"""

import atexit
import os
import weakref
from typing import Protocol


class OpenStore(Protocol):
    """What can be registered."""

    def close(self) -> None:
        """Close it in order."""

    def close_after_fork(self) -> None:
        """Close it in a forked child, without touching what is the parent's."""


_open: "weakref.WeakSet[OpenStore]" = weakref.WeakSet()


def register(store: OpenStore) -> None:
    """Add an open store."""
    _open.add(store)


def unregister(store: OpenStore) -> None:
    """Remove a store that was closed."""
    _open.discard(store)


@atexit.register
def _close_all() -> None:
    for store in list(_open):
        store.close()


def _close_all_after_fork() -> None:
    for store in list(_open):
        store.close_after_fork()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all_after_fork)
