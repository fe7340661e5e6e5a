"""What all views of an index owe: change, removal, sealing and renumbering, against slow answers.

The three kinds of views (words, vectors, keys) have the same life: documents are put into a tail,
sealed into files, removed, and renumbered when a sealed one is promoted. ``Adapter`` gives each kind
the same verbs; the oracle scores every living document anew for every question.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from slowcat_memory.index import Document, Lexical, Pointer
from slowcat_memory.index.files.document import KEYS
from slowcat_memory.index.files.header import read_header
from slowcat_memory.index.lexical.windows import Windows
from slowcat_memory.index.vectors.key_view import KeyView
from slowcat_memory.index.vectors.vector_view import VECTORS, SealedVectors, VectorView
from slowcat_memory.testing import HashEmbedder
from tests.support.index_oracle import OPTIONS, TOKENS, Oracle, build, mean_length

EMBEDDER = HashEmbedder(32)
TEXTS = ("max is a dog", "moritz is a cat", "max likes bones", "the cat sleeps", "lena paints")
QUERY = "max cat"
SAME = dict(rtol=1e-4, atol=3e-3)  # half precision in files


class Adapter(ABC):
    """One kind of view under common verbs, and what it must answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def open(self, texts: list[str]) -> None:
        """Open a view over sealed documents 0 to n - 1."""

    @abstractmethod
    def put(self, number: int, text: str) -> None:
        """Put a document whose number is new."""

    @abstractmethod
    def remove(self, number: int) -> None:
        """Remove a document, wherever it is."""

    @abstractmethod
    def promote(self, old: int, new: int, text: str) -> None:
        """Bring a sealed document into the tail."""

    @abstractmethod
    def scores(self, numbers: np.ndarray) -> np.ndarray:
        """Score documents for ``QUERY``."""

    @abstractmethod
    def best(self, k: int) -> set[int]:
        """Propose documents for ``QUERY``."""

    @abstractmethod
    def expected(self, living: dict[int, str]) -> dict[int, float]:
        """Score living documents slowly."""

    def sealed(self, texts: list[str]) -> Path | None:
        """Write the sealed documents of this view."""
        if not texts:
            return None
        folder = self.folder / "sealed"
        folder.mkdir()
        documents = [
            Document(id=f"m{n}", text=text, at=0.0, keys=(Pointer("q", "question", text),))
            for n, text in enumerate(texts)
        ]
        vectors = {d.id: EMBEDDER.encode_query(d.text) for d in documents}
        vectors |= {f"{d.id}?q": EMBEDDER.encode_query(d.text) for d in documents}
        build(documents, vectors, EMBEDDER.dim, folder, TOKENS, OPTIONS)
        return folder


class Words(Adapter):
    """Words; the window of a document without neighbours is the document."""

    def open(self, texts: list[str]) -> None:
        folder = self.sealed(texts)
        header = read_header(folder, OPTIONS) if folder else None
        self.views = Windows(TOKENS, OPTIONS, folder, header)
        self.texts, self.base = texts, len(texts)

    def put(self, number: int, text: str) -> None:
        self.views.add(number, self.views.count(Document(id=str(number), text=text, at=0.0)))

    def remove(self, number: int) -> None:
        if number < self.base:
            self.views.tombstone(number)
        else:
            self.views.view.remove(number)
        self.views.forward.remove(number)

    def promote(self, old: int, new: int, text: str) -> None:
        terms = self.views.forward.own(old)
        assert not self.views.tombstone(old)
        self.views.add(new, terms)
        assert self.views.view.counts(new) == Counter(2 * TOKENS(text))

    def scores(self, numbers: np.ndarray) -> np.ndarray:
        tokens = TOKENS(QUERY)
        rows = self.views.forward.vocabulary.rows(tokens)
        return self.views.view.search(tokens, rows)[0][numbers]

    def best(self, k: int) -> set[int]:
        return set(Lexical(self.scores(np.s_[:]), 0.0, {}).best(k).tolist())

    def expected(self, living: dict[int, str]) -> dict[int, float]:
        oracle = Oracle()
        for number, text in living.items():
            oracle.add(Document(id=str(number), text=text, at=0.0))
        sealed = [2 * TOKENS(text) for text in self.texts]
        oracle.sealed_mean = mean_length(sealed)
        ids = {str(number) for number in living if number < len(sealed)}
        scores = oracle.scores(QUERY, OPTIONS, ids)
        return {int(id_): score for id_, score in scores.items()}


def cosines(living: dict[int, str]) -> dict[int, float]:
    query = EMBEDDER.encode_query(QUERY)
    return {number: float(EMBEDDER.encode_query(text) @ query) for number, text in living.items()}


