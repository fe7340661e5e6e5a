"""One memory for several processes: the process that holds the lock serves the others."""

from typing import Literal, cast

from msgspec.structs import replace

from slowcat_memory.config import Config
from slowcat_memory.engine.memory import Memory
from slowcat_memory.owner.address import Owner, who_owns
from slowcat_memory.owner.pausing import paused

Mode = Literal["auto", "own", "client"]
OPEN_S = 30.0  # how long the store may take to open, or its owner to answer


def open_memory(config: Config, *, client: str, mode: Mode | None = None) -> Memory:
    """Return the memory of a store, as its owner or as a client of its owner. Blocks.

    Args:
        config: The configuration; its ``memory.path`` names the store.
        client: What this process is, for the ledger and for lists of clients, e.g. "page".
        mode: Whether this process may own the store; None for what the configuration says.

    Returns:
        The memory; call ``release`` on it when done.

    Raises:
        StoreError: The store cannot be opened, and no process that has it open answers.
    """
    from slowcat_memory.owner.member import open_member

    if mode is not None:
        config = replace(config, owner=replace(config.owner, mode=mode))
    return cast(Memory, open_member(config, name=client, wait_s=OPEN_S))


__all__ = ["Mode", "Owner", "open_memory", "paused", "who_owns"]
