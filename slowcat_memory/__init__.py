"""Long-term memory for local voice agents: one Pipecat frame processor, no server.

The names in ``__all__`` are the public API; everything else may change in any release. Each is
imported on first use: child processes need none of them, and the command line needs no Pipecat.
"""

from importlib import import_module

TYPE_CHECKING = False  # not from typing: with ``python -m`` that might be the working directory's
if TYPE_CHECKING:
    from slowcat_memory.config import Config, load
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.errors import SlowcatError
    from slowcat_memory.processor import HybridContextualMemoryProcessor
    from slowcat_memory.records import Hit, Memory, Turn
    from slowcat_memory.runtime.injection import strip_memories

_HOMES = {
    "Config": "config",
    "Hit": "records",
    "HybridContextualMemoryProcessor": "processor",
    "Memory": "records",
    "MemoryEngine": "engine",
    "SlowcatError": "errors",
    "Turn": "records",
    "load": "config",
    "strip_memories": "runtime.injection",
}
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
__version__ = "0.2.0"


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
