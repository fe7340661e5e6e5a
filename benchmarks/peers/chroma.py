"""Chroma, persistent: one collection, cosine, our vectors."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.peers.base import Item
from slowcat_memory.providers import QueryEmbedder

os.environ["ANONYMIZED_TELEMETRY"] = "False"
BATCH = 5000  # more at once are refused


class Chroma:
    """One collection."""

    embeds = False

    def __init__(self, folder: Path) -> None:
        """Open a collection below ``folder``."""
        import chromadb
        from chromadb.config import Settings

        self._client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        self._collection = self._client.create_collection(
            "memories", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add_all(self, items: Sequence[Item]) -> None:
        """Add in batches."""
        for start in range(0, len(items), BATCH):
            part = items[start : start + BATCH]
            self._collection.add(
                ids=[item.id for item in part],
                embeddings=np.stack([item.vector for item in part]),
                documents=[item.text for item in part],
            )

    def add(self, item: Item) -> None:
        """Add one."""
        self.add_all([item])

    def settle(self) -> None:
        """Nothing to wait for."""

    def search(self, text: str, vector: np.ndarray | None, k: int) -> list[str]:
        """Query, with the documents, as one would for a prompt."""
        found = self._collection.query(
            query_embeddings=np.asarray(vector)[None], n_results=k, include=["documents"]
        )
        return found["ids"][0]

    def close(self) -> None:
        """Let the client go."""
        self._client.close()


def open_peer(folder: Path, embedder: QueryEmbedder) -> Chroma:
    return Chroma(folder)
