"""The memory engine: construction of its components."""

from slowcat_memory.config.config import retrieval_options
from slowcat_memory.engine.engine import MemoryEngine

__all__ = ["MemoryEngine", "retrieval_options"]
