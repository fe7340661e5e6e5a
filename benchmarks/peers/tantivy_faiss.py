"""tantivy for words and FAISS for vectors, fused: what one builds by hand from fast parts.

tantivy commits to disk; the vectors stay in memory, since FAISS writes a whole file or nothing.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import faiss
import numpy as np

from benchmarks.peers.base import DEPTH, Item, fused
from slowcat_memory.providers import QueryEmbedder


class TantivyFaiss:
    """One index of each kind."""

    embeds = False

    def __init__(self, folder: Path, dim: int) -> None:
        """Open both."""
        import tantivy

        self._tantivy = tantivy
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("id", stored=True, tokenizer_name="raw")
        builder.add_text_field("text", stored=True, tokenizer_name="en_stem")
        self._index = tantivy.Index(builder.build(), path=str(folder))
        self._writer = self._index.writer(num_threads=1)
        self._vectors = faiss.IndexFlatIP(dim)
        self._ids: list[str] = []

    def add_all(self, items: Sequence[Item]) -> None:
        """Add, commit, and open a new reader."""
        for item in items:
            self._writer.add_document(self._tantivy.Document(id=item.id, text=item.text))
        self._vectors.add(np.stack([item.vector for item in items]))
        self._ids += [item.id for item in items]
        self._writer.commit()
        self._index.reload()

    def add(self, item: Item) -> None:
        """Add one; it is visible after the commit."""
        self.add_all([item])

    def settle(self) -> None:
        """Nothing to wait for; merging goes on in threads of its own."""

    def search(self, text: str, vector: np.ndarray | None, k: int) -> list[str]:
        """Search both and fuse; the documents are read, as one would for a prompt."""
        words = " ".join(re.findall(r"\w+", text.lower()))
        query, _ = self._index.parse_query_lenient(words, ["text"])
        searcher = self._index.searcher()
        hits = searcher.search(query, DEPTH).hits
        lexical = [searcher.doc(address)["id"][0] for _, address in hits]
        _, numbers = self._vectors.search(np.asarray(vector)[None], DEPTH)
        return fused((lexical, [self._ids[n] for n in numbers[0] if n >= 0]), k)

    def close(self) -> None:
        """Wait for its merges."""
        self._writer.wait_merging_threads()


def open_peer(folder: Path, embedder: QueryEmbedder) -> TantivyFaiss:
    return TantivyFaiss(folder, embedder.dim)
