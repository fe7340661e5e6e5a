"""What a peer must do to be raced: open, add, search, close."""

from collections.abc import Iterable, Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from msgspec import Struct

from slowcat_memory.core.memory import chunk, indexed_text
from slowcat_memory.providers import QueryEmbedder
from slowcat_memory.records import Turn

K = 10  # memories a search is asked for
Id = TypeVar("Id", str, int)
RRF_K = 60  # the constant of reciprocal rank fusion (Cormack et al. 2009)
DEPTH = 50  # what each list proposes for fusion


class Item(Struct, frozen=True):
    """A turn to remember.

    Attributes:
        turn: What was said; its ``origin`` is what a search is to return.
        vector: Shape (dim,), float32, unit length, of ``text``.
    """

    turn: Turn
    vector: np.ndarray

    @property
    def id(self) -> str:
        """The turn's id."""
        return self.turn.origin

    @property
    def text(self) -> str:
        """What is indexed, by every peer: "speaker: words"."""
        return indexed_text(chunk(self.turn))


class Peer(Protocol):
    """A memory of one person. Opened by its module's ``open_peer(folder, embedder)``.

    Attributes:
        embeds: Whether ``search`` embeds the text itself when it is given no vector.
    """

    embeds: bool

    def add_all(self, items: Sequence[Item]) -> None:
        """Take many items, by the fastest way that the peer has; untimed."""
        ...

    def add(self, item: Item) -> None:
        """Take one item, as in a conversation: a search finds it afterwards."""
        ...

    def settle(self) -> None:
        """Finish what goes on in the background; untimed."""
        ...

    def search(self, text: str, vector: np.ndarray | None, k: int) -> list[str]:
        """Find.

        Args:
            text: What is asked.
            vector: Shape (dim,), its vector; None only for a peer that embeds.
            k: How many.

        Returns:
            Ids of items, best first.
        """
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class Entry(Struct, frozen=True):
    """A peer on the list.

    Attributes:
        module: Where its ``open_peer`` is.
        packages: What it needs installed; the versions of these are reported.
        note: How it is used here, in a line.
    """

    module: str
    packages: tuple[str, ...]
    note: str


PEERS: dict[str, Entry] = {
    "slowcat": Entry("slowcat", (), "BM25 over two views, vectors, fused; durable log"),
    "mem0 (faiss)": Entry(
        "mem0_faiss", ("mem0ai", "faiss-cpu"), "vectors only; added as they are, without an LLM"
    ),
    "chroma": Entry("chroma", ("chromadb",), "vectors only, HNSW with its defaults (ef_search 100)"),
    "lancedb": Entry("lance", ("lancedb",), "full text and vectors (HNSW-SQ from 5,000 rows), fused by RRF"),
    "tantivy + FAISS": Entry(
        "tantivy_faiss", ("tantivy", "faiss-cpu"), "BM25, hits not counted, and HNSW in memory, fused by RRF"
    ),
    "sqlite": Entry(
        "sqlite", ("apsw", "sqlite-vec"), "FTS5 and sqlite-vec (flat), mapped, fused by RRF"
    ),
}  # fmt: skip


def versions(name: str) -> dict[str, str]:
    """Tell which versions of a peer's packages are installed.

    Args:
        name: Of ``PEERS``.

    Returns:
        Version by package.

    Raises:
        ImportError: One is not installed.
    """
    return {package: metadata.version(package) for package in PEERS[name].packages}


def open_peer(name: str, folder: Path, embedder: QueryEmbedder) -> Peer:
    """Open a peer.

    Args:
        name: Of ``PEERS``.
        folder: Where it may keep what it keeps; empty, or not there yet.
        embedder: Ours, for a peer that wants one.

    Returns:
        The peer, empty.

    Raises:
        ImportError: It is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return import_module(f"benchmarks.peers.{PEERS[name].module}").open_peer(folder, embedder)


def fused(rankings: Iterable[Sequence[Id]], k: int) -> list[Id]:
    """Fuse rankings by reciprocal rank, as a peer's users are told to.

    Args:
        rankings: Ids, best first.
        k: How many to keep.

    Returns:
        Ids, best first.
    """
    scores: dict[Id, float] = {}
    for ranking in rankings:
        for rank, id_ in enumerate(ranking, 1):
            scores[id_] = scores.get(id_, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)[:k]
