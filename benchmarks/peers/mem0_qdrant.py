"""mem0 over Qdrant in this process, which is its default store."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.base import Item
from benchmarks.peers.mem0_faiss import Mem0
from slowcat_memory.providers import QueryEmbedder


class Mem0Qdrant(Mem0):
    """Fills without waiting for the disk at each of thousands of points, which takes minutes."""

    def add_all(self, items: Sequence[Item]) -> None:
        """Put records into its store; what is added one at a time waits for the disk again."""
        collection = self._memory.vector_store.client._client.collections["mem0"]
        connection = collection.storage.storage
        connection.execute("pragma synchronous = off")
        super().add_all(items)
        connection.execute("pragma synchronous = full")


def open_peer(folder: Path, embedder: QueryEmbedder) -> Mem0:
    return Mem0Qdrant(folder, embedder.dim, "qdrant", {"on_disk": True})
