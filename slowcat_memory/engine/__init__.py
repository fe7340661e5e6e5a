"""The memory engine: construction of its components."""

from slowcat_memory.engine.engine import MemoryEngine
from slowcat_memory.engine.search import hotwords, read_graph

__all__ = ["MemoryEngine", "hotwords", "read_graph"]
