"""A slow reference index that recomputes everything per query, and the comparison with it."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index import Builder, Document, IndexOptions, Searcher
from slowcat_memory.index.format import Header
from slowcat_memory.index.table import chunk_of
from slowcat_memory.index.words import idf

OPTIONS = IndexOptions(candidates=3)
TOKENS = Tokenizer("none")


def build(
    documents: list[Document],
    vectors: dict[str, np.ndarray],
    dim: int,
    folder: Path,
    tokenizer: Tokenizer,
    options: IndexOptions,
) -> Header:
    """Write a sealed index of documents, in any order, and of unit vectors by memory id."""
    builder = Builder(folder, tokenizer, options, dim)
    for document in sorted(documents, key=lambda d: (not chunk_of(d.id), chunk_of(d.id), d.id)):
        builder.add(document)
    for memory_id, vector in vectors.items():
        builder.put_vector(memory_id, vector)
    return builder.finish()


def bm25(
    corpus: Sequence[Sequence[str]],
    query: Sequence[str],
    k1: float,
    b: float,
    averages: Sequence[float] = (),
) -> list[float]:
    """Score every document by the formula in ``index/words.py``, term by term.

    ``averages`` is the mean length by document; that of the corpus for all without it.
    """
    if not any(corpus):
        return [0.0] * len(corpus)
    averages = averages or [mean_length(corpus)] * len(corpus)
    scores = [0.0] * len(corpus)
    for term in set(query):
        found = sum(term in tokens for tokens in corpus)
        idf = math.log(1 + (len(corpus) - found + 0.5) / (found + 0.5))
        for place, (tokens, average) in enumerate(zip(corpus, averages, strict=True)):
            tf = tokens.count(term)
            if tf:
                scores[place] += idf * tf / (tf + k1 * (1 - b + b * len(tokens) / average))
    return scores


def mean_length(corpus: Sequence[Sequence[str]]) -> float:
    return sum(map(len, corpus)) / max(1, len(corpus))


@dataclass
class Oracle:
    """The expected state of a searcher: the current memories, in order, with their neighbours."""

    said: dict[str, Document] = field(default_factory=dict)
    embedded: dict[str, np.ndarray] = field(default_factory=dict)
    """The vectors of memories, and of their keys by the id with their name."""
    sealed_mean: float = 0.0
    """Mean length of a window when ``seal`` was called last."""

    def add(self, document: Document) -> None:
        if known := self.said.get(document.id):
            self._forget_changed(known, document)
            self.said[document.id] = replace(document, before=known.before)
            return
        before = document.before if document.before in self.said else ""
        after = self.afters().get(before, "") if before else ""
        self.said[document.id] = replace(document, before=before)
        if after:
            self.said[after] = replace(self.said[after], before=document.id)

    def _forget_changed(self, old: Document, new: Document) -> None:
        """A vector is of one text, and of a key that asks or one that was judged."""
        kept = {(key.id, key.text, key.kind == "asked") for key in new.keys}
        for key in old.keys:
            if (key.id, key.text, key.kind == "asked") not in kept:
                self.embedded.pop(f"{old.id}{key.id}", None)
        if old.text != new.text:
            self.embedded.pop(old.id, None)

    def remove(self, memory_id: str) -> None:
        gone, after = self.said[memory_id], self.afters().get(memory_id, "")
        if after:
            self.said[after] = replace(self.said[after], before=gone.before)
        del self.said[memory_id]
        for id_ in (memory_id, *(f"{memory_id}{key.id}" for key in gone.keys)):
            self.embedded.pop(id_, None)

    def afters(self) -> dict[str, str]:
        """Return who follows whom."""
        return {document.before: id_ for id_, document in self.said.items()}

    def documents(self) -> list[Document]:
        return list(self.said.values())

    def sessions(self) -> set[frozenset[str]]:
        """The chains of neighbours."""
        chains, afters = [], self.afters()
        for id_ in (id_ for id_, said in self.said.items() if not said.before):
            chain = [id_]
            while after := afters.get(chain[-1]):
                chain.append(after)
            chains.append(frozenset(chain))
        return set(chains)

    def corpus(self) -> dict[str, list[str]]:
        """Each memory's window, its own words twice."""
        own = {id_: TOKENS(said.text) for id_, said in self.said.items()}
        afters = self.afters()
        return {
            id_: own.get(said.before, []) + 2 * own[id_] + own.get(afters.get(id_, ""), [])
            for id_, said in self.said.items()
        }

    def remember_mean(self) -> None:
        """Keep the present mean length as that of sealing."""
        self.sealed_mean = mean_length(list(self.corpus().values()))

    def scores(
        self, query: str, options: IndexOptions = OPTIONS, sealed: Collection[str] = ()
    ) -> dict[str, float]:
        """Score every memory; those of ``sealed`` with the mean length of sealing."""
        corpus = self.corpus()
        now = mean_length(list(corpus.values()))
        averages = [self.sealed_mean if id_ in sealed else now for id_ in corpus]
        scores = bm25(list(corpus.values()), TOKENS(query), options.k1, options.b, averages)
        return dict(zip(corpus, scores, strict=True))

    def drift(self) -> tuple[float, float]:
        """Return the least and the greatest factor of a sealed score beside an exact one.

        A score is ``idf * tf / (tf + floor + slope / mean)``: with another mean it changes by less
        than the mean does.
        """
        now = mean_length(list(self.corpus().values()))
        ratio = self.sealed_mean / now if now else 1.0
        return min(1.0, ratio), max(1.0, ratio)


