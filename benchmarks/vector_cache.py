"""Document vectors on disk, so that a benchmark which runs again embeds nothing twice.

A vector belongs to an embedder and a text: it is filed under a hash of both, and holds for as long as
the embedder's key does. Several benchmarks may use one folder at the same time.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb
import msgspec
import numpy as np
from msgspec import Struct

from slowcat_memory import providers
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers import (
    DocumentEmbedder,
    Embedded,
    EmbedderOptions,
    token_key_of,
)

ROOM = 2**36  # bytes that the file may grow to; what is not written takes no room
BATCH = 64  # texts embedded between two writes: what a run that is stopped has paid for is kept


class Kept(Struct, frozen=True, array_like=True):
    """What is kept of a text; a field that is added needs a default, and old files are still read.

    Attributes:
        vector: float32, little-endian.
        tokens: int8, one row after the other; "" where none were asked for.
    """

    vector: bytes
    tokens: bytes = b""


class CachedDocuments:
    """A document embedder that asks another one only for what it has never seen.

    Attributes:
        name: The other one's.
        key: The other one's: the vectors are the same.
        dim: The other one's.
        token_key: The other one's.
        token_dim: The other one's, 0 when it tells no tokens.
        embedded: How many texts the other one was asked for.
    """

    def __init__(self, embedder: DocumentEmbedder, folder: Path) -> None:
        """Open the folder, or make it.

        Args:
            embedder: Makes what is missing; closed by ``close``. One that starts its process with
                the first text never starts it when nothing is missing.
            folder: Where vectors are kept.
        """
        self.name, self.key, self.dim = embedder.name, embedder.key, embedder.dim
        self.token_key = token_key_of(embedder)
        self.token_dim = getattr(embedder, "token_dim", 0)
        self.embedded = 0
        self._embedder: Any = embedder
        folder.mkdir(parents=True, exist_ok=True)
        self._file = lmdb.open(str(folder / "vectors.lmdb"), map_size=ROOM, subdir=False)

    def encode(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> np.ndarray:
        """Embed documents, those that are new.

        Args:
            texts: Any strings.
            progress: Told how many texts are done.

        Returns:
            Shape (len(texts), dim), float32, each row of unit length.

        Raises:
            ProviderError: The embedder failed; what it finished is kept.
        """
        return self._vectors(self._kept(texts, "", progress))

    def encode_tokens(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> Embedded:
        """Embed documents and their tokens, those that are new.

        Args:
            texts: Any strings.
            progress: Told how many texts are done.

        Returns:
            As the other one makes them.

        Raises:
            ProviderError: The embedder failed; what it finished is kept.
        """
        kept = self._kept(texts, self.token_key, progress)
        rows = [np.frombuffer(one.tokens, np.int8).reshape(-1, self.token_dim) for one in kept]
        return Embedded(self._vectors(kept), rows)

    def _vectors(self, kept: Sequence[Kept]) -> np.ndarray:
        joined = b"".join(one.vector for one in kept)
        return np.frombuffer(joined, "<f4").reshape(len(kept), self.dim).copy()

    def _kept(
        self, texts: Sequence[str], token_key: str, progress: Callable[[int], None] | None
    ) -> list[Kept]:
        """Read what is kept, after making what is not."""
        keys = [self._filed(text, token_key) for text in texts]
        with self._file.begin() as reading:
            held = {key: raw for key in keys if (raw := reading.get(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in held}
        wanted = list(missing)
        for start in range(0, len(wanted), BATCH):
            part = wanted[start : start + BATCH]
            held |= self._make({key: missing[key] for key in part}, bool(token_key))
            if progress:
                progress(len(texts) - len(missing) + start + len(part))
        return [msgspec.msgpack.decode(held[key], type=Kept) for key in keys]

    def _make(self, texts: dict[bytes, str], tokens: bool) -> dict[bytes, bytes]:
        wanted = list(texts.values())
        made = (
            self._embedder.encode_tokens(wanted)
            if tokens
            else Embedded(self._embedder.encode(wanted), [])
        )
        self.embedded += len(texts)
        rows = [row.tobytes() for row in made.tokens] or [b""] * len(wanted)
        packed = {
            key: msgspec.msgpack.encode(Kept(vector.astype("<f4").tobytes(), row))
            for key, vector, row in zip(texts, made.vectors, rows, strict=True)
        }
        with self._file.begin(write=True) as writing:
            for key, raw in packed.items():
                writing.put(key, raw)
        return packed

    def _filed(self, text: str, token_key: str) -> bytes:
        words = f"{self.key}\0{token_key}\0{text}" if token_key else f"{self.key}\0{text}"
        return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=20).digest()

    def close(self) -> None:
        """Close the embedder and the file."""
        self._embedder.close()
        self._file.close()


@contextmanager
def documents(options: EmbedderOptions, cache: Path | None) -> Iterator[DocumentEmbedder]:
    """Open the document embedder for the length of a run.

    Args:
        options: Which model; one that has not been exported is exported first.
        cache: Where vectors are kept from run to run; None keeps none.

    Yields:
        The embedder.

    Raises:
        ProviderError: There is no such model.
    """
    if providers.open_query_embedder(options)[1].state == "needs export":
        providers.export_model(options)
    embedder, report = providers.open_document_embedder(options)
    if embedder is None:
        raise ProviderError(report.source, hint=report.hint)
    embedder = CachedDocuments(embedder, cache) if cache else embedder
    try:
        yield embedder
    finally:
        embedder.close()