class Vectors(Adapter):
    """The vectors of documents."""

    def open(self, texts: list[str]) -> None:
        folder = self.sealed(texts)
        self.view = VectorView(EMBEDDER.dim, SealedVectors(folder) if folder else None)

    def put(self, number: int, text: str) -> None:
        self.view.put(number, EMBEDDER.encode_query(text))

    def remove(self, number: int) -> None:
        assert self.view.remove(number) is not None and number not in self.view

    def promote(self, old: int, new: int, text: str) -> None:
        self.view.renumber(old, new)
        assert old not in self.view and new in self.view

    def scores(self, numbers: np.ndarray) -> np.ndarray:
        return self.view.cosines(EMBEDDER.encode_query(QUERY), numbers)

    def best(self, k: int) -> set[int]:
        return set(self.view.nearest(EMBEDDER.encode_query(QUERY), k).tolist())

    def expected(self, living: dict[int, str]) -> dict[int, float]:
        return cosines(living)


class LateVectors(Vectors):
    """The same, with sealed vectors that are attached after all changes."""

    def open(self, texts: list[str]) -> None:
        self.folder_of_sealed = self.sealed(texts)
        self.view = VectorView(EMBEDDER.dim)

    def remove(self, number: int) -> None:
        self.view.remove(number)

    def promote(self, old: int, new: int, text: str) -> None:
        self.view.renumber(old, new)

    def _attach(self) -> None:
        if self.folder_of_sealed is not None:
            self.view.attach(SealedVectors(self.folder_of_sealed))
            self.folder_of_sealed = None

    def scores(self, numbers: np.ndarray) -> np.ndarray:
        self._attach()
        return super().scores(numbers)

    def best(self, k: int) -> set[int]:
        self._attach()
        return super().best(k)


class Keys(Adapter):
    """The keys of documents, one each."""

    def open(self, texts: list[str]) -> None:
        folder = self.sealed(texts)
        self.view = KeyView(KEYS, EMBEDDER.dim, folder)
        if folder is not None:
            self.view.dense.attach(SealedVectors(folder, f"{VECTORS}.{KEYS}"))

    def put(self, number: int, text: str) -> None:
        self.view.put(number, [Pointer("q", "question", text)])
        assert self.view.lacks_vector(number)
        self.view.dense.put(self.view.find(number, "q"), EMBEDDER.encode_query(text))
        assert not self.view.lacks_vector(number)

    def remove(self, number: int) -> None:
        self.view.remove(number)
        assert not self.view.of_document(number)

    def promote(self, old: int, new: int, text: str) -> None:
        self.view.renumber(old, new)
        assert not self.view.of_document(old) and list(self.view.of_document(new)) == ["q"]

    def scores(self, numbers: np.ndarray) -> np.ndarray:
        return self.view.best_cosines(EMBEDDER.encode_query(QUERY), numbers)

    def best(self, k: int) -> set[int]:
        return set(self.view.nearest(EMBEDDER.encode_query(QUERY), k).tolist())

    def expected(self, living: dict[int, str]) -> dict[int, float]:
        return cosines(living)


def check(view: Adapter, living: dict[int, str]) -> None:
    """Scores and proposals are those of the living documents, and of no others."""
    expected = view.expected(living)
    numbers = np.array(sorted(living), np.int64)
    wanted = [expected[number] for number in numbers.tolist()]
    assert np.allclose(view.scores(numbers), wanted, **SAME)  # type: ignore[arg-type]
    assert view.best(99) >= {number for number, score in expected.items() if score > 0.01}
    assert view.best(99) <= living.keys()


@pytest.fixture(params=[Words, Vectors, LateVectors, Keys])
def view(request: pytest.FixtureRequest, tmp_path: Path) -> Adapter:
    make: Callable[[Path], Adapter] = request.param
    return make(tmp_path)


@pytest.mark.parametrize("sealed", [0, 2, len(TEXTS)])
def test_view_contract_view_answers_from_both_generations_as_from_one(
    view: Adapter, sealed: int
) -> None:
    view.open(list(TEXTS[:sealed]))
    for number in range(sealed, len(TEXTS)):
        view.put(number, TEXTS[number])
    check(view, dict(enumerate(TEXTS)))


@pytest.mark.parametrize("gone", [0, 1, 3])
def test_view_contract_view_remove_takes_a_document_out(view: Adapter, gone: int) -> None:
    view.open(list(TEXTS[:2]))
    for number in range(2, len(TEXTS)):
        view.put(number, TEXTS[number])
    view.remove(gone)
    check(view, {n: text for n, text in enumerate(TEXTS) if n != gone})


def test_view_contract_view_promotion_moves_a_sealed_document_to_the_tail(view: Adapter) -> None:
    view.open(list(TEXTS))
    view.promote(0, len(TEXTS), TEXTS[0])
    living = dict(enumerate(TEXTS)) | {len(TEXTS): TEXTS[0]}
    del living[0]
    check(view, living)


def test_view_contract_view_replacement_after_a_promotion_is_found_by_its_new_text(
    view: Adapter,
) -> None:
    view.open(list(TEXTS))
    view.promote(1, 5, TEXTS[1])
    view.remove(5)
    view.put(6, "a cat named max")
    living = dict(enumerate(TEXTS)) | {6: "a cat named max"}
    del living[1]
    check(view, living)


def test_view_contract_view_without_documents_answers_with_nothing(view: Adapter) -> None:
    view.open([])
    assert view.best(9) == set() and len(view.scores(np.zeros(0, np.int64))) == 0
    view.put(0, TEXTS[0])
    view.remove(0)
    assert view.best(9) == set()
