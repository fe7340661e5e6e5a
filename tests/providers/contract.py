"""What any embedder must do; run it against every one."""

import numpy as np

from slowcat_memory.providers import Embedder

ODD = (
    "",
    " \n\t ",
    "a\x00b",
    "\ud800 lone \udfff",
    "e\u0301\u200d\u202e\ufeff",
    "👩‍👩‍👧 漢字 ﷺ",
    "x" * 4000,
    "...",
)


def check_embedder(embedder: Embedder) -> None:
    """Run the contract of ``Embedder``."""
    check_identity(embedder)
    check_shape(embedder)
    check_odd_texts(embedder)
    check_order(embedder)
    check_huge_text(embedder)


def check_identity(embedder: Embedder) -> None:
    assert embedder.name
    assert embedder.dim > 0
    assert embedder.key.endswith(f"/{embedder.dim}")


def check_shape(embedder: Embedder) -> None:
    none = embedder.encode([])
    assert none.shape == (0, embedder.dim) and none.dtype == np.float32
    check_vectors(embedder, embedder.encode(["one", "two words"]), 2)


def check_odd_texts(embedder: Embedder) -> None:
    check_vectors(embedder, embedder.encode(ODD), len(ODD))
    for text in ODD:
        check_vectors(embedder, embedder.encode([text]), 1)


def check_order(embedder: Embedder) -> None:
    texts = ["the cat sleeps", "a much longer sentence about the price of bread " * 30, "no", "yes"]
    together = embedder.encode(texts)
    assert np.array_equal(together, embedder.encode(texts)), "not deterministic"
    assert np.allclose(together[::-1], embedder.encode(texts[::-1]), atol=1e-5)
    alone = np.concatenate([embedder.encode([text]) for text in texts])
    assert np.allclose(together, alone, atol=1e-5), "a vector depends on its neighbours"


def check_huge_text(embedder: Embedder) -> None:
    check_vectors(embedder, embedder.encode(["one million bytes. " * 55_000]), 1)


def check_vectors(embedder: Embedder, vectors: np.ndarray, count: int) -> None:
    assert vectors.shape == (count, embedder.dim)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
