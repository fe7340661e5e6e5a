"""Pipecat's own ``Mem0MemoryService``, with a client that needs neither a server nor mem0.

The class is Pipecat's, unchanged, with its defaults: it awaits its client's search, on a thread,
for each turn. The client stands in: it searches our store with our index, in this process, and to
store costs it nothing. So what is seen is when a turn waits, not how fast mem0 searches; for that
see ``benchmarks.peers``.
"""

import sys
import types
from typing import Any
from unittest.mock import patch

from pipecat.processors.frame_processor import FrameProcessor

from slowcat_memory.engine import MemoryEngine


class Client:
    """Searches our store the way a client of mem0's is asked to."""

    def __init__(self, engine: MemoryEngine, scope: str) -> None:
        """Take the memory.

        Args:
            engine: What searches.
            scope: Whose memory.
        """
        self._engine, self._scope = engine, scope

    def search(
        self, query: str, *, filters: Any, top_k: int, threshold: float
    ) -> dict[str, list[dict[str, str]]]:
        """Search, and block meanwhile.

        Args:
            query: The user's words.
            filters: Whose; there is one person.
            top_k: How many at most.
            threshold: Least similarity, in mem0's measure; all are returned here.

        Returns:
            As mem0 does.
        """
        found = self._engine.search(query, self._scope, top_k)
        return {"results": [{"memory": hit.memory.text} for hit in found.hits]}

    def add(self, **what: Any) -> None:
        """Store nothing.

        Args:
            **what: What mem0 would read with an LLM.
        """


def service(engine: MemoryEngine, scope: str) -> FrameProcessor:
    """Make the processor.

    Args:
        engine: What searches.
        scope: Whose memory.

    Returns:
        Pipecat's, with our client.
    """
    mem0: Any = types.ModuleType("mem0")
    mem0.Memory = type("Memory", (), {})
    mem0.MemoryClient = lambda **_: Client(engine, scope)
    with patch.dict(sys.modules, {"mem0": mem0}):
        from pipecat.services.mem0 import memory

        with patch.object(memory, "MemoryClient", mem0.MemoryClient):
            return memory.Mem0MemoryService(api_key="unused", user_id=scope)