def seal(oracle: Oracle, folder: Path, options: IndexOptions = OPTIONS, dim: int = 0) -> Searcher:
    """Build a sealed index of the oracle's memories, in this process, and open it."""
    folder.mkdir(parents=True)
    oracle.remember_mean()
    build(oracle.documents(), oracle.embedded, dim, folder, TOKENS, options)
    return Searcher(TOKENS, options, dim, folder)


def scores_of(searcher: Searcher, query: str, *, sealed: bool = True) -> dict[str, float]:
    """Every current document's score by words, by id."""
    lexical = searcher.lexical(query, sealed=sealed)
    ids, numbers = zip(*searcher.table.items(), strict=True) if len(searcher) else ((), ())
    scores = lexical.scores[np.array(numbers, np.int64)]
    return dict(zip(ids, map(float, scores), strict=True))


def check_equal(
    searcher: Searcher, oracle: Oracle, query: str, options: IndexOptions = OPTIONS
) -> None:
    """Check that words score and propose like an index built from scratch.

    Sealed documents keep the mean length of sealing.
    """
    got, sealed = scores_of(searcher, query), sealed_ids(searcher)
    proposed = set(searcher.candidates(searcher.lexical(query)).ids)
    want = oracle.scores(query, options, sealed)
    assert got.keys() == want.keys()
    assert np.allclose([got[id_] for id_ in want], list(want.values()), rtol=1e-4, atol=1e-5), (
        f"{got} is not {want}"
    )
    best = sorted(want.values(), reverse=True)[: options.candidates]
    sure = {id_ for id_, score in want.items() if best and score > best[-1] + 1e-5}
    assert sure <= proposed, f"{sure - proposed} is missing among {proposed}"


def without_drift(searcher: Searcher, query: str) -> np.ndarray:
    """Return the factor of each document's score for the present mean length.

    A sealed score without its idf is ``tf / (tf + norm)``; from it and the norm of sealing the one
    with another norm follows.
    """
    lexical = searcher.words
    k1, b = OPTIONS.k1, OPTIONS.b
    sealed, factors = lexical._sealed, np.ones(len(searcher.table))
    terms = list(dict.fromkeys(searcher._tokenize(query)))
    if not len(sealed.documents) or lexical.total <= 0:
        return factors
    means = sealed.lengths.mean(), lexical.total / searcher.table.living
    norms = [k1 * (1 - b + b * sealed.lengths / mean) for mean in means]
    sums = np.zeros((2, len(sealed.lengths)))
    for term, row in zip(terms, searcher.words.forward.vocabulary.rows(terms), strict=True):
        if row >= 0:
            there = slice(sealed.indptr[row], sealed.indptr[row + 1])
            documents = sealed.documents[there]
            share = sealed.scores[there] / sealed.idf(row)
            changed = share / (share + (1 - share) * (norms[1] / norms[0])[documents])
            weight = idf(*lexical.frequencies([term]), searcher.table.living)
            sums[:, documents] += weight * np.stack([share, changed])
    found = np.flatnonzero(sums[0])
    factors[found] = sums[1, found] / sums[0, found]
    return factors


def sealed_ids(searcher: Searcher) -> set[str]:
    """The current documents of the sealed part."""
    return {id_ for id_, number in searcher.table.items() if number < searcher.sealed_count}


def check_columns(searcher: Searcher, oracle: Oracle) -> None:
    """Check every document's session, speaker and times against an index built from scratch."""
    shared: dict[int, set[str]] = {}
    for id_, number in searcher.table.items():
        shared.setdefault(int(searcher.table.session[number]), set()).add(id_)
    assert set(map(frozenset, shared.values())) == oracle.sessions()
    for id_, number in searcher.table.items():
        said = oracle.said[id_]
        assert searcher.table.speakers[int(searcher.table.speaker[number])] == said.speaker, id_
        about = [float(column[number]) for column in searcher.table.about]
        assert np.array_equal(about, said.about or (np.nan, np.nan), equal_nan=True), id_
        assert float(searcher.table.at[number]) == said.at, id_
