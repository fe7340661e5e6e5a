"""The embedder of an exported model: int8 for queries, fp32 for documents.

Someone waits for the vector of a query and nobody for that of a document, whose model is loaded with
the first one. Every text is a batch of its own: on a CPU that is as fast as larger batches, needs no
padding, and makes a vector independent of its neighbours.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from slowcat_memory.core.ranking.token_codes import quantise
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.embedding import chunking, model_files
from slowcat_memory.providers.embedding.base import Embedded, EmbedderOptions, Encoded

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_CHARS_PER_TOKEN = 16  # a generous bound, to cut very long queries before tokenising
_ERRORS_ONLY = 3  # onnxruntime's severity
NOT_FUSED = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion", "BiasGeluFusion"]
"""Fusions that onnxruntime must not do at load: unfused, layer norms take half the time, and biases cost
nothing inside the int8 products."""


class OnnxModel:
    """An ONNX file in ONNX Runtime, on the CPU. Safe to use from any thread."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        """Load the file; onnxruntime raises errors of its own."""
        import onnxruntime as ort  # costs 0.2 s and 40 MB

        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = ort.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=NOT_FUSED
        )
        # Of a text, and of its tokens if there is a second.
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
        feed = dict(zip(model_files.INPUTS, (row, np.ones_like(row)), strict=True))
        vectors, *tokens = self._session.run(self.outputs[: 1 + with_tokens], feed)
        return vectors[0], tokens[0][0] if tokens else None


class TokenSpace(Struct, frozen=True):
    """The space of a model's token vectors.

    The last hidden states are as long as the vectors, but a quarter of the directions hold most of
    the difference between words. The projection is fitted at export, and its content is part of
    the key: token vectors of two projections are never compared.
    """

    key: str  # identifies it, for example "all-MiniLM-L6-v2@1a2b3c4d5e6f/384~9f8e7d6c5b4a/96"
    projection: np.ndarray  # shape (hidden, token_dim), float32, orthonormal columns
    # shape (vocabulary,), bool: tokens with a letter or a digit; special tokens and punctuation
    # match any token; without them recall is a point better and rows are a fifth smaller
    counts: np.ndarray

    @classmethod
    def of(cls, model_key: str, projection: np.ndarray, counts: np.ndarray) -> "TokenSpace":
        digest = hashlib.sha256(projection.tobytes() + counts.tobytes()).hexdigest()
        key = f"{model_key}~{digest[: model_files.HASH_DIGITS]}/{projection.shape[1]}"
        return cls(key, projection, counts)

    @classmethod
    def read(cls, folder: Path, model_key: str) -> "TokenSpace | None":
        """Read the space that a folder holds, whatever its export says; None without one."""
        try:
            with np.load(folder / model_files.TOKENS, allow_pickle=False) as file:
                return cls.of(model_key, file["projection"], file["counts"])
        except Exception:  # whatever numpy and zipfile raise on a foreign file
            return None


class LocalEmbedder:
    """Embeds queries and documents. Safe to use from any thread."""

    def __init__(self, folder: Path, options: EmbedderOptions = EmbedderOptions()) -> None:
        """Load an export (see ``model_files``) and run it once.

        Args:
            options: The limits of tokens and the threads are used.

        Raises:
            ProviderError: The export is incomplete or damaged.
        """
        meta = model_files.read_meta(folder)
        space = TokenSpace.read(folder, meta.key) if meta and meta.token_key else None
        if meta is None or (space.key if space else "") != meta.token_key:
            raise ProviderError(
                f"the exported model in {folder} is damaged", hint="Export it again"
            )
        try:
            self._tokenizer = open_tokenizer(folder / model_files.TOKENIZER)
            self._queries = OnnxModel(folder / model_files.MODEL, options.threads)
        except Exception as error:  # both libraries raise bare Exceptions of their own
            raise ProviderError(
                f"the exported model in {folder} does not load ({type(error).__name__})",
                hint="Export it again",
            ) from error
        self.name, self.key, self.dim = meta.name, meta.key, meta.dim
        self.token_key = meta.token_key
        self.token_dim = space.projection.shape[1] if space else 0
        self._meta = meta
        self._counts = space.counts if space else None
        self._documents = cache(partial(OnnxModel, folder / model_files.EXACT, options.threads))
        self._query_max = min(options.query_max_tokens, meta.max_tokens)
        self._doc_max = min(options.doc_max_tokens, meta.max_tokens)
        self.encode_query("warm")

    def encode_query(self, text: str) -> Encoded:
        """See ``Embedder``; one model run.

        Raises:
            ProviderError: The model failed.
        """
        text = chunking.sendable(chunking.ends(text, self._query_max * _CHARS_PER_TOKEN))
        return self._run(self._meta.query_prompt, text, self._query_max, lambda: self._queries)

    def encode(self, texts: Sequence[str]) -> Embedded:
        """See ``Embedder``; long documents are embedded piece by piece.

        Raises:
            ProviderError: The model failed.
        """
        if not texts:
            return Embedded(np.zeros((0, self.dim), np.float32), [])
        prompt, most = self._meta.doc_prompt, self._doc_max
        plan = chunking.plan(texts, self._tokenizer, prompt, most)
        rows = [
            self._run(prompt, text, most, self._documents) for pieces in plan for text in pieces
        ]
        vectors = chunking.gather(plan, np.stack([piece.vector for piece in rows]))
        tokens = [quantise(piece.tokens) for piece in rows if piece.tokens is not None]
        return Embedded(vectors, chunking.join(plan, tokens, most) if tokens else [])

    def _run(self, prompt: str, text: str, most: int, model: Callable[[], OnnxModel]) -> Encoded:
        """Embed a text behind its prompt; of too many tokens both ends are kept."""
        encoding = self._tokenizer.encode(prompt + text)
        if not encoding.ids:
            encoding = self._tokenizer.encode(".")
        rows = [*zip(encoding.ids, encoding.offsets, strict=True)]
        if len(rows) > most:
            rows = rows[: most - most // 2] + rows[-(most // 2) :]
        ids = [id_ for id_, _ in rows]
        try:
            vector, tokens = model().run(ids, self._counts is not None)
        except Exception as error:  # onnxruntime's errors share no base class of its own
            raise ProviderError(f"the model {self.name} failed ({type(error).__name__})") from error
        if self._counts is None or tokens is None:
            return Encoded(vector)
        behind_prompt = [end > len(prompt) for _, (_, end) in rows]
        return Encoded(vector, tokens[self._counts[ids] & behind_prompt])


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
