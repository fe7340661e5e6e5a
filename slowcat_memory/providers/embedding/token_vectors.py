"""Vectors of single tokens: which tokens count, and the projection that shortens their vectors.

A model's last hidden states are as long as its vectors, but a quarter of the directions hold most
of the difference between words. The projection is fitted once, at export, and kept beside the model
(``tokens.npz``), so queries and documents are projected alike. Its content is part of the
key: token vectors of two projections are never compared.

The directions kept are the principal ones (not centred, so that cosines are kept) over two kinds of
sentences: random words of the model's own vocabulary, whatever its languages, and sentences from
the word lists below. Half of each kept cosines better than either (see docs/decisions/0012).
"""

import hashlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from slowcat_memory.core.ranking.token_codes import quantise
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.embedding import export_format
from slowcat_memory.providers.embedding.chunking import unit

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TokenSpace(Struct, frozen=True):
    """The space of a model's token vectors."""

    key: str  # identifies it, for example "all-MiniLM-L6-v2@1a2b3c4d5e6f/384~9f8e7d6c5b4a/96"
    projection: np.ndarray  # shape (hidden, token_dim), float32, orthonormal columns
    # shape (vocabulary,), bool: tokens with a letter or a digit; special tokens and punctuation
    # match any token; without them recall is a point better and rows are a fifth smaller
    counts: np.ndarray

    @property
    def dim(self) -> int:
        return int(self.projection.shape[1])

    def kept(self, ids: np.ndarray, lead: int = 0) -> np.ndarray:
        """Return a mask of the tokens that count, shape (len(ids),); the first ``lead`` do not."""
        kept = self.counts[ids]
        kept[:lead] = False
        return kept

    def project(self, states: np.ndarray) -> np.ndarray:
        """Project hidden states (n, hidden) to stored token vectors (n, token_dim), int8."""
        return quantise(unit(states @ self.projection))

    def save(self, folder: Path) -> None:
        np.savez(folder / export_format.TOKENS, projection=self.projection, counts=self.counts)


def space(model_key: str, projection: np.ndarray, counts: np.ndarray) -> TokenSpace:
    """Return a space whose key contains a hash of its content."""
    digest = hashlib.sha256(projection.tobytes() + counts.tobytes()).hexdigest()
    key = f"{model_key}~{digest[: export_format.HASH_DIGITS]}/{projection.shape[1]}"
    return TokenSpace(key, projection, counts)


def load(folder: Path, meta: export_format.Meta) -> TokenSpace | None:
    """Read the space of an export; None when it has no token vectors.

    Raises:
        ProviderError: The file is damaged.
    """
    if not meta.token_key:
        return None
    found = space_in(folder, meta.key)
    if found is None or found.key != meta.token_key:
        raise ProviderError(f"the exported model in {folder} is damaged", hint="Export it again")
    return found


def space_in(folder: Path, model_key: str) -> TokenSpace | None:
    """Read the space that a folder holds, whatever the export says; None without one."""
    try:
        with np.load(folder / export_format.TOKENS, allow_pickle=False) as file:
            return space(model_key, file["projection"], file["counts"])
    except Exception:  # whatever numpy and zipfile raise on a foreign file
        return None


def lead_of(tokenizer: Any, prompt: str) -> int:
    """Return the number of tokens a prompt adds in front of a text, special ones included."""
    ids = tokenizer.encode(prompt).ids
    end = tokenizer.encode("").ids
    while end and ids and end[-1] == ids[-1]:
        end, ids = end[:-1], ids[:-1]
    return len(ids) if prompt else 0


TOKEN_DIM = 96  # 64 costs up to a point of recall, 128 gains little
SENTENCES = 200  # of each kind
_WORDS = 12  # in a random sentence
_SEED = 7
_MARKERS = "▁Ġ"  # how tokenizers mark the space before a word

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


def fit_space(
    states_of: Callable[[list[int]], np.ndarray], tokenizer: "Tokenizer", model_key: str
) -> TokenSpace:
    """Fit the space of a model; deterministic. Only for the export child.

    Args:
        states_of: Returns the last hidden states of token ids, shape (len(ids), hidden).
    """
    counts = _countable(tokenizer)
    texts = [*_random_sentences(tokenizer), *_own_sentences()]
    rows = [tokenizer.encode(text).ids for text in texts]
    states = [states_of(ids)[counts[ids]] for ids in rows]
    seen = unit(np.concatenate(states)).astype(np.float64)
    _, directions = np.linalg.eigh(seen.T @ seen)
    best = directions[:, ::-1][:, :TOKEN_DIM]
    signs = np.sign(best[np.abs(best).argmax(axis=0), np.arange(best.shape[1])])
    return space(model_key, np.ascontiguousarray(best * signs, np.float32), counts)


def _countable(tokenizer: "Tokenizer") -> np.ndarray:
    """Return a mask of the tokens with a letter or a digit, special tokens excluded."""
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    counts = np.zeros(max(vocabulary.values()) + 1, bool)
    for token, number in vocabulary.items():
        counts[number] = any(character.isalnum() for character in token)
    special = (n for n, token in tokenizer.get_added_tokens_decoder().items() if token.special)
    counts[[*special, *tokenizer.encode("").ids]] = False
    return counts


def _random_sentences(tokenizer: "Tokenizer") -> Iterator[str]:
    chance = random.Random(_SEED)
    vocabulary = sorted(token.lstrip(_MARKERS) for token in tokenizer.get_vocab())
    words = [word for word in vocabulary if word.isalpha()]
    for _ in range(SENTENCES):
        yield " ".join(chance.choices(words, k=_WORDS))


def _own_sentences() -> Iterator[str]:
    chance = random.Random(_SEED)
    for _ in range(SENTENCES):
        yield " ".join(chance.choice(part) for part in (_WHO, _DID, _WHAT, _HOW))
