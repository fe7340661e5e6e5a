"""Writes a sealed index from documents that come one by one: their texts are not kept."""

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np

from slowcat_memory.core.text.normalize import Tokenizer, digest
from slowcat_memory.index.format import (
    FORMAT,
    HEADER,
    KEY_VIEWS,
    Document,
    Header,
    IndexOptions,
    split_key_id,
)
from slowcat_memory.index.table import DocumentTable
from slowcat_memory.index.vectors import VECTORS, KeyView, VectorSpool, VectorView
from slowcat_memory.index.words import OWN, NameLexicon, SealedPostings, Vocabulary


class Builder:
    """Writes a sealed index: every ``add``, then every ``put_vector``, then ``finish``."""

    def __init__(
        self,
        folder: Path,
        tokenizer: Tokenizer,
        options: IndexOptions,
        dim: int,
        reading: str = "",
    ) -> None:
        """Start an index in an existing, empty folder; ``dim`` is 0 without vectors.

        Queries must use the same tokenizer. ``reading`` is as in ``Header``.
        """
        self._folder, self._tokenizer, self._options = folder, tokenizer, options
        self._reading = reading
        self._table = DocumentTable(None, None)
        self._names = NameLexicon()
        self._words = LexicalWriter()
        self._unresolved: dict[int, str] = {}  # documents whose predecessor had not come yet
        self._vectors = VectorSpool(folder, VECTORS, dim)
        self._keys = {name: KeyView(name, VectorView(dim)) for name in KEY_VIEWS}
        self._key_vectors = {
            name: VectorSpool(folder, f"{VECTORS}.{name}", dim) for name in KEY_VIEWS
        }

    def add(self, document: Document) -> None:
        """Add the next document: first chunks, by their turns' numbers, then others, by id."""
        table = self._table
        number = table.append(document, digest(document.text))
        if document.before:
            table.before[number] = table.find(document.before)
            if table.before[number] < 0:
                self._unresolved[number] = document.before
        self._names.add(document.text, document.speaker)
        self._words.add(self._tokenizer(document.text))
        for name, keys in self._keys.items():
            if own := document.keys_of(name):
                keys.put(number, own)

    def put_vector(self, memory_id: str, vector: np.ndarray) -> None:
        """Set the vector of a document or key, shape (dim,), unit length; an unknown id is ignored.

        All documents must have been added.
        """
        if (number := self._table.find(memory_id)) >= 0:
            self._vectors.put(number, len(self._table), vector)
            return
        owner, name = split_key_id(memory_id)
        if (target := self._table.find(owner)) < 0:
            return
        for view, keys in self._keys.items():
            if (key := keys.find(target, name)) >= 0:
                self._key_vectors[view].put(key, len(keys.digests), vector)

    def finish(self) -> Header:
        """Write the files.

        Raises:
            ValueError: The documents came in another order.
        """
        folder, table = self._folder, self._table
        before, after = table.before.values, table.after.values
        for number, predecessor in self._unresolved.items():
            before[number] = table.find(predecessor)
        after[before[before >= 0]] = np.flatnonzero(before >= 0)
        table.session.values[:] = number_sessions(before)
        table.write(folder)
        self._names.write(folder)
        tokens = self._words.finish(folder, self._options, before, after)
        for name, keys in self._keys.items():
            keys.write(folder, name)
        header = Header(
            format=FORMAT,
            reading=self._reading,
            documents=len(table),
            words=table.total_words,
            k1=self._options.k1,
            b=self._options.b,
            tokens=tokens,
            vectors=self._vectors.finish(),
            keys={name: spool.finish() for name, spool in self._key_vectors.items()},
            speakers=table.speakers,
        )
        (folder / HEADER).write_bytes(msgspec.json.encode(header))
        return header


