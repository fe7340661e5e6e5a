"""Long-term memory for local voice agents: one Pipecat frame processor, no server.

The names below are the public API; what is not listed here may change in any release.
"""

from typing import TYPE_CHECKING, Any

from slowcat_memory.config import Config, load
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import SlowcatError
from slowcat_memory.records import Hit, Memory, Turn
from slowcat_memory.runtime.inject import strip_memories

if TYPE_CHECKING:
    from slowcat_memory.processor import HybridContextualMemoryProcessor

__all__ = [
    "Config",
    "Hit",
    "HybridContextualMemoryProcessor",
    "Memory",
    "MemoryEngine",
    "SlowcatError",
    "Turn",
    "load",
    "strip_memories",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import the processor when it is asked for: the command line needs no Pipecat."""
    if name == "HybridContextualMemoryProcessor":
        from slowcat_memory.processor import HybridContextualMemoryProcessor

        return HybridContextualMemoryProcessor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
