"""HERE IS A TEXT, GIVE ME A VECTOR; here is a question to an LLM, give me a checked answer.

Useful for: the vector of a query in about two milliseconds (``open_query_embedder``), and exact
vectors of many documents while nobody speaks (``open_document_embedder``).
Not useful for: finding the nearest vectors (``index/``), or keeping them (``store/``).

Nothing here imports torch, transformers, or sentence-transformers: those live in child processes.
"""

from slowcat_memory.providers.embedding.base import (
    DocumentEmbedder,
    Embedded,
    Embedder,
    EmbedderOptions,
    EmbedderReport,
    Encoded,
    QueryEmbedder,
    TokenEmbedder,
    token_key_of,
)
from slowcat_memory.providers.embedding.factory import (
    export_model,
    open_document_embedder,
    open_query_embedder,
)
from slowcat_memory.providers.embedding.onnx import OnnxEmbedder
from slowcat_memory.providers.embedding.worker.handle import SentenceEmbedder
from slowcat_memory.providers.llm.base import LLM, Answer, Prompt
from slowcat_memory.providers.llm.breaker import AwayAwareLLM
from slowcat_memory.providers.llm.factory import ThinkingOptions, open_llm
from slowcat_memory.providers.llm.recording import RecordingLLM, ReplayingLLM
from slowcat_memory.providers.loopback import check_loopback

__all__ = [
    "LLM",
    "Answer",
    "AwayAwareLLM",
    "DocumentEmbedder",
    "Embedded",
    "Embedder",
    "EmbedderOptions",
    "EmbedderReport",
    "Encoded",
    "OnnxEmbedder",
    "Prompt",
    "QueryEmbedder",
    "RecordingLLM",
    "ReplayingLLM",
    "SentenceEmbedder",
    "ThinkingOptions",
    "TokenEmbedder",
    "check_loopback",
    "export_model",
    "open_document_embedder",
    "open_llm",
    "open_query_embedder",
    "token_key_of",
]
