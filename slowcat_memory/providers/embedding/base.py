"""What an embedder is, how it is configured, and what is said about it.

Two embedders serve one vector space. The *query embedder* answers in a few milliseconds inside
the process that talks; the *document embedder* is slow, exact, and lives in a child process.
Both carry the same ``key``, and only vectors of one key may ever be compared.
"""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import numpy as np
from msgspec import Struct

Progress = Callable[[str], None]
"""Told one short line for people now and then; called from the thread that does the work."""


class Embedder(Protocol):
    """Turns texts into vectors.

    Attributes:
        name: The model, as a person would name it.
        key: Identifies the vector space, for example "all-MiniLM-L6-v2@1a2b3c4d5e6f/384".
        dim: Length of a vector.
    """

    @property
    def name(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def dim(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Embed documents.

        Args:
            texts: Any strings, of any length, also empty ones.

        Returns:
            Shape (len(texts), dim), float32, each row of unit length, in the order of ``texts``.

        Raises:
            ProviderError: The model or the endpoint failed.
        """
        ...


class QueryEmbedder(Embedder, Protocol):
    """An embedder that is fast enough to run while somebody waits; safe to use from any thread."""

    def encode_query(self, text: str) -> np.ndarray:
        """Embed what somebody asks, which some models prompt differently from documents.

        Args:
            text: Any string; of a long one both ends count.

        Returns:
            Shape (dim,), float32, unit length.

        Raises:
            ProviderError: The model or the endpoint failed.
        """
        ...


class DocumentEmbedder(Embedder, Protocol):
    """An embedder for bulk work while nobody speaks."""

    def encode(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> np.ndarray:
        """Embed documents in batches.

        Args:
            texts: As in ``Embedder.encode``.
            progress: Told after every batch how many texts are done. It may raise to stop the
                work between two batches; the embedder stays usable.

        Returns:
            As in ``Embedder.encode``.

        Raises:
            ProviderError: The model or the endpoint failed.
        """
        ...

    def close(self) -> None:
        """Give back its process or connections; the next ``encode`` takes new ones."""
        ...


class Encoded(Struct, frozen=True):
    """A query, embedded.

    Attributes:
        vector: Shape (dim,), float32, unit length.
        tokens: Shape (n, token_dim), float32, unit length: its words, each in its context;
            None from a model that tells no tokens.
    """

    vector: np.ndarray
    tokens: np.ndarray | None = None

    @classmethod
    def of(cls, value: "Encoded | np.ndarray") -> "Encoded":
        """Take a vector for a query whose tokens are not known.

        Args:
            value: A vector, or what is embedded already.
        """
        return value if isinstance(value, cls) else cls(value)  # type: ignore[arg-type]


class Embedded(Struct, frozen=True):
    """Documents, embedded.

    Attributes:
        vectors: Shape (n, dim), float32, unit length.
        tokens: For each document shape (its tokens, token_dim), int8 (see ``core.ranking.maxsim``).
    """

    vectors: np.ndarray
    tokens: list[np.ndarray]


class TokenEmbedder(Embedder, Protocol):
    """An embedder that also tells the vectors of single tokens, for ``core.ranking.maxsim``.

    Optional: whoever wants them asks ``token_key_of``. A query embedder has both methods, a
    document embedder the second.

    Attributes:
        token_key: Identifies the space of the token vectors; only those of one key may ever be
            compared. "" when the model at hand tells none.
        token_dim: Length of a token's vector.
    """

    @property
    def token_key(self) -> str: ...
    @property
    def token_dim(self) -> int: ...

    def encode_query_tokens(self, text: str) -> Encoded:
        """Embed what somebody asks, in one run of the model.

        Args:
            text: As in ``QueryEmbedder.encode_query``.

        Returns:
            Its vector, and its tokens without special ones and punctuation.

        Raises:
            ProviderError: The model failed.
        """
        ...

    def encode_tokens(self, texts: Sequence[str]) -> Embedded:
        """Embed documents.

        Args:
            texts: As in ``Embedder.encode``.

        Returns:
            Their vectors, and their tokens without special ones and punctuation.

        Raises:
            ProviderError: The model failed.
        """
        ...


def token_key_of(embedder: object) -> str:
    """Tell in which space an embedder's token vectors are.

    Returns:
        Its key, "" when it tells no tokens.
    """
    return getattr(embedder, "token_key", "")


class EmbedderOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which embedding model, and at what price.

    Attributes:
        kind: "local": a model on this machine. "endpoint": an OpenAI-compatible server; never
            used unless it is named here. "none": no vectors, lexical search alone.
        model: Name on the model hub, or a folder that sentence-transformers can load.
        endpoint_url: Base URL of the server, up to and including "/v1".
        endpoint_model: Name of the model on that server.
        endpoint_query_prompt: Put before queries by us, for example "search_query: ".
        endpoint_doc_prompt: Put before documents by us, for example "search_document: ".
        allow_remote: Let texts leave this machine for ``endpoint_url``.
        query_max_tokens: Tokens of a query that are embedded, its two ends when it is longer; one
            token costs about 0.1 ms on one core (all-MiniLM-L6-v2, int8), and 64 are what fits
            into a turn's deadline. On RealMem, whose users write long turns, 32 find 5 points
            (Hit@5 of sessions) fewer than 64, and 256 one more.
        doc_max_tokens: Tokens of one piece of a document; the model's own limit wins when it is
            lower. Longer documents are split, and their pieces' vectors averaged.
        token_vectors: Keep a vector for each word too, for ``core.ranking.maxsim``: about 4 kB of disk a
            memory (96 bytes a word; ``doc_max_tokens`` words at most).
        cache_dir: Where exported models are kept; "" for the user's cache folder. The environment
            variable SLOWCAT_CACHE_DIR wins over both.
        threads: Threads of the query embedder; a second one gains nothing on short texts.
        doc_threads: Threads of the document embedder's child process.
        batch_size: Texts per request to the child process or the endpoint.
        endpoint_timeout_s: Seconds that one request to the endpoint may take.
    """

    # Behaviour: changing these changes vectors, or where texts go.
    kind: Literal["local", "endpoint", "none"] = "local"
    model: str = "sentence-transformers/all-MiniLM-L6-v2"
    endpoint_url: str = ""
    endpoint_model: str = ""
    endpoint_query_prompt: str = ""
    endpoint_doc_prompt: str = ""
    allow_remote: bool = False
    query_max_tokens: int = 64
    doc_max_tokens: int = 256
    token_vectors: bool = True
    # Performance and place.
    cache_dir: str = ""
    threads: int = 1
    doc_threads: int = 1
    batch_size: int = 32
    endpoint_timeout_s: float = 10.0


State = Literal["ready", "needs export", "missing", "none", "endpoint"]


class EmbedderReport(Struct, frozen=True, kw_only=True):
    """What became of an embedder, for the start-up log and for ``doctor``.

    Attributes:
        state: "ready": usable. "endpoint": usable, through a server. "needs export": usable after
            ``export_model``. "missing": no such model or server. "none": not wanted.
        source: One sentence for people: which model, from where, or why not.
        hint: What to do next, "" when nothing.
        key: Key of the vector space, "" when unknown.
        dim: Length of a vector, 0 when unknown.
    """

    state: State
    source: str
    hint: str = ""
    key: str = ""
    dim: int = 0
