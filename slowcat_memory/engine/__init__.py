"""The memory engine: construction of its components, and the protocol its callers use."""

from slowcat_memory.engine.engine import MemoryEngine
from slowcat_memory.engine.memory import Memory
from slowcat_memory.engine.recall_options import retrieval_options

__all__ = ["Memory", "MemoryEngine", "retrieval_options"]
