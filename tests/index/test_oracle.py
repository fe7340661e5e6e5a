import tempfile
from collections.abc import Iterator
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import OPTIONS, TOKENS, Oracle, bm25, check_equal, seal

from slowcat_memory.index import Document, Searcher
from slowcat_memory.index.lexical import LexicalView, SealedPostings

WORDS = [f"w{n}" for n in range(8)]
text = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
place = st.integers(0, 30)
operation = st.one_of(
    st.tuples(st.just("add"), text, place),
    st.tuples(st.just("follow"), text, place),
    st.tuples(st.just("replace"), text, place),
    st.tuples(st.just("remove"), st.just(""), place),
    st.tuples(st.just("seal"), st.just(""), st.just(0)),
    st.tuples(st.just("reload"), st.just(""), st.just(0)),
)


class Twins:
    """A searcher and its oracle, told the same things."""

    def __init__(self, root: Path) -> None:
        self.oracle, self.searcher = Oracle(), Searcher(TOKENS, OPTIONS)
        self._root, self._sealed, self._count = root, None, 0
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
        elif what in ("add", "follow") or not ids:
            follows = ids[place % len(ids)] if what == "follow" and ids else (ids or [""])[-1]
            self._change("add", f"m{self._count}", text, follows)
            self._count += 1
        else:
            self._change(what, ids[place % len(ids)], text, "")

    def _change(self, what: str, memory_id: str, text: str, before: str) -> None:
        document = Document(id=memory_id, text=text, at=0.0, before=before)
        self._since.append((what, document))
        self._tell(what, document)
        if what == "remove":
            self.oracle.remove(memory_id)
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


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(operation, max_size=25), text)
def test_any_history_scores_like_an_index_built_from_scratch(history: list, query: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        twins = Twins(Path(folder))
        for step in history:
            twins.do(*step)
        check_equal(twins.searcher, twins.oracle, query)
        check_equal(twins.searcher, twins.oracle, f"{query} unheard w1 w2 w3")


def told(twins: Twins, seed: int, steps: int = 120) -> Iterator[None]:
    chance = np.random.default_rng(seed)
    kinds = ["add"] * 8 + ["follow", "replace", "remove", "remove"]
    for step in range(steps):
        words = " ".join(chance.choice(WORDS, chance.integers(0, 12)))
        twins.do(str(chance.choice(kinds)), words, int(chance.integers(0, 99)))
        if step % 40 == 39:
            twins.do(str(chance.choice(["seal", "reload"])), "", 0)
        yield


@pytest.mark.parametrize("seed", range(4))
def test_a_long_history_is_equal_at_every_tenth_step(twins: Twins, seed: int) -> None:
    for step, _ in enumerate(told(twins, seed)):
        if step % 10 == 0:
            check_equal(twins.searcher, twins.oracle, "w0 w3 w5 w5")


def two_parts(twins: Twins) -> None:
    """A sealed part and a tail in which words are differently rare, and texts differently long."""
    for n in range(12):
        twins.do("add", "w0 w1" if n % 3 else "w2 w2 w2 w3 w4 w5", 0)
    twins.do("seal", "", 0)
    for n in range(6):
        twins.do("add", "w1 w2" if n % 2 else "w0 w3 w3 w3 w4 w6 w7 w7", 0)


def test_the_check_passes_on_two_parts(twins: Twins) -> None:
    two_parts(twins)
    check_equal(twins.searcher, twins.oracle, "w0 w2 w3")


def test_the_check_catches_document_frequencies_of_one_part(
    twins: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SealedPostings, "frequency", lambda self, term: 0)
    two_parts(twins)
    with pytest.raises(AssertionError, match="is not"):
        check_equal(twins.searcher, twins.oracle, "w0 w2 w3")


def test_the_check_catches_an_average_length_of_one_part(
    twins: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = LexicalView.scores

    def of_the_tail(self: LexicalView, terms: list[str], *, sealed: bool = True) -> np.ndarray:
        lengths = [self._lengths[number] for number in self._tail.documents]
        whole = self._living, self._total
        if lengths:
            self._living, self._total = len(lengths), sum(lengths)
        try:
            return scores(self, terms, sealed=sealed)
        finally:
            self._living, self._total = whole

    two_parts(twins)
    check_equal(twins.searcher, twins.oracle, "w0 w2 w3")
    monkeypatch.setattr(LexicalView, "scores", of_the_tail)
    with pytest.raises(AssertionError, match="is not"):
        check_equal(twins.searcher, twins.oracle, "w0 w2 w3")


def test_the_check_catches_dead_words_that_still_count(
    twins: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SealedPostings, "bury", lambda self, counts: None)
    two_parts(twins)
    twins.do("remove", "", 1)
    with pytest.raises(AssertionError, match="is not"):
        check_equal(twins.searcher, twins.oracle, "w0 w2 w3")


def test_the_formula_is_that_of_bm25s(tmp_path: Path) -> None:
    chance = np.random.default_rng(7)
    texts = [" ".join(chance.choice(WORDS, chance.integers(1, 20))) for _ in range(60)]
    corpus, query = [TOKENS(text) for text in texts], ["w1", "w4", "w7"]
    theirs = bm25s.BM25(method="lucene", k1=OPTIONS.k1, b=OPTIONS.b)
    theirs.index(corpus, show_progress=False)
    expected = theirs.get_scores(query)
    assert np.allclose(expected, bm25(corpus, query, OPTIONS.k1, OPTIONS.b), atol=1e-4)
    oracle = Oracle()
    for n, text in enumerate(texts):
        oracle.add(Document(id=str(n), text=text, at=0.0))
    sealed = seal(oracle, tmp_path / "sealed")
    assert np.allclose(sealed.lexical(" ".join(query)).turn, expected, atol=1e-4)


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (1.5, 0.75), (0.0, 0.4), (1.2, 1.0), (1.2, 0.0)])
def test_stored_frequencies_are_exact(tmp_path: Path, k1: float, b: float) -> None:
    said = [
        {"often": times, "now": 1 + times % 3, **({"then": 2} if times % 2 else {})}
        for times in (1, 2, 3, 50, 299, 1000, 9000)
    ]
    said.insert(3, {})
    SealedPostings.build(said, tmp_path, k1, b)
    sealed = SealedPostings.load(tmp_path)
    for number, counts in enumerate(said):
        assert dict(sealed.counts(number)) == counts
