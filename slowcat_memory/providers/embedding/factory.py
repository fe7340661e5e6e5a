"""Opens the embedders that the configuration asks for, and says what became of them."""

from typing import TYPE_CHECKING

from slowcat_memory.errors import EndpointError
from slowcat_memory.providers.embedding.base import (
    DocumentEmbedder,
    EmbedderOptions,
    EmbedderReport,
    QueryEmbedder,
)
from slowcat_memory.providers.embedding.local import open_local, open_local_documents
from slowcat_memory.providers.loopback import host_and_port

if TYPE_CHECKING:
    from slowcat_memory.providers.embedding.endpoint import EndpointEmbedder

_NONE = EmbedderReport(state="none", source="no embedding is configured; search is lexical")


def open_query_embedder(options: EmbedderOptions) -> tuple[QueryEmbedder | None, EmbedderReport]:
    """Open the embedder for queries and drafts: about 0.1 s after the first import.

    Never imports torch, never downloads, and never falls back from one kind to another.

    Returns:
        The embedder, or None unless the report's state is "ready" or "endpoint"; and the report.

    Raises:
        ConfigError: The endpoint's URL or model is missing or malformed.
        EndpointRefusedError: The endpoint is not on this machine.
    """
    if options.kind == "local":
        return open_local(options)
    return _open_endpoint(options) if options.kind == "endpoint" else (None, _NONE)


def open_document_embedder(
    options: EmbedderOptions,
) -> tuple[DocumentEmbedder | None, EmbedderReport]:
    """Open the embedder for bulk work; its child process starts with the first text.

    Returns:
        The embedder, or None unless the report's state is "ready" or "endpoint"; and the report,
        whose key and dim are unknown while the model has not been exported.

    Raises:
        ConfigError: The endpoint's URL or model is missing or malformed.
        EndpointRefusedError: The endpoint is not on this machine.
    """
    if options.kind == "local":
        return open_local_documents(options)
    return _open_endpoint(options) if options.kind == "endpoint" else (None, _NONE)


def _open_endpoint(options: EmbedderOptions) -> "tuple[EndpointEmbedder | None, EmbedderReport]":
    from slowcat_memory.providers.embedding import endpoint  # costs half a second

    try:
        embedder = endpoint.EndpointEmbedder(options)
    except EndpointError as error:
        hint = error.hint or "Start the server; until then search is lexical"
        return None, EmbedderReport(state="missing", source=error.message, hint=hint)
    source = f"{options.endpoint_model} at {host_and_port(options.endpoint_url)}"
    return embedder, EmbedderReport(
        state="endpoint", source=source, key=embedder.key, dim=embedder.dim
    )
