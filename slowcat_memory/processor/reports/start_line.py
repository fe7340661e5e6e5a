"""The one line by which a processor says at its start what it is."""

import os
from pathlib import Path

from slowcat_memory.config import Config
from slowcat_memory.engine import Memory
from slowcat_memory.owner import who_owns


def start_line(engine: Memory, config: Config, scope: str, file: str) -> str:
    """Return the store, whose memory, how many turns, the model, the configuration, owner or client.

    Blocks for some milliseconds.

    Args:
        file: Where the configuration comes from.

    Raises:
        StoreError: The store cannot be read.
    """
    with engine.snapshot() as snapshot:
        turns = sum(session.turns for session in snapshot.sessions(scope))
    whose = "everybody has their own" if config.people.scopes == "each" else f"of {scope!r}"
    parts = (
        f"memory {whose} in {_short(config.folder)}",
        f"turns: {turns:,}",
        f"embedding: {engine.embedding.source}",
        f"configuration: {file}",
        _role(config.folder),
    )
    return "; ".join(parts)


def _role(folder: Path) -> str:
    owner = who_owns(folder)
    if owner is None or owner.pid == os.getpid():
        return "owner of the store"
    return f"client of {owner.program} (process {owner.pid})"


def _short(folder: Path) -> str:
    home = str(Path.home())
    text = str(folder)
    return f"~{text[len(home) :]}" if text.startswith(f"{home}{os.sep}") else text