def number_sessions(before: np.ndarray) -> np.ndarray:
    """Return each document's session: the number of the first one of its chain of neighbours.

    ``before`` is the previous document of each, -1 for none. Both have shape (n,); the result is
    int32.
    """
    first = np.where(before >= 0, before, np.arange(len(before), dtype=np.int32)).astype(np.int32)
    while not np.array_equal(further := first[first], first):
        first = further
    return first


# ------------------------------------------------------------------- words
# bm25s scores the windows once; see ``words`` for how a query uses these scores. Tokens are kept
# in arrays, so that a million documents need no objects of their own.


class LexicalWriter:
    """Collects the tokens of documents, then writes all files made of them."""

    def __init__(self) -> None:
        self._vocabulary: dict[str, int] = {}
        self._tokens, self._starts = array("i"), array("q", [0])

    def add(self, tokens: Sequence[str]) -> None:
        """Add the next document: its tokens with repetitions."""
        vocabulary = self._vocabulary
        self._tokens.extend([vocabulary.setdefault(token, len(vocabulary)) for token in tokens])
        self._starts.append(len(self._tokens))

    def finish(
        self, folder: Path, options: IndexOptions, before: np.ndarray, after: np.ndarray
    ) -> float:
        """Write the forward index and the postings.

        ``before`` and ``after`` are the numbers of each document's neighbours, -1 for none, shape
        (documents,). Returns the sum of the windows' lengths in tokens.
        """
        rows = Vocabulary.write(list(self._vocabulary), folder)
        self._vocabulary.clear()
        own, self._tokens = rows[np.frombuffer(self._tokens, np.int32)], array("i")
        starts = np.array(self._starts, np.int64)
        # Sorted, so that nobody can read a sentence.
        own = own[np.lexsort((own, np.repeat(np.arange(len(before)), np.diff(starts))))]
        np.save(folder / f"{OWN}.rows.npy", own)
        np.save(folder / f"{OWN}.starts.npy", starts)
        windows = _Windows(own, starts, before, after)
        postings = score(windows, len(rows), options.k1, options.b)
        postings.write(folder)
        return float(postings.lengths.sum())


class _Windows:
    """The documents' windows as bm25s reads them: a list of rows each, made when read.

    bm25s reads them three times. Lists of all windows would be 2 GB at a million memories.
    """

    def __init__(
        self, own: np.ndarray, starts: np.ndarray, before: np.ndarray, after: np.ndarray
    ) -> None:
        """``own`` has the rows of all tokens, one document after the other, from ``starts`` on."""
        self._own, self._starts, self._neighbours = own, starts, (before, after)
        tokens = np.diff(starts)
        self.lengths = 2 * tokens
        for column in self._neighbours:
            self.lengths[column >= 0] += tokens[column[column >= 0]]

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[list[int]]:
        neighbours = [column.tolist() for column in self._neighbours]
        own, starts = self._own, self._starts.tolist()
        for number in range(len(self)):
            rows = 2 * own[starts[number] : starts[number + 1]].tolist()
            for column in neighbours:
                if (other := column[number]) >= 0:
                    rows += own[starts[other] : starts[other + 1]].tolist()
            yield rows


def score(documents: _Windows, terms: int, k1: float, b: float) -> SealedPostings:
    """Score every term of every document with bm25s; ``terms`` is the vocabulary's size."""
    lengths = documents.lengths.astype(np.int32)
    if not lengths.any():  # bm25s divides by the mean length
        indptr, none = np.zeros(terms + 1, np.int64), np.zeros(0, np.int32)
        return SealedPostings(indptr, none, none.astype(np.float32), lengths)
    import bm25s  # imports numba: half a second and 60 MB that only the building child pays

    index = bm25s.BM25(method="lucene", k1=k1, b=b)
    corpus = SimpleNamespace(ids=documents, vocab={row: row for row in range(terms)})
    index.index(corpus, create_empty_token=False, show_progress=False)
    scores = index.scores
    return SealedPostings(
        scores["indptr"].astype(np.int64),
        scores["indices"].astype(np.int32),
        scores["data"].astype(np.float32),
        lengths,
    )
