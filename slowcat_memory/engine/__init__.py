"""The memory engine: construction of its components."""

from slowcat_memory.engine.engine import MemoryEngine, acquire
from slowcat_memory.engine.search import hotwords, read_graph

__all__ = ["MemoryEngine", "acquire", "hotwords", "read_graph"]
