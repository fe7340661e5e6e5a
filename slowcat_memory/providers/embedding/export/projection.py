"""Which directions of a model's hidden states are kept: those that its token vectors use most.

The principal directions (not centred, so that cosines are kept) over sentences of two kinds: random
words of the model's own vocabulary, whatever its languages, and sentences from a few word lists of
ours. Half of each kept cosines better than either (see docs/decisions/0012).

Only the export child uses this.
"""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from slowcat_memory.providers.embedding import token_vectors
from slowcat_memory.providers.embedding.chunking import unit
from slowcat_memory.providers.embedding.token_vectors import TokenSpace

TOKEN_DIM = 96  # 64 costs up to a point of recall, 128 gains little; 42 words fit one page of LMDB
SENTENCES = 200  # of each kind
_WORDS = 12  # in a random sentence
_SEED = 7
_MARKERS = "▁Ġ"  # how tokenizers write the space in front of a word

_WHO = (
    "I|you|she|they|my sister|the neighbour|our old dog|the doctor|Tom|grandma|the teacher|"
    "a friend from work"
).split("|")
_DID = (
    "bought|lost|wants to sell|talked about|forgot|is afraid of|loves|painted|fixed|found|plans|"
    "never liked|asked me about|has finally finished|is learning about"
).split("|")
_WHAT = (
    "a red bicycle|the garden|her new job|the train to the coast|penicillin|a bottle of wine|"
    "the piano|a birthday party|the kitchen window|a book about whales|chess|the mortgage|"
    "two tickets for the concert|a soup with lentils|the exam|a marathon|the cellar|a laptop|"
    "football|the wedding"
).split("|")
_HOW = (
    "on Saturday|last year|in the middle of the night|because it was cheap|at half past six|"
    "when we moved to Lisbon|and now everybody laughs about it|for the third time|"
    "before the winter|with the children|, can you believe it?|, what was it called again?|"
    "in 2019|for forty euros|after the operation"
).split("|")


def fit(model: Any, tokenizer: Tokenizer, model_key: str) -> TokenSpace | None:
    """Find the space of a model's token vectors; the same model yields the same.

    Args:
        model: A ``SentenceTransformer``.

    Returns:
        The space, None when the model does not tell its tokens.
    """
    counts = _counts(tokenizer)
    texts = [*_random(tokenizer), *_ours()]
    states = [
        row["token_embeddings"][row["attention_mask"].bool()][
            counts[row["input_ids"][row["attention_mask"].bool()].numpy()]
        ].numpy()
        for row in model.encode(texts, output_value=None, show_progress_bar=False)
        if {"token_embeddings", "attention_mask", "input_ids"} <= row.keys()
    ]
    if len(states) < len(texts):
        return None
    seen = unit(np.concatenate(states)).astype(np.float64)
    _, directions = np.linalg.eigh(seen.T @ seen)
    best = directions[:, ::-1][:, :TOKEN_DIM]
    signs = np.sign(best[np.abs(best).argmax(axis=0), np.arange(best.shape[1])])
    return token_vectors.space(model_key, np.ascontiguousarray(best * signs, np.float32), counts)


def _counts(tokenizer: Tokenizer) -> np.ndarray:
    """Tell of each token whether it has a letter or a digit, and is no special one."""
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    counts = np.zeros(max(vocabulary.values()) + 1, bool)
    for token, number in vocabulary.items():
        counts[number] = any(character.isalnum() for character in token)
    special = (n for n, token in tokenizer.get_added_tokens_decoder().items() if token.special)
    counts[[*special, *tokenizer.encode("").ids]] = False
    return counts


def _random(tokenizer: Tokenizer) -> Iterator[str]:
    chance = random.Random(_SEED)
    vocabulary = sorted(token.lstrip(_MARKERS) for token in tokenizer.get_vocab())
    words = [word for word in vocabulary if word.isalpha()]
    for _ in range(SENTENCES):
        yield " ".join(chance.choices(words, k=_WORDS))


def _ours() -> Iterator[str]:
    chance = random.Random(_SEED)
    for _ in range(SENTENCES):
        yield " ".join(chance.choice(part) for part in (_WHO, _DID, _WHAT, _HOW))
