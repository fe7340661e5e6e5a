"""LanceDB: one table with a full-text index; hybrid search fused by its RRF reranker.

Its advice is a flat scan below 100,000 rows; at 10,000 its HNSW over scalar codes takes half of the
time and finds the same, so it is indexed as soon as there are enough rows to learn codes from.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.base import Item
from slowcat_memory.providers import QueryEmbedder

os.environ["LANCEDB_LOG"] = "error"  # a warning a search about columns to come
INDEXED = 5000  # rows


class Lance:
    """One table."""

    embeds = False

    def __init__(self, folder: Path) -> None:
        """Open a database below ``folder``; the table comes with the first rows."""
        import lancedb
        from lancedb.rerankers import RRFReranker

        self._database = lancedb.connect(folder)
        self._rerank = RRFReranker()
        self._table: Any = None

    def add_all(self, items: Sequence[Item]) -> None:
        """Add in one batch, and bring the full-text index up to date."""
        from lancedb.index import FTS, HnswSq

        rows = [_row(item) for item in items]
        if self._table is None:
            self._table = self._database.create_table("memories", rows)
            self._table.create_index("text", config=FTS())
            if len(items) >= INDEXED:
                codes = HnswSq(distance_type="cosine", num_partitions=1)
                self._table.create_index("vector", config=codes)
        else:
            self._table.add(rows)
            self._table.optimize()

    def add(self, item: Item) -> None:
        """Add one; a search finds it although the index does not hold it yet."""
        self._table.add([_row(item)])

    def settle(self) -> None:
        """Nothing to wait for; its compaction is left to ``add_all``."""

    def search(self, text: str, vector: np.ndarray | None, k: int) -> list[str]:
        """Search by words and vector."""
        found = (
            self._table.search(query_type="hybrid")
            .vector(vector)
            .text(text)
            .rerank(self._rerank)
            .select(["id", "text"])
            .limit(k)
            .to_list()
        )
        return [row["id"] for row in found]

    def close(self) -> None:
        """Let the table go."""
        self._table = None


def _row(item: Item) -> dict[str, Any]:
    return {"id": item.id, "text": item.text, "vector": item.vector}


def open_peer(folder: Path, embedder: QueryEmbedder) -> Lance:
    return Lance(folder)
