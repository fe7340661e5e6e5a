"""tantivy for words and FAISS for vectors, fused: what one builds by hand from fast parts.

tantivy commits to disk; the vectors stay in memory, since FAISS writes a whole file or nothing. As
both document it for speed: hits are not counted (so that tantivy skips blocks that cannot win),
numbers come from a fast field, texts are read of the final hits alone, and the vectors are an HNSW
graph.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import faiss
import numpy as np

from benchmarks.peers.base import DEPTH, Item, fused
from slowcat_memory.providers import QueryEmbedder

NEIGHBOURS, EF_BUILD, EF_SEARCH = 32, 200, 64


class TantivyFaiss:
    """One index of each kind."""

    embeds = False

    def __init__(self, folder: Path, dim: int) -> None:
        """Open both."""
        import tantivy

        self._tantivy = tantivy
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("number", fast=True)
        builder.add_text_field("text", stored=True, tokenizer_name="en_stem", index_option="freq")
        self._index = tantivy.Index(builder.build(), path=str(folder))
        self._writer = self._index.writer(num_threads=1)
        self._vectors = faiss.IndexHNSWFlat(dim, NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        self._vectors.hnsw.efConstruction, self._vectors.hnsw.efSearch = EF_BUILD, EF_SEARCH
        self._ids: list[str] = []

    def add_all(self, items: Sequence[Item]) -> None:
        """Add, commit, and open a new reader."""
        for number, item in enumerate(items, len(self._ids)):
            self._writer.add_document(self._tantivy.Document(number=number, text=item.text))
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
        """Search both and fuse; the final documents are read, as one would for a prompt."""
        words = " ".join(re.findall(r"\w+", text.lower()))
        query, _ = self._index.parse_query_lenient(words, ["text"])
        searcher = self._index.searcher()
        places = [place for _, place in searcher.search(query, DEPTH, count=False).hits]
        numbers = searcher.fast_field_values("number", places) if places else []
        _, near = self._vectors.search(np.asarray(vector)[None], DEPTH)
        best = fused((numbers, [n for n in near[0].tolist() if n >= 0]), k)
        read = dict(zip(numbers, places, strict=True))
        for number in best:
            if number in read:  # the others' texts would come from where they were said
                searcher.doc(read[number])
        return [self._ids[number] for number in best]

    def close(self) -> None:
        """Wait for its merges."""
        self._writer.wait_merging_threads()


def open_peer(folder: Path, embedder: QueryEmbedder) -> TantivyFaiss:
    return TantivyFaiss(folder, embedder.dim)
