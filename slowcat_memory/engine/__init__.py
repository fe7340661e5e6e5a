"""The memory engine: what is built, in which order, and the one protocol that the doors use."""

from slowcat_memory.engine.engine import MemoryEngine
from slowcat_memory.engine.memory import Memory
from slowcat_memory.engine.wiring import retrieval_options

__all__ = ["Memory", "MemoryEngine", "retrieval_options"]
