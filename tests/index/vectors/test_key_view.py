import tempfile
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.text.normalize import digest
from slowcat_memory.index import Document, Pointer, Searcher
from slowcat_memory.testing import HashEmbedder
from tests.support.index_oracle import OPTIONS, TOKENS, build

EMBEDDER = HashEmbedder(16)
SAME = 0.3
KINDS = ("question", "note", "asked")
QUERY = EMBEDDER.encode_query("w1 w3")
MANY = replace(OPTIONS, candidates=1000, same=SAME)
word = st.integers(0, 5)
step = st.tuples(
    st.sampled_from(["say", "say", "point", "point", "rewrite", "remove", "embed", "seal"]),
    st.integers(0, 20),
    st.lists(st.tuples(st.sampled_from(KINDS), word), max_size=3),
)


def vector(text: str) -> np.ndarray:
    return EMBEDDER.encode_query(text)


class Told:
    """A searcher, and by hand what it was told: documents in order, and which ids have vectors."""

    def __init__(self, folder: Path) -> None:
        self.documents: dict[str, Document] = {}
        self.embedded: dict[str, np.ndarray] = {}
        self.searcher = Searcher(TOKENS, MANY, EMBEDDER.dim)
        self._folder, self._count = folder, 0

    def do(self, what: str, place: int, keys: list[tuple[str, int]]) -> None:
        ids, self._count = list(self.documents), self._count + 1
        pointers = tuple(
            Pointer(f"k{n}", kind, f"w{at} w{at + n}", 1.0 if at % 2 else -0.5)
            for n, (kind, at) in enumerate(keys)
        )
        if what == "say" or not ids:
            before = ids[-1] if ids else ""
            self._put(
                Document(id=f"m{self._count:03}", text="w1", at=0, before=before, keys=pointers)
            )
        elif what == "point":
            self._put(replace(self.documents[ids[place % len(ids)]], before="", keys=pointers))
        elif what == "rewrite":
            known = self.documents[ids[place % len(ids)]]
            self._put(replace(known, before="", text=f"w{self._count}"))
        elif what == "remove":
            gone = self.documents.pop(ids[place % len(ids)])
            self.searcher.remove(gone.id)
            self._forget(gone.id, *(f"{gone.id}?{key.name}" for key in gone.keys))
        elif what == "embed":
            self._embed(self.documents[ids[place % len(ids)]])
        else:
            self._seal()

    def _put(self, document: Document) -> None:
        known = self.documents.get(document.id)
        before = document.before or (known.before if known else "")
        kept = {key.name: key.text for key in document.keys}
        for key in known.keys if known else ():
            if kept.get(key.name) != key.text or view(key.kind) != view(
                next(k.kind for k in document.keys if k.name == key.name)
            ):
                self._forget(f"{document.id}?{key.name}")
        if known and known.text != document.text:
            self._forget(document.id)
        self.documents[document.id] = replace(document, before=before)
        self.searcher.add(document)

    def _forget(self, *ids: str) -> None:
        for id_ in ids:
            self.embedded.pop(id_, None)

    def _embed(self, document: Document) -> None:
        texts = {f"{document.id}?{key.name}": key.text for key in document.keys}
        for id_, text in {document.id: document.text, **texts}.items():
            self.embedded[id_] = vector(text)
            self.searcher.put_vector(id_, vector(text))

    def _seal(self) -> None:
        folder = self._folder / f"sealed{self._count}"
        folder.mkdir()
        build(list(self.documents.values()), self.embedded, EMBEDDER.dim, folder, TOKENS, MANY)
        self.searcher = Searcher(TOKENS, MANY, EMBEDDER.dim, folder)

    def best(self, document: Document) -> float:
        found = [
            key.weight * float(self.embedded[id_] @ QUERY)
            for key in document.keys
            if (id_ := f"{document.id}?{key.name}") in self.embedded and key.kind != "asked"
        ]
        return max(found, default=np.nan)

    def asked(self, document: Document) -> float:
        return sum(
            key.weight * max(0.0, float(self.embedded[id_] @ QUERY) - SAME) / (1 - SAME)
            for key in document.keys
            if (id_ := f"{document.id}?{key.name}") in self.embedded and key.kind == "asked"
        )


def view(kind: str) -> bool:
    return kind == "asked"


def check(told: Told) -> None:
    """What is found by keys, and for which ones a vector is missing, is as it was told."""
    searcher = told.searcher
    numbers = {id_: number for id_, number in searcher.table.items()}
    assert numbers.keys() == told.documents.keys()
    ids = sorted(numbers, key=lambda id_: numbers[id_])
    every = np.array([numbers[id_] for id_ in ids], np.int64)
    documents = [told.documents[id_] for id_ in ids]
    best = searcher.keys["keys"].best_cosines(QUERY, every)
    assert np.allclose(best, [told.best(d) for d in documents], atol=2e-3, equal_nan=True)
    asked = searcher.keys["asked"].sum_votes(QUERY, every, SAME)
    assert np.allclose(asked, [told.asked(d) for d in documents], atol=2e-3)
    missing = [
        d.id
        for d in documents
        if not {d.id, *(f"{d.id}?{key.name}" for key in d.keys)} <= told.embedded.keys()
    ]
    assert searcher.incomplete() == missing == searcher.incomplete([*ids, "unknown"])
    for number, document in zip(every.tolist(), documents, strict=True):
        names = [name for keys in searcher.keys.values() for name in keys.of_document(number)]
        assert sorted(names) == sorted(digest(key.name) for key in document.keys)
    assert sum(map(len, searcher.keys.values())) == sum(len(d.keys) for d in documents)
    proposed = set(searcher.candidates(searcher.lexical("nothing"), QUERY).ids)
    if any(id_ in told.embedded for id_ in ids):
        assert {d.id for d in documents if not np.isnan(told.best(d))} <= proposed


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(step, max_size=20))
def test_key_view_any_history_of_keys_is_like_what_was_told(history):
    with tempfile.TemporaryDirectory() as folder:
        told = Told(Path(folder))
        for one in history:
            told.do(*one)
        check(told)


def three(folder: Path) -> Told:
    told = Told(folder)
    for n in range(3):
        told.do("say", 0, [("question", n), ("asked", n + 1)])
        told.do("embed", n, [])
    told.do("seal", 0, [])
    return told


def test_key_view_keys_are_put_without_touching_what_is_sealed_of_others(tmp_path):
    told = three(tmp_path)
    told.do("point", 1, [("note", 4)])
    assert told.searcher.tail_count == 0
    check(told)


def test_key_view_a_judged_query_is_for_or_against():
    made = Searcher(TOKENS, MANY, EMBEDDER.dim)
    for id_, weight in (("1", 1.0), ("2", -1.0), ("3", 0.5)):
        made.add(Document(id=id_, text="x", at=0, keys=(Pointer("a", "asked", "w1 w3", weight),)))
        made.put_vector(id_, vector("x"))
        made.put_vector(f"{id_}?a", QUERY)
    found = made.candidates(made.lexical("x"), QUERY)
    assert np.allclose(found.raw_views["asked"], [1.0, -1.0, 0.5], atol=1e-5)
    assert "keys" not in found.raw_views
