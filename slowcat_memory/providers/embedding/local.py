"""The embedder of an exported model: int8 for queries, fp32 for documents.

Someone waits for the vector of a query and nobody for that of a document, whose model is loaded with
the first one. Every text is a batch of its own: on a CPU that is as fast as larger batches, needs no
padding, and makes a vector independent of its neighbours.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from slowcat_memory.core.ranking.token_codes import quantise
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.embedding import chunking, export_format
from slowcat_memory.providers.embedding import token_vectors as token_spaces
from slowcat_memory.providers.embedding.base import Embedded, Encoded
from slowcat_memory.providers.embedding.export_format import Meta
from slowcat_memory.providers.embedding.token_vectors import TokenSpace

if TYPE_CHECKING:
    from tokenizers import Tokenizer

QUERY_MAX_TOKENS = 64  # default of EmbedderOptions.query_max_tokens
_CHARS_PER_TOKEN = 16  # a generous bound, to cut very long queries before tokenising
_ERRORS_ONLY = 3  # onnxruntime's severity
NOT_FUSED = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion", "BiasGeluFusion"]
"""Fusions that onnxruntime must not do at load: unfused, layer norms take half the time, and biases cost
nothing inside the int8 products."""


class OnnxModel:
    """An ONNX file in ONNX Runtime, on the CPU. Safe to use from any thread."""

    def __init__(
        self, path: Path, threads: int = 1, tokens: str = export_format.TOKEN_OUTPUT
    ) -> None:
        """Load the file; onnxruntime raises errors of its own.

        Args:
            tokens: The output with a row for each token.
        """
        import onnxruntime as ort  # costs 0.2 s and 40 MB

        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = ort.InferenceSession(
            str(path),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=NOT_FUSED,
        )
        self._tokens = tokens
        self.outputs = [output.name for output in self._session.get_outputs()]

    def run(
        self, ids: list[int], with_tokens: bool = False
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Embed one row of token ids, at least one, special ones included.

        Returns:
            The text's vector, shape (dim,), and with ``with_tokens`` each token's, shape
            (len(ids), token_dim), else None; float32, unit length.
        """
        row = np.array([ids], np.int64)
        feed = dict(zip(export_format.INPUTS, (row, np.ones_like(row)), strict=True))
        names = [export_format.OUTPUT, *([self._tokens] if with_tokens else ())]
        vectors, *tokens = self._session.run(names, feed)
        return vectors[0], tokens[0][0] if tokens else None


