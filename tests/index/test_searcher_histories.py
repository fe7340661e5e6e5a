import tempfile
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index import Document, Pointer, Searcher
from tests.support.index_oracle import (
    OPTIONS,
    TOKENS,
    Oracle,
    check_columns,
    check_equal,
    scores_of,
    seal,
    sealed_ids,
)

WORDS = [f"w{n}" for n in range(8)]
SKEWED = np.arange(8, 0, -1) / 36
text = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
place = st.integers(0, 30)
operation = st.one_of(
    st.tuples(st.just("add"), text, place),
    st.tuples(st.just("follow"), text, place),
    st.tuples(st.just("replace"), text, place),
    st.tuples(st.just("remove"), st.just(""), place),
    st.tuples(st.just("point"), text, place),
    st.tuples(st.just("seal"), st.just(""), st.just(0)),
    st.tuples(st.just("reload"), st.just(""), st.just(0)),
)


class Twins:
    """A searcher and its oracle, told the same things."""

    def __init__(self, root: Path) -> None:
        self.oracle, self.searcher = Oracle(), Searcher(TOKENS, OPTIONS)
        self._root, self._sealed, self._count, self._told = root, None, 0, 0
        self._since: list[tuple[str, Document]] = []

    def do(self, what: str, text: str, place: int) -> None:
        ids = list(self.oracle.said)
        if what == "seal":
            self._sealed, self._since = self._root / f"sealed{self._count}", []
            self._count += 1
            self.searcher = seal(self.oracle, self._sealed)
        elif what == "reload":
            self.searcher = Searcher(TOKENS, OPTIONS, 0, self._sealed)
            for done, document in self._since:
                self._tell(done, document)
        elif what == "point" and ids:
            self._point(ids[place % len(ids)], text)
        elif what in ("add", "follow", "point") or not ids:
            follows = ids[place % len(ids)] if what == "follow" and ids else (ids or [""])[-1]
            self._change("add", f"m{self._count}", text, follows)
            self._count += 1
        else:
            self._change(what, ids[place % len(ids)], text, "")

    def _point(self, memory_id: str, text: str) -> None:
        """Give a memory other keys, and leave it as it is."""
        known = next(one for one in self.oracle.documents() if one.id == memory_id)
        self._told += 1
        self._make("add", replace(known, keys=self._keys(text)))

    def _keys(self, text: str) -> tuple[Pointer, ...]:
        kinds = ("question", "asked", "note")
        held = zip(kinds, text.split(), strict=False)
        return tuple(Pointer(f"k{n}", kind, word) for n, (kind, word) in enumerate(held))

    def _change(self, what: str, memory_id: str, text: str, before: str) -> None:
        self._told += 1
        document = Document(
            id=memory_id,
            text=text,
            at=float(self._told),
            before=before,
            speaker=f"Speaker {self._told % 3}",
            about=(self._told * 10.0, self._told * 10.0 + 5) if self._told % 4 else None,
            keys=self._keys(text) if self._told % 3 else (),
        )
        self._make(what, document)

    def _make(self, what: str, document: Document) -> None:
        self._since.append((what, document))
        self._tell(what, document)
        if what == "remove":
            self.oracle.remove(document.id)
        else:
            self.oracle.add(document)

    def _tell(self, what: str, document: Document) -> None:
        if what == "remove":
            assert self.searcher.remove(document.id)
        else:
            self.searcher.add(document)


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    return Twins(tmp_path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(operation, max_size=25), text)
def test_searcher_any_history_scores_like_an_index_built_from_scratch(history, query):
    with tempfile.TemporaryDirectory() as folder:
        twins = Twins(Path(folder))
        for step in history:
            twins.do(*step)
        check_equal(twins.searcher, twins.oracle, query)
        check_equal(twins.searcher, twins.oracle, f"{query} unheard w1 w2 w3")
        check_columns(twins.searcher, twins.oracle)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=9), min_size=1, max_size=20), text)
def test_searcher_without_a_tail_the_scores_are_those_of_bm25s(corpus, query):
    oracle = Oracle()
    for n, tokens in enumerate(corpus):
        oracle.add(Document(id=f"m{n}", text=" ".join(tokens), at=0.0, before=f"m{n - 1}"))
    with tempfile.TemporaryDirectory() as folder:
        found = scores_of(seal(oracle, Path(folder) / "sealed"), query)
    asked = list(dict.fromkeys(TOKENS(query)))
    documents = oracle.corpus()
    theirs = bm25s_scores(list(documents.values()), asked)
    assert np.allclose([found[id_] for id_ in documents], theirs, rtol=0, atol=1e-5)


def bm25s_scores(corpus: list[list[str]], query: list[str]) -> np.ndarray:
    if not any(corpus):
        return np.zeros(len(corpus))
    theirs = bm25s.BM25(method="lucene", k1=OPTIONS.k1, b=OPTIONS.b)
    theirs.index(corpus, show_progress=False)
    known = [token for token in query if token in theirs.vocab_dict]
    return theirs.get_scores(known) if known else np.zeros(len(corpus))


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(operation, min_size=5, max_size=25), st.integers(1, 9), text)
def test_searcher_drift_of_the_mean_length_is_bounded(history, sealed_after, query):
    with tempfile.TemporaryDirectory() as folder:
        twins = Twins(Path(folder))
        for step in history[:sealed_after]:
            twins.do(*step)
        twins.do("seal", "", 0)
        for step in history[sealed_after:]:
            twins.do(*step)
        found, sealed = scores_of(twins.searcher, query), sealed_ids(twins.searcher)
        exact, (least, most) = twins.oracle.scores(query), twins.oracle.drift()
        for id_, score in found.items():
            low, high = (least, most) if id_ in sealed else (1.0, 1.0)
            assert low * exact[id_] - 1e-4 <= score <= high * exact[id_] + 1e-4, id_


def test_searcher_other_parameters_of_scores_need_another_index(tmp_path):
    oracle = Oracle()
    oracle.add(Document(id="m", text="w1", at=0.0))
    seal(oracle, tmp_path / "sealed")
    for other in (replace(OPTIONS, k1=1.5), replace(OPTIONS, b=0.75)):
        with pytest.raises(IndexDamagedError):
            Searcher(TOKENS, other, 0, tmp_path / "sealed")


def test_searcher_many_documents_are_proposed_and_scored_like_the_oracle(tmp_path):
    chance, oracle = np.random.default_rng(3), Oracle()
    for n in range(400):
        words = " ".join(chance.choice(WORDS, chance.integers(0, 12), p=SKEWED))
        oracle.add(Document(id=f"m{n}", text=words, at=0.0, before=f"m{n - 1}"))
    options = replace(OPTIONS, candidates=10)
    seal(oracle, tmp_path / "sealed", options=options)
    made = Searcher(TOKENS, options, 0, tmp_path / "sealed")
    for n in range(0, 60, 7):
        made.remove(f"m{n}")
        oracle.remove(f"m{n}")
    for size in range(9):
        query = " ".join(chance.choice(WORDS, size, replace=False))
        check_equal(made, oracle, query, options)
