"""A stand-in for mem0's client, for who has no mem0: vectors in a list, and no LLM."""

from typing import Any, Self

import numpy as np


class StubMemory:
    """Keeps each message as it was said, and finds by cosine, as mem0 does with ``infer=False``.

    Attributes:
        embedding_model: What embeds; to be set before anything is added.
    """

    embedding_model: Any

    def __init__(self) -> None:
        """Start empty."""
        self._texts: list[str] = []
        self._vectors: list[np.ndarray] = []

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Make a client; nothing of its configuration matters."""
        return cls()

    def add(self, messages: list[dict[str, str]], infer: bool = True, **_: Any) -> None:
        """Keep each message."""
        for message in messages:
            self._texts.append(message["content"])
            self._vectors.append(np.asarray(self.embedding_model.embed(message["content"])))

    def search(self, query: str, top_k: int, threshold: float, **_: Any) -> dict[str, Any]:
        """Find the nearest."""
        scores = np.stack(self._vectors) @ np.asarray(self.embedding_model.embed(query))
        best = [int(n) for n in np.argsort(-scores)[:top_k] if scores[n] >= threshold]
        return {"results": [{"memory": self._texts[n], "score": float(scores[n])} for n in best]}

    def get_all(self, **_: Any) -> dict[str, Any]:
        """List everything."""
        return {"results": [{"memory": text} for text in self._texts]}
