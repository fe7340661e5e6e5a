"""A slow, honest index: everything counted anew for every question. And the check against it."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from slowcat_memory.core.text import Tokenizer
from slowcat_memory.index import Document, IndexOptions, Searcher

OPTIONS = IndexOptions(language="none", candidates=3)
TOKENS = Tokenizer("none")


def bm25(corpus: Sequence[Sequence[str]], query: Sequence[str], k1: float, b: float) -> list[float]:
    """Score every document by the formula in ``index/lexical.py``, term by term."""
    if not any(corpus):
        return [0.0] * len(corpus)
    average = sum(map(len, corpus)) / len(corpus)
    scores = [0.0] * len(corpus)
    for term in set(query):
        found = sum(term in tokens for tokens in corpus)
        idf = math.log(1 + (len(corpus) - found + 0.5) / (found + 0.5))
        for place, tokens in enumerate(corpus):
            tf = tokens.count(term)
            norm = k1 * (1 - b + b * len(tokens) / average)
            scores[place] += idf * tf / (tf + norm) if tf else 0.0
    return scores


@dataclass
class Said:
    """One memory, as the oracle keeps it."""

    text: str
    at: float
    before: str = ""
    after: str = ""


@dataclass
class Oracle:
    """What a searcher must be equal to: the living memories, in order, with their neighbours."""

    said: dict[str, Said] = field(default_factory=dict)

    def add(self, document: Document) -> None:
        if document.id in self.said:
            self.said[document.id].text = document.text
            self.said[document.id].at = document.at
            return
        before = document.before if document.before in self.said else ""
        after = self.said[before].after if before else ""
        self.said[document.id] = Said(document.text, document.at, before, after)
        if before:
            self.said[before].after = document.id
        if after:
            self.said[after].before = document.id

    def remove(self, memory_id: str) -> None:
        gone = self.said.pop(memory_id)
        if gone.before:
            self.said[gone.before].after = gone.after
        if gone.after:
            self.said[gone.after].before = gone.before

    def documents(self) -> list[Document]:
        return [
            Document(id=id_, text=said.text, at=said.at, before=said.before)
            for id_, said in self.said.items()
        ]

    def corpus(self, view: str) -> dict[str, list[str]]:
        own = {id_: TOKENS(said.text) for id_, said in self.said.items()}
        if view == "turn":
            return own
        return {
            id_: own.get(said.before, []) + own[id_] + own.get(said.after, [])
            for id_, said in self.said.items()
        }

    def scores(self, view: str, query: str, options: IndexOptions = OPTIONS) -> dict[str, float]:
        corpus = self.corpus(view)
        scores = bm25(list(corpus.values()), TOKENS(query), options.k1, options.b)
        return dict(zip(corpus, scores, strict=True))


def seal(oracle: Oracle, folder: Path, vectors: dict[str, np.ndarray] | None = None) -> Searcher:
    """Build a sealed index of what there is, in this process, and open it."""
    folder.mkdir(parents=True)
    dim = len(next(iter(vectors.values()))) if vectors else 0
    Searcher.build(oracle.documents(), vectors or {}, dim, folder, TOKENS, OPTIONS)
    return Searcher(TOKENS, OPTIONS, dim, folder)


def check_equal(searcher: Searcher, oracle: Oracle, query: str) -> None:
    """Both lexical views score as one index built from scratch would, and propose the same."""
    lexical = searcher.lexical(query)
    numbers = {id_: number for id_, number in searcher._number.items()}
    assert numbers.keys() == oracle.said.keys()
    proposed = set(searcher.candidates(lexical).ids)
    for view in ("turn", "window"):
        got, want = getattr(lexical, view), oracle.scores(view, query)
        found = {id_: float(got[number]) for id_, number in numbers.items()}
        assert np.allclose(
            [found[id_] for id_ in want], list(want.values()), rtol=1e-4, atol=1e-5
        ), f"{view}: {found} is not {want}"
        assert np.count_nonzero(got) <= len(numbers), "the dead score"
        best = sorted(want.values(), reverse=True)[: OPTIONS.candidates]
        sure = {id_ for id_, score in want.items() if best and score > best[-1] + 1e-5}
        assert sure <= proposed, f"{view}: {sure - proposed} is missing among {proposed}"


def counts_of(searcher: Searcher, view: str, memory_id: str) -> Counter[str]:
    return searcher._views[view].counts(searcher._number[memory_id])
