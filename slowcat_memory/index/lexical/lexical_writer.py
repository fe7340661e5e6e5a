"""Writes the lexical part of a sealed index: the forward index, and the windows' scored postings.

bm25s scores the windows once; see ``windows`` for how a query uses these scores. Tokens are kept in
arrays, so that a million documents need no objects of their own.
"""

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from slowcat_memory.index.lexical.windows import OWN, SealedPostings, Vocabulary
from slowcat_memory.index.options import IndexOptions

BLOCK = 20_000  # documents counted at a time
MOST_TIMES = 65_535  # a term's occurrences in a document are capped here in the forward index


class TokenRows(Struct, frozen=True, eq=False):
    """The tokens of all documents, one document after the other.

    Attributes:
        rows: The vocabulary's row of each token, shape (tokens,), int32.
        starts: Start of each document's tokens, and the end, shape (documents + 1,), int64.
    """

    rows: np.ndarray
    starts: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Tokens by document, shape (documents,), int64."""
        return np.diff(self.starts)


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
        tokens, self._tokens = self._tokens, array("i")
        starts = np.array(self._starts, np.int64)
        own = TokenRows(rows[np.frombuffer(tokens, np.int32)], starts)
        _write_counts(own, len(rows), folder, OWN)
        windows = _Windows(own, before, after)
        postings = score(windows, len(rows), options.k1, options.b)
        postings.write(folder)
        return float(postings.lengths.sum())


class _Windows:
    """The documents' windows as bm25s reads them: a list of rows each, made when read.

    bm25s reads them three times. Lists of all windows would be 2 GB at a million memories.
    """

    def __init__(self, own: TokenRows, before: np.ndarray, after: np.ndarray) -> None:
        self._own, self._neighbours = own, (before, after)
        self.lengths = 2 * own.lengths
        for column in self._neighbours:
            self.lengths[column >= 0] += own.lengths[column[column >= 0]]

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[list[int]]:
        neighbours = [column.tolist() for column in self._neighbours]
        own, starts = self._own.rows, self._own.starts.tolist()
        for number in range(len(self)):
            rows = 2 * own[starts[number] : starts[number + 1]].tolist()
            for column in neighbours:
                if (other := column[number]) >= 0:
                    rows += own[starts[other] : starts[other + 1]].tolist()
            yield rows


class _Corpus(Struct, frozen=True, eq=False):
    """The input of ``bm25s.BM25.index``: token ids by document, and the vocabulary."""

    ids: _Windows
    vocab: dict[int, int]


def score(documents: _Windows, terms: int, k1: float, b: float) -> SealedPostings:
    """Score every term of every document with bm25s; ``terms`` is the vocabulary's size."""
    lengths = documents.lengths.astype(np.int32)
    if not lengths.any():  # bm25s divides by the mean length
        return SealedPostings.empty(terms, lengths)
    import bm25s  # imports numba: half a second and 60 MB that only the building child pays

    index = bm25s.BM25(method="lucene", k1=k1, b=b)
    corpus = _Corpus(documents, {row: row for row in range(terms)})
    index.index(corpus, create_empty_token=False, show_progress=False)
    scores = index.scores
    return SealedPostings(
        scores["indptr"].astype(np.int64),
        scores["indices"].astype(np.int32),
        scores["data"].astype(np.float32),
        lengths,
    )


def _write_counts(tokens: TokenRows, terms: int, folder: Path, name: str) -> None:
    rows, times, found = [], [], [np.zeros(1, np.int64)]
    for first in range(0, len(tokens.starts) - 1, BLOCK):
        starts = tokens.starts[first : first + BLOCK + 1]
        documents = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        pairs = documents * max(1, terms) + tokens.rows[starts[0] : starts[-1]]
        distinct, counts = np.unique(pairs, return_counts=True)
        documents, terms_there = np.divmod(distinct, max(1, terms))
        rows.append(terms_there.astype(np.int32))
        times.append(np.minimum(counts, MOST_TIMES).astype(np.uint16))
        found.append(np.bincount(documents, minlength=len(starts) - 1))
    np.save(folder / f"{name}.rows.npy", np.concatenate([np.zeros(0, np.int32), *rows]))
    np.save(folder / f"{name}.times.npy", np.concatenate([np.zeros(0, np.uint16), *times]))
    np.save(folder / f"{name}.indptr.npy", np.cumsum(np.concatenate(found), dtype=np.int64))
