"""Who knows them all? One engine wires the rooms; the doors know nothing else of them."""

from slowcat_memory.engine.engine import MemoryEngine
from slowcat_memory.engine.wiring import retrieval_options

__all__ = ["MemoryEngine", "retrieval_options"]
