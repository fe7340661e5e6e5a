"""Models: vectors for texts, and checked answers from an LLM.

Useful for: the vector of a text in some milliseconds (``open_query_embedder``), and an LLM whose
answers are checked (``open_llm``).
Not useful for: finding the nearest vectors (``index/``), or storing them (``store/``).

No torch is needed but for a model that ``export/graph.py`` does not know (the extra ``[models]``), and
then in a child process only.
"""

from slowcat_memory.providers.embedding.base import (
    Embedded,
    Embedder,
    EmbedderOptions,
    EmbedderReport,
    Encoded,
    sends_texts_away,
)
from slowcat_memory.providers.embedding.factory import export_model, open_query_embedder
from slowcat_memory.providers.llm.base import LLM, Answer, Prompt, ThinkingOptions, is_remote
from slowcat_memory.providers.llm.model_servers import CircuitBreakerLLM, open_llm

__all__ = [
    "LLM",
    "Answer",
    "CircuitBreakerLLM",
    "Embedded",
    "Embedder",
    "EmbedderOptions",
    "EmbedderReport",
    "Encoded",
    "Prompt",
    "ThinkingOptions",
    "export_model",
    "is_remote",
    "open_llm",
    "open_query_embedder",
    "sends_texts_away",
]
