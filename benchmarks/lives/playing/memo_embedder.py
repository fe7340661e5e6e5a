"""The real query embedder, that embeds no text twice in one process: people repeat themselves."""

from collections.abc import Sequence

import numpy as np

from slowcat_memory.providers import (
    Embedded,
    EmbedderOptions,
    Encoded,
    LocalEmbedder,
    open_query_embedder,
)


class MemoEmbedder:
    """Vectors of an embedder, each made once; has the attributes of ``LocalEmbedder``."""

    def __init__(self, embedder: LocalEmbedder) -> None:
        self.name, self.key, self.dim = embedder.name, embedder.key, embedder.dim
        self.token_key, self.token_dim = embedder.token_key, embedder.token_dim
        self._embedder = embedder
        self._texts = dict[str, Embedded]()
        self._queries = dict[str, Encoded]()

    def encode_query(self, text: str) -> np.ndarray:
        return self.encode_query_tokens(text).vector

    def encode_query_tokens(self, text: str) -> Encoded:
        if text not in self._queries:
            self._queries[text] = self._embedder.encode_query_tokens(text)
        return self._queries[text]

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return self.encode_tokens(texts).vectors

    def encode_tokens(self, texts: Sequence[str]) -> Embedded:
        for text in texts:
            if text not in self._texts:
                self._texts[text] = self._embedder.encode_tokens([text])
        made = [self._texts[text] for text in texts]
        vectors = [one.vectors for one in made] or [np.zeros((0, self.dim), np.float32)]
        return Embedded(np.concatenate(vectors), [one.tokens[0] for one in made if one.tokens])


_opened = dict[EmbedderOptions, MemoEmbedder]()


def embedder(options: EmbedderOptions) -> MemoEmbedder | None:
    """Return this process's embedder of a model; None if its model is not here."""
    if options not in _opened:
        found, _ = open_query_embedder(options)
        if not isinstance(found, LocalEmbedder):
            return None
        _opened[options] = MemoEmbedder(found)
    return _opened[options]
