"""Test doubles and contract checks; they need no model and no Pipecat.

Example::

    clock = FixedClock()
    engine = MemoryEngine(memory_config(tmp_path), embedder=HashEmbedder(), clock=clock)
"""

from typing import TYPE_CHECKING, Any

from slowcat_memory.testing.contracts import check_job, think
from slowcat_memory.testing.doubles import (
    FixedClock,
    HashEmbedder,
    ScriptedLLM,
    check_embedder,
    memory_config,
)

if TYPE_CHECKING:
    from slowcat_memory.testing.server import ScriptedServer

__all__ = [
    "FixedClock",
    "HashEmbedder",
    "ScriptedLLM",
    "ScriptedServer",
    "check_embedder",
    "check_job",
    "memory_config",
    "think",
]


def __getattr__(name: str) -> Any:
    """Import the scripted server on first use: it needs aiohttp."""
    if name == "ScriptedServer":
        from slowcat_memory.testing.server import ScriptedServer

        return ScriptedServer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
