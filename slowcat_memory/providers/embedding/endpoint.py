"""An embedder behind any OpenAI-compatible server; used only when it is configured.

``providers.llm.http`` restricts what is sent and where.
"""

from collections.abc import Sequence

import numpy as np
import openai

from slowcat_memory.errors import ConfigError, EndpointError
from slowcat_memory.providers.embedding import chunking
from slowcat_memory.providers.embedding.base import EmbedderOptions, EmbedderReport
from slowcat_memory.providers.llm.http import API_KEY, only_our_headers
from slowcat_memory.providers.loopback import check_loopback, host_and_port, is_elsewhere

CONNECT_S = 1.0
QUERY_CHARS = 512  # of a longer query, both ends are embedded
_CHARS_PER_TOKEN = 3  # a safe estimate for most languages; the tokenizer is unknown


class EndpointEmbedder:
    """Embeds queries and documents over HTTP. Safe to use from any thread."""

    def __init__(self, options: EmbedderOptions) -> None:
        """Connect, and embed one word to learn the dimension.

        Raises:
            ConfigError: The URL or the model's name is missing or malformed.
            EndpointRefusedError: The server is not on this machine.
            EndpointError: It failed, timed out, or returned an invalid reply.
        """
        if not options.endpoint_model:
            raise ConfigError("endpoint_model is empty", hint="Name the model on the server")
        check_loopback(options.endpoint_url, options.allow_remote)
        self._options = options
        self._server = host_and_port(options.endpoint_url)
        read_s = options.endpoint_timeout_s
        self._client = _connected(options.endpoint_url, read_s, min(CONNECT_S, read_s))
        self.name = options.endpoint_model
        self.dim = 0
        self.dim = self._request(["word"]).shape[1]
        self.key = f"endpoint:{self.name}@{self._server}/{self.dim}"

    @property
    def remote(self) -> bool:
        """True as well if the host name does not resolve."""
        return is_elsewhere(self._options.endpoint_url)

    def encode_query(self, text: str) -> np.ndarray:
        """Embed a query; see ``QueryEmbedder``.

        Raises:
            EndpointRefusedError: The server's name no longer resolves to this machine.
            EndpointError: It failed, timed out, or returned an invalid reply.
        """
        text = _non_empty(chunking.ends(text, QUERY_CHARS))
        return self._request([self._options.endpoint_query_prompt + text])[0]

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Embed documents, long ones piece by piece; see ``Embedder``.

        Raises:
            EndpointRefusedError: The server's name no longer resolves to this machine.
            EndpointError: It failed, timed out, or returned an invalid reply.
        """
        vectors = np.zeros((len(texts), self.dim), np.float32)
        size = self._options.batch_size
        for start in range(0, len(texts), size):
            batch = [self._pieces(text) for text in texts[start : start + size]]
            plan = chunking.ChunkPlan([p for pieces in batch for p in pieces], [*map(len, batch)])
            parts = [
                self._request(
                    [self._options.endpoint_doc_prompt + p for p in plan.pieces[i : i + size]]
                )
                for i in range(0, len(plan.pieces), size)
            ]
            vectors[start : start + len(batch)] = chunking.gather(plan, np.concatenate(parts))
        return vectors

    def _pieces(self, text: str) -> list[str]:
        text = _non_empty(text[: chunking.MAX_CHARS])
        step = _CHARS_PER_TOKEN
        spans = [(at, min(at + step, len(text))) for at in range(0, len(text), step)]
        return chunking.split(text, spans, self._options.doc_max_tokens)

    def _request(self, texts: list[str]) -> np.ndarray:
        check_loopback(self._options.endpoint_url, self._options.allow_remote)
        try:
            items = self._client.embeddings.create(
                model=self.name, input=texts, encoding_format="float"
            ).data
            items = sorted(items, key=lambda item: item.index)
            with np.errstate(over="ignore"):  # too large for float32 becomes infinite, see below
                vectors = np.array([item.embedding for item in items], np.float32)
        except openai.APITimeoutError as error:
            raise self._error("did not answer in time") from error
        except openai.APIStatusError as error:
            raise self._error(f"answered {error.status_code}") from error
        except openai.APIConnectionError as error:
            raise self._error("cannot be reached") from error
        except Exception as error:  # openai does not check what it parses
            raise self._error("sent something that is not a list of vectors") from error
        if [item.index for item in items] != list(range(len(texts))):
            raise self._error(f"sent {len(items)} vectors for {len(texts)} texts")
        if vectors.ndim != 2 or (self.dim and vectors.shape[1] != self.dim):
            raise self._error(f"sent vectors of length {vectors.shape[1:]}, not {self.dim}")
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            raise self._error("sent vectors that are zero or not finite")
        return chunking.unit(vectors)

    def _error(self, what: str) -> EndpointError:
        return EndpointError(f"the embedding server at {self._server} {what}")


def _connected(url: str, read_s: float, connect_s: float) -> openai.OpenAI:
    """Return a client for threads; nothing is sent yet."""
    http = openai.DefaultHttpxClient(
        trust_env=False,
        follow_redirects=False,
        timeout=openai.Timeout(read_s, connect=connect_s),
        event_hooks={"request": [only_our_headers]},
    )
    return openai.OpenAI(base_url=url, api_key=API_KEY, max_retries=0, http_client=http)


def open_endpoint(options: EmbedderOptions) -> tuple[EndpointEmbedder | None, EmbedderReport]:
    """See ``factory.open_query_embedder``."""
    try:
        embedder = EndpointEmbedder(options)
    except EndpointError as error:
        hint = error.hint or "Start the server; until then search is by words"
        return None, EmbedderReport(state="missing", source=error.message, hint=hint)
    source = f"{options.endpoint_model} at {host_and_port(options.endpoint_url)}"
    report = EmbedderReport(state="endpoint", source=source, key=embedder.key, dim=embedder.dim)
    return embedder, report


def _non_empty(text: str) -> str:
    text = chunking.sendable(text)
    return text if text.strip() else "."
