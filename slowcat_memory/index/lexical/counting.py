"""From tokens to postings, in blocks and arrays, so that a million documents need no objects.

bm25s counts each block of documents and lays it out by term. It stores finished scores instead of
counts; with scores of ``idf * tf / (tf + 1)``, in double precision, the counts can be recovered.
"""

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index.lexical.forward_index import KEYS, OWN, Vocabulary
from slowcat_memory.index.lexical.postings import MOST_CODES
from slowcat_memory.index.options import View

BLOCK = 20_000  # documents counted at a time
RUN = 2_000_000  # postings laid out at a time
MOST_TIMES = 65_535  # a term's occurrences in a document are capped here


class Terms(Struct, frozen=True, eq=False):
    """Every document's terms, ordered by document.

    Attributes:
        terms: Size of the vocabulary.
        rows: The term of each pair, shape (n,), int32.
        documents: Its document, shape (n,), int32, rising.
        times: Its occurrences there, shape (n,), uint16.
        lengths: Tokens by document, shape (documents,), int32.
    """

    terms: int
    rows: np.ndarray
    documents: np.ndarray
    times: np.ndarray
    lengths: np.ndarray


class Counting:
    """Counts tokens document by document: the document's own, and those of its keys."""

    def __init__(self) -> None:
        """Start with no document."""
        self._vocabulary: dict[str, int] = {}
        self._own, self._keys = _Stream(self._vocabulary), _Stream(self._vocabulary)

    def add(self, tokens: Sequence[str], keys: Sequence[str] = ()) -> None:
        """Add the next document: its tokens with repetitions, and those of its keys."""
        self._own.add(tokens)
        self._keys.add(keys)

    def finish(self, folder: Path) -> tuple[Terms, Terms]:
        """Store the forward index; return the documents' own terms, and those of their keys."""
        rows = Vocabulary.write(list(self._vocabulary), folder)
        self._vocabulary.clear()
        own = self._own.finish(folder, OWN, rows)
        return own, self._keys.finish(folder, KEYS, rows)


class _Stream:
    """Tokens by document, counted a block at a time."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self._vocabulary = vocabulary
        self._tokens, self._lengths = array("i"), array("i")
        self._blocks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._counted = 0

    def add(self, tokens: Sequence[str]) -> None:
        known = self._vocabulary
        self._tokens.extend([known.setdefault(token, len(known)) for token in tokens])
        self._lengths.append(len(tokens))
        if len(self._lengths) - self._counted >= BLOCK:
            self._count()

    def _count(self) -> None:
        lengths = np.frombuffer(self._lengths, np.int32)[self._counted :].copy()
        tokens = np.frombuffer(self._tokens, np.int32).copy()
        if len(tokens):
            documents, terms, times = _count_block(tokens, lengths)
            self._blocks.append(((documents + self._counted).astype(np.int32), terms, times))
        self._counted, self._tokens = len(self._lengths), array("i")

    def finish(self, folder: Path, name: str, rows: np.ndarray) -> Terms:
        self._count()
        blocks = self._blocks or [(np.zeros(0, np.int32),) * 3]
        documents, terms, times = (np.concatenate(part) for part in zip(*blocks, strict=True))
        times = np.minimum(times, MOST_TIMES).astype(np.uint16)
        self._blocks = []
        made = Terms(len(rows), rows[terms], documents, times, np.array(self._lengths, np.int32))
        np.save(folder / f"{name}.rows.npy", made.rows)
        np.save(folder / f"{name}.times.npy", made.times)
        starts = np.searchsorted(documents, np.arange(len(self._lengths) + 1))
        np.save(folder / f"{name}.indptr.npy", starts.astype(np.int64))
        return made


def _count_block(
    tokens: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count a block with bm25s: documents (rising, from 0), terms, occurrences."""
    import bm25s  # imports numba: half a second and 60 MB that only the building child pays

    known, local = np.unique(tokens, return_inverse=True)
    ends = np.cumsum(lengths)[:-1]
    corpus = [part.tolist() for part in np.split(local, ends)]
    index = bm25s.BM25(method="lucene", k1=1.0, b=0.0, dtype="float64")
    vocabulary = {str(n): n for n in range(len(known))}
    index.index((corpus, vocabulary), show_progress=False)
    scores = index.scores
    found = np.diff(scores["indptr"])
    terms = np.repeat(np.arange(len(found)), found)
    idf = np.log(1 + (len(corpus) - found + 0.5) / (found + 0.5))[terms]
    # With b = 0 and k1 = 1 a score is idf * times / (times + 1): solved for times.
    times = np.rint(scores["data"] / (idf - scores["data"])).astype(np.int64)
    if int(times.sum()) != len(tokens):
        raise IndexDamagedError("bm25s scores in a way that we do not know")
    order = np.argsort(scores["indices"], kind="stable")
    return scores["indices"][order], known[terms[order]], times[order]


