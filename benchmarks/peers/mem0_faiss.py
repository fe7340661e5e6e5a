"""mem0 over FAISS: ``Memory.add(infer=False)`` and ``Memory.search``, no LLM, our vectors by its hook.

Its hybrid search and its entities need spaCy, fastembed and models of theirs, which are downloaded;
without them, as here and as after a plain ``pip install mem0ai``, it searches by vectors.
"""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from benchmarks.peers.base import Item
from slowcat_memory.providers import QueryEmbedder

os.environ["MEM0_TELEMETRY"] = "False"  # read when mem0 is imported


class Mem0:
    """One user of one mem0."""

    embeds = False

    def __init__(self, folder: Path, dim: int) -> None:
        """Open mem0.

        Args:
            folder: Where everything goes.
            dim: Length of a vector.
        """
        os.environ["MEM0_DIR"] = str(folder / "home")
        from mem0 import Memory

        self._hook = _Hook()
        unused = {"provider": "openai", "config": {"api_key": "unused"}}  # asked for, never called
        place = {"path": str(folder / "faiss"), "embedding_model_dims": dim}
        self._memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "faiss",
                    "config": {**place, "distance_strategy": "cosine"},
                },
                "embedder": unused,
                "llm": unused,
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = self._hook
        self._user = ""

    def add_all(self, items: Sequence[Item]) -> None:
        """Put records into its vector store as its ``add`` writes them; one by one takes hours."""
        self._user = items[0].turn.scope
        self._memory.vector_store.insert(
            vectors=[item.vector.tolist() for item in items],
            payloads=[self._payload(item) for item in items],
            ids=[str(uuid4()) for _ in items],
        )

    def _payload(self, item: Item) -> dict[str, Any]:
        now = datetime.now(UTC).isoformat()
        return {
            "turn": item.id,
            "user_id": self._user,
            "role": item.turn.role,
            "data": item.text,
            "text_lemmatized": item.text,
            "hash": md5(item.text.encode(), usedforsecurity=False).hexdigest(),
            "created_at": now,
            "updated_at": now,
        }

    def add(self, item: Item) -> None:
        """Add as it was said: no LLM, no deduplication."""
        self._hook.vector = item.vector
        said = [{"role": item.turn.role, "content": item.text}]
        self._memory.add(said, user_id=self._user, metadata={"turn": item.id}, infer=False)

    def settle(self) -> None:
        """Nothing goes on in the background."""

    def search(self, text: str, vector: np.ndarray | None, k: int) -> list[str]:
        """Search this user's memories."""
        self._hook.vector = vector
        found = self._memory.search(text, filters={"user_id": self._user}, top_k=k, threshold=0.0)
        return [hit["metadata"]["turn"] for hit in found["results"]]

    def close(self) -> None:
        """Close its history."""
        self._memory.db.close()


class _Hook:
    """Stands for mem0's embedding model: it hands over the vector that was laid ready."""

    vector: np.ndarray | None = None

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        assert self.vector is not None
        return self.vector.tolist()

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        return [self.embed(text) for text in texts]


def open_peer(folder: Path, embedder: QueryEmbedder) -> Mem0:
    return Mem0(folder, embedder.dim)
