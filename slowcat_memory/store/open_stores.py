"""Which stores are open in this process: closed at its exit, dead in its forked children.

LMDB lets a forked child write, unguarded by the parent's locks; so a child's copies of the stores
refuse to work.
"""

import atexit
import os
import weakref
from typing import Protocol


class OpenStore(Protocol):
    """What can end with its process."""

    def close(self) -> None:
        """End in order."""

    def close_after_fork(self) -> None:
        """End in a forked child, leaving the parent's untouched."""


_open: "weakref.WeakSet[OpenStore]" = weakref.WeakSet()


def register(store: OpenStore) -> None:
    """Remember an open store.

    Args:
        store: The store.
    """
    _open.add(store)


def unregister(store: OpenStore) -> None:
    """Forget a store that is closed.

    Args:
        store: The store.
    """
    _open.discard(store)


@atexit.register
def _close_all() -> None:
    for store in list(_open):
        store.close()


def _kill_all_in_child() -> None:
    for store in list(_open):
        store.close_after_fork()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kill_all_in_child)