def write_view(
    view: View,
    own: Terms,
    keys: Terms | None,
    before: np.ndarray,
    after: np.ndarray,
    folder: Path,
) -> float:
    """Lay a view's postings out by term, and store them.

    Args:
        view: The view.
        own: The documents' own terms.
        keys: Those of the documents' keys, for a view that counts them.
        before: Number of each document's previous one, -1 for none, shape (documents,).
        after: The same for the next one.
        folder: Where the files go.

    Returns:
        The sum of the documents' lengths.
    """
    # A document's terms go to the one after it, whose window looks before, and the reverse.
    receivers = ([after] if view.before else []) + ([before] if view.after else [])
    lengths = own.lengths.astype(np.int64)
    for receiver in receivers:
        there = receiver >= 0
        lengths += np.bincount(
            receiver[there], weights=own.lengths[there], minlength=len(lengths)
        ).astype(np.int64)
    if keys is not None:
        lengths += keys.lengths
    runs = list(_runs(own, keys, receivers))
    rows, documents, times = (
        np.concatenate(part) if part else np.zeros(0, np.int32)
        for part in ([run[n] for run in runs] for n in range(3))
    )
    del runs
    indptr = np.zeros(own.terms + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=own.terms), out=indptr[1:])
    pairs, codes = _encode(times, documents, lengths)
    for name, values in (
        ("indptr", indptr),
        ("documents", documents.astype(np.int32)),
        ("codes", codes),
        ("pairs", pairs),
        ("lengths", lengths.astype(np.int32)),
    ):
        np.save(folder / f"{view.name}.{name}.npy", values)
    return float(lengths.sum())


def _runs(
    own: Terms, keys: Terms | None, receivers: Sequence[np.ndarray]
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Sum each document's counts with its keys' and neighbours'.

    Yields:
        Rows (rising over all runs), documents (rising within a row) and occurrences of some terms
        at a time, so that memory stays bounded.
    """
    every = own if keys is None else _concatenate(own, keys)
    order = np.argsort(every.rows, kind="stable").astype(np.int32)
    indptr = np.zeros(own.terms + 1, np.int64)
    np.cumsum(np.bincount(every.rows, minlength=own.terms), out=indptr[1:])
    size = max(1, len(own.lengths))
    first = 0
    while first < own.terms:
        last = max(first + 1, int(np.searchsorted(indptr, indptr[first] + RUN, "right")) - 1)
        part = order[indptr[first] : indptr[last]]
        rows, documents, times = every.rows[part], every.documents[part], every.times[part]
        places = [rows.astype(np.int64) * size + documents]  # one number for (term, document)
        shared = part < len(own.rows)  # terms of keys stay with their document
        counts = [times]
        for receiver in receivers:
            other = receiver[documents]
            there = (other >= 0) & shared
            places.append(rows[there].astype(np.int64) * size + other[there])
            counts.append(times[there])
        yield _sum(np.concatenate(places), np.concatenate(counts), size)
        first = last


def _concatenate(own: Terms, keys: Terms) -> Terms:
    return Terms(
        own.terms,
        np.concatenate((own.rows, keys.rows)),
        np.concatenate((own.documents, keys.documents)),
        np.concatenate((own.times, keys.times)),
        own.lengths,
    )


def _sum(
    places: np.ndarray, counts: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add up the counts of equal places; return their rows, documents and sums."""
    order = np.argsort(places, kind="stable")
    places, counts = places[order], counts[order].astype(np.int64)
    heads = np.flatnonzero(np.append(True, places[1:] != places[:-1])) if len(places) else order
    times = np.add.reduceat(counts, heads) if len(places) else counts
    rows, documents = np.divmod(places[heads], size)
    capped = np.minimum(times, MOST_TIMES).astype(np.uint16)
    return rows.astype(np.int32), documents.astype(np.int32), capped


def _encode(
    times: np.ndarray, documents: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct pairs of occurrences and document length, and each posting's pair."""
    if not len(times):
        return np.zeros((0, 2)), np.zeros(0, np.uint16)
    step = int(lengths.max()) + 1
    parts = [slice(start, start + RUN) for start in range(0, len(times), RUN)]

    def numbered(part: slice) -> np.ndarray:
        return times[part].astype(np.int64) * step + lengths[documents[part]]

    pairs = np.unique(np.concatenate([np.unique(numbered(part)) for part in parts]))
    codes = np.empty(len(times), np.uint16 if len(pairs) <= MOST_CODES else np.uint32)
    for part in parts:
        codes[part] = np.searchsorted(pairs, numbered(part))
    return np.stack(np.divmod(pairs, step), axis=1).astype(np.float64), codes
