"""Whatever happened to a searcher, it answers like an index built from scratch."""

import tempfile
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.text.normalize import digest
from slowcat_memory.index import Document, IndexOptions, Searcher
from slowcat_memory.records import Key
from slowcat_memory.testing import HashEmbedder
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

EMBEDDER = HashEmbedder(16)
SAME = 0.3
MANY = replace(OPTIONS, candidates=1000, same=SAME)
QUERY = EMBEDDER.encode_query("w1 w3").vector
WORDS = [f"w{n}" for n in range(8)]
SKEWED = np.arange(8, 0, -1) / 36
text = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
STEPS = "add follow replace remove point point embed embed seal reload"
operation = st.tuples(st.sampled_from(STEPS.split()), text, st.integers(0, 30))


class Twins:
    """A searcher and its oracle, told the same things."""

    def __init__(self, root: Path, options: IndexOptions = OPTIONS) -> None:
        self.oracle, self.options = Oracle(), options
        self.searcher = Searcher(TOKENS, options, EMBEDDER.dim)
        self._root, self._sealed, self._count, self._told = root, None, 0, 0
        self._since: list[tuple[str, Any]] = []

    def do(self, what: str, text: str, place: int) -> None:
        ids = list(self.oracle.said)
        chosen = ids[place % len(ids)] if ids else ""
        if what == "seal":
            self._sealed, self._since = self._root / f"sealed{self._count}", []
            self._count += 1
            self.searcher = seal(self.oracle, self._sealed, self.options, EMBEDDER.dim)
        elif what == "reload":
            self.searcher = Searcher(TOKENS, self.options, EMBEDDER.dim, self._sealed)
            for call in self._since:
                self._call(*call)
        elif what in ("add", "follow") or not ids:
            follows = chosen if what == "follow" else (ids or [""])[-1]
            self._put(self._document(f"m{self._count}", text, follows))
            self._count += 1
        elif what == "remove":
            self.oracle.remove(chosen)
            self._tell("remove", chosen)
        elif what == "embed":
            self._embed(self.oracle.said[chosen])
        elif what == "replace":
            self._put(self._document(chosen, text, ""))
        else:  # other keys, or none, of what stays as it is
            self._told += 1
            self._put(replace(self.oracle.said[chosen], before="", keys=self._keys(text)))

    def _keys(self, text: str) -> tuple[Key, ...]:
        kinds = ("question", "asked", "note", "question")[self._told % 2 :]
        return tuple(
            Key(
                scope="",
                memory="",
                id=f"?k{n}",
                kind=kind,
                text=f"{word} w{n + 1}",
                weight=1.0 if len(text) % 2 else -0.5,
            )  # fmt: skip
            for n, (kind, word) in enumerate(zip(kinds, text.split(), strict=False))
        )

    def _document(self, memory_id: str, text: str, before: str) -> Document:
        self._told += 1
        return Document(
            id=memory_id,
            text=text,
            at=float(self._told),
            before=before,
            speaker=f"Speaker {self._told % 3}",
            about=(self._told * 10.0, self._told * 10.0 + 5) if self._told % 4 else None,
            keys=self._keys(text) if self._told % 3 else (),
        )

    def _put(self, document: Document) -> None:
        self.oracle.add(document)
        self._tell("add", document)

    def _embed(self, document: Document) -> None:
        keys = {f"{document.id}{key.id}": key.text for key in document.keys}
        for id_, words in {document.id: document.text, **keys}.items():
            self.oracle.embedded[id_] = EMBEDDER.encode_query(words).vector
            self._tell("put_vector", id_, self.oracle.embedded[id_])

    def _tell(self, what: str, *given: Any) -> None:
        self._since.append((what, *given))
        self._call(what, *given)

    def _call(self, what: str, *given: Any) -> None:
        assert getattr(self.searcher, what)(*given) or what != "remove"

    def near(self, document: Document, *, judged: bool) -> list[tuple[float, float]]:
        """Return weight and cosine of the keys that have a vector."""
        kept = [key for key in document.keys if (key.kind == "asked") == judged]
        vectors = [self.oracle.embedded.get(f"{document.id}{key.id}") for key in kept]
        pairs = zip(kept, vectors, strict=True)
        return [(key.weight, float(v @ QUERY)) for key, v in pairs if v is not None]


def check_keys(twins: Twins) -> None:
    """What is found by keys, and for which ones a vector is missing, is as it was told."""
    searcher, said, embedded = twins.searcher, twins.oracle.said, twins.oracle.embedded
    numbers = dict(sorted(searcher.table.items(), key=lambda item: item[1]))
    every, documents = np.array([*numbers.values()], np.int64), [said[id_] for id_ in numbers]
    best = [max((w * c for w, c in twins.near(d, judged=False)), default=np.nan) for d in documents]
    found = searcher.keys["keys"].best_cosines(QUERY, every)
    assert np.allclose(found, best, atol=2e-3, equal_nan=True)
    votes = [
        sum(w * max(0.0, c - SAME) / (1 - SAME) for w, c in twins.near(d, judged=True))
        for d in documents
    ]
    assert np.allclose(searcher.keys["asked"].sum_votes(QUERY, every, SAME), votes, atol=2e-3)
    owned = {d.id: {d.id, *(f"{d.id}{key.id}" for key in d.keys)} for d in documents}
    missing = [id_ for id_, own in owned.items() if not own <= embedded.keys()]
    assert searcher.incomplete() == missing == searcher.incomplete([*numbers, "unknown"])
    for number, document in zip(every.tolist(), documents, strict=True):
        names = [name for keys in searcher.keys.values() for name in keys.of_document(number)]
        assert sorted(names) == sorted(digest(key.id[1:]) for key in document.keys)
    assert sum(map(len, searcher.keys.values())) == sum(len(d.keys) for d in documents)
    if twins.options is MANY and any(id_ in embedded for id_ in numbers):
        proposed = set(searcher.candidates(searcher.lexical("nothing"), QUERY).ids)
        assert {d.id for d, near in zip(documents, best, strict=True) if near == near} <= proposed


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(operation, max_size=25), text, st.sampled_from([OPTIONS, MANY]))
def test_searcher_any_history_answers_like_an_index_built_from_scratch(history, query, options):
    with tempfile.TemporaryDirectory() as folder:
        twins = Twins(Path(folder), options)
        for step in history:
            twins.do(*step)
        check_equal(twins.searcher, twins.oracle, query, options)
        check_equal(twins.searcher, twins.oracle, f"{query} unheard w1 w2 w3", options)
        check_columns(twins.searcher, twins.oracle)
        check_keys(twins)


def test_searcher_keys_are_put_without_touching_what_is_sealed_of_others(tmp_path):
    twins = Twins(tmp_path, MANY)
    for n in range(3):
        twins.do("add", f"w{n} w{n + 1} w3", 0)
        twins.do("embed", "", n)
    twins.do("seal", "", 0)
    twins.do("point", "w4", 1)
    assert twins.searcher.tail_count == 0
    check_keys(twins)


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
