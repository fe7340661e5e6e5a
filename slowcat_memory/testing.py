"""Doubles and contracts for tests, yours as well as ours: no model, no clock, no Pipecat.

Example::

    clock = FixedClock()
    engine = MemoryEngine(memory_config(tmp_path), embedder=HashEmbedder(), clock=clock)
"""

import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slowcat_memory.config import Config, build
from slowcat_memory.core.text import fingerprint
from slowcat_memory.providers import Embedder

if TYPE_CHECKING:
    from slowcat_memory.scripted import ScriptedServer

__all__ = ["FixedClock", "HashEmbedder", "ScriptedServer", "check_embedder", "memory_config"]

ODD_TEXTS = (
    "",
    " \n\t ",
    "...",
    "a\x00b",
    "\ud800 lone \udfff",
    "e\u0301\u200d\u202e\ufeff",
    "👩‍👩‍👧 漢字 ﷺ",
    "x" * 4000,
)


class FixedClock:
    """A clock that stands still until it is told to go on.

    Attributes:
        now: The time it shows, aware.
    """

    def __init__(self, now: datetime = datetime(2026, 5, 12, 12, tzinfo=UTC)) -> None:
        """Set the clock.

        Args:
            now: The time, aware.
        """
        self.now = now

    def __call__(self) -> datetime:
        """Read the clock.

        Returns:
            The time.
        """
        return self.now

    def advance(self, seconds: float) -> None:
        """Put the clock forward.

        Args:
            seconds: By how much.
        """
        self.now += timedelta(seconds=seconds)


class HashEmbedder:
    """Vectors from words by hashing: texts that share words are near, and nothing is learnt.

    Deterministic on every machine. It stands for the query embedder and for the document embedder.

    Attributes:
        name: What it is called.
        key: Its vector space; another ``name`` or ``dim`` is another space.
        dim: Length of a vector.
    """

    def __init__(self, dim: int = 64, name: str = "hashed-words") -> None:
        """Choose a vector space.

        Args:
            dim: Length of a vector.
            name: What it is called.
        """
        self.name, self.dim = name, dim
        self.key = f"{name}/{dim}"

    def encode(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> np.ndarray:
        """Embed texts.

        Args:
            texts: Any strings.
            progress: Told at the end how many texts are done.

        Returns:
            Shape (len(texts), dim), float32, each row of unit length.
        """
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in enumerate(texts):
            rows[row] = self.encode_query(text)
        if progress:
            progress(len(texts))
        return rows

    def encode_query(self, text: str) -> np.ndarray:
        """Embed one text.

        Args:
            text: Any string.

        Returns:
            Shape (dim,), float32, unit length.
        """
        row = np.zeros(self.dim, np.float32)
        for word in fingerprint(text).split():
            place, sign = self._place(word)
            row[place] += sign
        if not row.any():
            row[0] = 1.0
        return row / np.linalg.norm(row)

    def close(self) -> None:
        """Do nothing: there is nothing to give back."""

    def _place(self, word: str) -> tuple[int, float]:
        seed = f"{self.name}\0{word}".encode("utf-8", "replace")
        number = int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest())
        return number // 2 % self.dim, 1.0 if number % 2 else -1.0


def memory_config(path: Path | str, **sections: dict[str, Any]) -> Config:
    """Configure a store for a test: in UTC, words alone, and so patient that no machine is slow.

    Args:
        path: The store's folder.
        **sections: Knobs by section, as in config.toml; they win.

    Returns:
        The configuration.
    """
    values: dict[str, dict[str, Any]] = {
        "memory": {"path": str(path), "time_zone": "UTC"},
        "recall": {"deadline_ms": 10_000.0, "warn_ms": 10_000.0},
        "embedding": {"kind": "none"},
    }
    for section, knobs in sections.items():
        values[section] = {**values.get(section, {}), **knobs}
    return build(values)


def check_embedder(embedder: Embedder) -> None:
    """Run an embedder through what any embedder must do.

    Args:
        embedder: The embedder.

    Raises:
        AssertionError: It breaks the contract of ``Embedder``.
    """
    assert embedder.name and embedder.dim > 0, "it has no name, or no dimension"
    assert embedder.key.endswith(f"/{embedder.dim}"), "its key does not end with its dimension"
    _check_vectors(embedder, [])
    rows = _check_vectors(embedder, ODD_TEXTS)
    assert np.array_equal(rows, embedder.encode(ODD_TEXTS)), "it is not deterministic"
    alone = np.concatenate([_check_vectors(embedder, [text]) for text in ODD_TEXTS])
    assert np.allclose(rows, alone, atol=1e-5), "a vector depends on its neighbours"
    _check_vectors(embedder, ["one million bytes. " * 55_000])


def _check_vectors(embedder: Embedder, texts: Sequence[str]) -> np.ndarray:
    rows = embedder.encode(texts)
    assert rows.shape == (len(texts), embedder.dim), f"{rows.shape} for {len(texts)} texts"
    assert rows.dtype == np.float32, f"{rows.dtype} is not float32"
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4), "not of unit length"
    return rows


def __getattr__(name: str) -> Any:
    """Import the scripted server when it is asked for: it needs aiohttp."""
    if name == "ScriptedServer":
        from slowcat_memory.scripted import ScriptedServer

        return ScriptedServer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
