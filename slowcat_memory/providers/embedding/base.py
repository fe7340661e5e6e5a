"""The embedder protocol, its options, and the report on an opened embedder.

Only vectors of one ``key`` may be compared.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, Protocol

import numpy as np
from msgspec import Meta, Struct


class Encoded(Struct, frozen=True):
    """An embedded query."""

    vector: np.ndarray  # shape (dim,), float32, unit length
    # contextual token vectors, shape (n, token_dim), float32, unit length, of all tokens but special
    # ones and punctuation; None from a model without token vectors
    tokens: np.ndarray | None = None


class Embedded(Struct, frozen=True):
    """Embedded documents."""

    vectors: np.ndarray  # shape (n, dim), float32, each row of unit length
    # for each document, shape (its tokens, token_dim), int8 (see ``core.ranking.token_codes``);
    # empty from a model without token vectors
    tokens: list[np.ndarray]


class Embedder(Protocol):
    """Turns texts into vectors, a query fast enough for a turn. Safe to use from any thread.

    One that sends texts to another machine has an attribute ``remote`` that is True; texts of
    local-only memories are not passed to it.

    Attributes:
        name: The model's readable name.
        key: Identifies the vector space, for example "all-MiniLM-L6-v2@1a2b3c4d5e6f/384".
        dim: Length of a vector.
        token_key: Identifies the space of the token vectors; only those of one key may be compared.
            "" when the model has none.
    """

    name: str
    key: str
    dim: int
    token_key: str

    def encode(self, texts: Sequence[str]) -> Embedded:
        """Embed documents of any length, empty ones included, in the order of ``texts``.

        Raises:
            ProviderError: The model or the endpoint failed.
        """

    def encode_query(self, text: str) -> Encoded:
        """Embed a query; some models prompt queries differently from documents.

        Of a long text, both ends are embedded.

        Raises:
            ProviderError: The model or the endpoint failed.
        """


def sends_texts_away(embedder: object) -> bool:
    """Return whether an embedder sends texts to another machine: its ``remote``, False without."""
    return bool(getattr(embedder, "remote", False))


class EmbedderOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which embedding model, and at what cost.

    Attributes:
        kind: "local": a model on this machine. "endpoint": an OpenAI-compatible server. "none": no
            vectors; search is by words alone.
        model: Name of a sentence-transformers model on the model hub, or a folder that holds one. Turn
            it for another language or more quality; every vector is then computed again.
        endpoint_url: Base URL of the server, up to and including "/v1".
        endpoint_model: Name of the model on that server.
        endpoint_query_prompt: Prefix of each query, for example "search_query: ".
        endpoint_doc_prompt: Prefix of each document, for example "search_document: ".
        allow_remote: Allow ``endpoint_url`` to be on another machine; stored texts go there.
        query_max_tokens: Tokens embedded of a query, 8 to 8192, its two ends when it is longer. A
            token costs about 0.1 ms on one core (all-MiniLM-L6-v2), and 64 fit into a turn's
            deadline. On RealMem, whose users write long turns, 32 find 5 points (Hit@5 of sessions)
            fewer than 64, and 256 one more.
        doc_max_tokens: Tokens of one piece of a document, 8 to 8192; the model's own limit wins when
            it is lower. Longer documents are split, and their pieces' vectors averaged.
        token_vectors: Also keep a vector for each distinct word, for ``core.ranking.token_codes``: about
            0.4 kB of disk a memory (24 bytes a word, at most ``doc_max_tokens`` words).
        cache_dir: Folder of exported models; "" for the user's cache folder. The environment
            variable SLOWCAT_CACHE_DIR overrides both.
        threads: Threads of the model, 1 to 64; a second one gains nothing on short texts.
        batch_size: Texts per request to the endpoint, 1 to 4096; lower it for a server that refuses
            large requests.
        endpoint_timeout_s: Seconds that the endpoint may be silent, above 0, at most 600.
    """

    # Behaviour: changing these changes vectors, or where texts go.
    kind: Literal["local", "endpoint", "none"] = "local"
    model: str = "sentence-transformers/all-MiniLM-L6-v2"
    endpoint_url: str = ""
    endpoint_model: str = ""
    endpoint_query_prompt: str = ""
    endpoint_doc_prompt: str = ""
    allow_remote: bool = False
    query_max_tokens: Annotated[int, Meta(ge=8, le=8192)] = 64
    doc_max_tokens: Annotated[int, Meta(ge=8, le=8192)] = 256
    token_vectors: bool = True
    # Performance and place.
    cache_dir: str = ""
    threads: Annotated[int, Meta(ge=1, le=64)] = 1
    batch_size: Annotated[int, Meta(ge=1, le=4096)] = 32
    endpoint_timeout_s: Annotated[float, Meta(gt=0, le=600)] = 10.0


class EmbedderReport(Struct, frozen=True, kw_only=True):
    """The state of an embedder, for the start-up log and for ``doctor``."""

    # "ready": usable. "endpoint": usable, through a server. "needs export": usable after
    # ``export_model``. "missing": no such model or server. "none": not configured
    state: Literal["ready", "needs export", "missing", "none", "endpoint"]
    source: str  # a sentence: which model, from where, or why it is not usable
    hint: str = ""  # what to do next, "" for nothing
    key: str = ""  # key of the vector space, "" when unknown