class LocalEmbedder:
    """Embeds queries and documents. Safe to use from any thread."""

    def __init__(
        self,
        meta: Meta,
        model: OnnxModel,
        documents: Callable[[], OnnxModel],
        tokenizer: "Tokenizer",
        space: TokenSpace | None = None,
        *,
        query_max_tokens: int = QUERY_MAX_TOKENS,
        doc_max_tokens: int = 0,
    ) -> None:
        """Wrap loaded parts; see ``load``. ``documents`` loads the model in fp32."""
        self.name = meta.name
        self.key = meta.key
        self.dim = meta.dim
        self.token_key = meta.token_key
        self.token_dim = meta.token_dim
        self._meta = meta
        self._space = space
        self._query_lead = token_spaces.lead_of(tokenizer, meta.query_prompt)
        self._doc_lead = token_spaces.lead_of(tokenizer, meta.doc_prompt)
        self._queries, self._documents = (lambda: model), cache(documents)
        self._tokenizer = tokenizer
        self._query_max = min(query_max_tokens, meta.max_tokens)
        self._doc_max = min(doc_max_tokens or meta.max_tokens, meta.max_tokens)

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        threads: int = 1,
        query_max_tokens: int = QUERY_MAX_TOKENS,
        doc_max_tokens: int = 0,
    ) -> "LocalEmbedder":
        """Load an export (see ``export_format``) and run it once.

        Args:
            threads: Threads of a run; a second one gains nothing on short texts.
            query_max_tokens: Maximum tokens of a query; of a longer one, both ends are embedded.
            doc_max_tokens: Tokens of a piece of a document, 0 for the model's own limit.

        Raises:
            ProviderError: The export is incomplete or damaged.
        """
        meta = export_format.read_meta(folder)
        if meta is None:
            raise ProviderError(
                f"the exported model in {folder} is damaged", hint="Export it again"
            )
        try:
            tokenizer = open_tokenizer(folder / export_format.TOKENIZER)
            space = token_spaces.load(folder, meta)
            model = OnnxModel(folder / export_format.MODEL, threads)
        except Exception as error:  # both libraries raise bare Exceptions of their own
            raise ProviderError(
                f"the exported model in {folder} does not load ({type(error).__name__})",
                hint="Export it again",
            ) from error
        made = cls(
            meta,
            model,
            partial(OnnxModel, folder / export_format.EXACT, threads),
            tokenizer,
            space,
            query_max_tokens=query_max_tokens,
            doc_max_tokens=doc_max_tokens,
        )
        made.encode_query("warm")
        return made

    def encode_query(self, text: str) -> np.ndarray:
        """See ``QueryEmbedder``.

        Raises:
            ProviderError: The model failed.
        """
        return self._run(self._query_ids(text), self._queries)[0]

    def encode_query_tokens(self, text: str) -> Encoded:
        """See ``TokenEmbedder``.

        Raises:
            ProviderError: The model failed.
        """
        ids = self._query_ids(text)
        vector, tokens = self._run(ids, self._queries)
        if self._space is None or tokens is None:
            return Encoded(vector)
        return Encoded(vector, tokens[self._space.kept(np.array(ids), self._query_lead)])

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """See ``Embedder``; long documents are embedded piece by piece.

        Raises:
            ProviderError: The model failed.
        """
        return self.encode_tokens(texts).vectors

    def encode_tokens(self, texts: Sequence[str]) -> Embedded:
        """See ``TokenEmbedder``; long documents are embedded piece by piece.

        Raises:
            ProviderError: The model failed.
        """
        if not texts:
            return Embedded(np.zeros((0, self.dim), np.float32), [])
        prompt = self._meta.doc_prompt
        plan = chunking.plan(texts, self._tokenizer, prompt, self._doc_max)
        rows: list[np.ndarray] = []
        pieces: list[np.ndarray] = []
        for piece in plan.pieces:
            ids = self._ids(prompt + piece, self._doc_max)
            vector, tokens = self._run(ids, self._documents)
            rows.append(vector)
            if self._space is not None and tokens is not None:
                pieces.append(quantise(tokens[self._space.kept(np.array(ids), self._doc_lead)]))
        vectors = chunking.gather(plan, np.stack(rows))
        return Embedded(vectors, chunking.join(plan, pieces, self._doc_max) if pieces else [])

    def _query_ids(self, text: str) -> list[int]:
        text = _ends(text, self._query_max * _CHARS_PER_TOKEN)
        return self._ids(self._meta.query_prompt + chunking.sendable(text), self._query_max)

    def _ids(self, text: str, limit: int) -> list[int]:
        """Tokenise; of too many tokens keep both ends, including the special tokens."""
        ids = self._tokenizer.encode(text).ids or self._tokenizer.encode(".").ids
        if len(ids) <= limit:
            return ids
        tail = limit // 2
        return ids[: limit - tail] + ids[-tail:]

    def _run(
        self, ids: list[int], model: Callable[[], OnnxModel]
    ) -> tuple[np.ndarray, np.ndarray | None]:
        try:
            return model().run(ids, self._space is not None)
        except Exception as error:  # onnxruntime's errors share no base class of its own
            raise ProviderError(f"the model {self.name} failed ({type(error).__name__})") from error


def open_tokenizer(path: Path) -> "Tokenizer":
    """Open a tokenizer without padding or truncation.

    Raises:
        Exception: Of the library, whose errors share no base class: the file does not load.
    """
    from tokenizers import Tokenizer  # costs 14 MB, and up to 0.1 s to open

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _ends(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]} {text[-limit // 2 :]}"
