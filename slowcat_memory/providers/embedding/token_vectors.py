"""How the tokens of a text become vectors: which of them count, and where they are projected.

A model's last hidden states have as many numbers as its vectors; most of what tells words apart is
in a quarter of the directions. The projection is fixed when the model is exported, and kept beside
it (``tokens.npz``), so that queries, drafts and documents are projected alike. Its content is a part
of the key: token vectors of two projections never meet.
"""

import hashlib
from pathlib import Path

import numpy as np
from msgspec import Struct
from tokenizers import Tokenizer

from slowcat_memory.core.ranking.maxsim import quantise
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.embedding import export_format
from slowcat_memory.providers.embedding.chunking import unit


class TokenSpace(Struct, frozen=True):
    """The space of a model's token vectors.

    Attributes:
        key: Identifies it, for example "all-MiniLM-L6-v2@1a2b3c4d5e6f/384~9f8e7d6c5b4a/96".
        projection: Shape (hidden, token_dim), float32, orthonormal columns.
        counts: Shape (vocabulary,), bool: which tokens have a letter or a digit. The others,
            special tokens and punctuation, match anything and mean nothing; without them recall
            is a point better and rows are a fifth smaller.
    """

    key: str
    projection: np.ndarray
    counts: np.ndarray

    @property
    def dim(self) -> int:
        """Length of a token's vector."""
        return int(self.projection.shape[1])

    def kept(self, ids: np.ndarray, lead: int = 0) -> np.ndarray:
        """Tell which tokens of a text count.

        Args:
            lead: How many at the front are a prompt's; see ``lead_of``.

        Returns:
            Shape (len(ids),), bool.
        """
        kept = self.counts[ids]
        kept[:lead] = False
        return kept

    def project(self, states: np.ndarray) -> np.ndarray:
        """Make stored token vectors of hidden states.

        Args:
            states: Shape (n, hidden).

        Returns:
            Shape (n, token_dim), int8.
        """
        return quantise(unit(states @ self.projection))

    def save(self, folder: Path) -> None:
        """Keep it beside the model."""
        np.savez(folder / export_format.TOKENS, projection=self.projection, counts=self.counts)


def space(model_key: str, projection: np.ndarray, counts: np.ndarray) -> TokenSpace:
    """Name a space after what is in it.

    Args:
        projection: As in ``TokenSpace``.
        counts: As in ``TokenSpace``.
    """
    digest = hashlib.sha256(projection.tobytes() + counts.tobytes()).hexdigest()
    key = f"{model_key}~{digest[: export_format.HASH_DIGITS]}/{projection.shape[1]}"
    return TokenSpace(key, projection, counts)


def load(folder: Path, meta: export_format.Meta) -> TokenSpace | None:
    """Read the space of an export.

    Returns:
        The space, None when the model tells no tokens.

    Raises:
        ProviderError: The file is damaged.
    """
    if not meta.token_key:
        return None
    try:
        with np.load(folder / export_format.TOKENS, allow_pickle=False) as file:
            found = space(meta.key, file["projection"], file["counts"])
    except Exception as error:  # whatever numpy and zipfile raise on a foreign file
        raise ProviderError(
            f"the exported model in {folder} is damaged", hint="Export it anew"
        ) from error
    if found.key != meta.token_key:
        raise ProviderError(f"the exported model in {folder} is damaged", hint="Export it anew")
    return found


def lead_of(tokenizer: Tokenizer, prompt: str) -> int:
    """Count the tokens that a prompt puts in front of every text.

    Args:
        prompt: What stands before each text, "" for nothing.

    Returns:
        How many, the special ones before them included.
    """
    ids = tokenizer.encode(prompt).ids
    end = tokenizer.encode("").ids
    while end and ids and end[-1] == ids[-1]:
        end, ids = end[:-1], ids[:-1]
    return len(ids) if prompt else 0
