"""The memory engine: construction of its components, and the protocol its callers use."""

from slowcat_memory.config.config import retrieval_options
from slowcat_memory.engine.engine import MemoryEngine
from slowcat_memory.engine.memory import Memory

__all__ = ["Memory", "MemoryEngine", "retrieval_options"]
