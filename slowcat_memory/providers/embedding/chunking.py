"""Long documents: split at sentence borders, embedded piece by piece, averaged.

Used alike by every embedder, so that the query embedder's draft of a document and the document
embedder's final vector mean the same words.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from tokenizers import Tokenizer

MAX_CHARS = 32_768  # of one document; the rest of a longer one is not embedded (about 8k tokens)

_SENTENCE_END = re.compile(r"[.!?…]+[\"')\]]*\s+|[。！？]|\n+")
_SPACE = re.compile(r"\s+")


class Plan(Struct, frozen=True):
    """Which pieces stand for which texts.

    Attributes:
        pieces: What is embedded, in the order of the texts.
        counts: How many pieces each text has, at least one.
    """

    pieces: list[str]
    counts: list[int]


def plan(texts: Sequence[str], tokenizer: Tokenizer, prompt: str, max_tokens: int) -> Plan:
    """Split the texts that the model cannot read at once.

    Args:
        max_tokens: The most tokens of a piece, prompt and special tokens included.

    Returns:
        The plan; its pieces are ``sendable`` and do not hold the prompt.
    """
    budget = max(8, max_tokens - len(tokenizer.encode(prompt).ids))
    pieces: list[str] = []
    counts: list[int] = []
    for text in texts:
        text = sendable(text[:MAX_CHARS])
        parts = [text]
        if len(text.encode()) > budget:  # a token is a byte at least
            spans = tokenizer.encode(text, add_special_tokens=False).offsets
            parts = split(text, spans, budget)
        pieces += parts
        counts.append(len(parts))
    return Plan(pieces, counts)


def split(text: str, spans: Sequence[tuple[int, int]], budget: int) -> list[str]:
    """Cut a text into pieces of at most ``budget`` tokens.

    Cuts after the last sentence in the second half of what fits, else after its last word, else
    where the tokens end.

    Args:
        spans: Where each of its tokens begins and ends, in characters, in order.
        budget: The most tokens of a piece.

    Returns:
        The pieces, at least one, none of them blank unless the text is.
    """
    if len(spans) <= budget:
        return [text]
    starts = [start for start, _ in spans]
    pieces: list[str] = []
    first, begin = 0, 0
    while len(spans) - first > budget:
        end = max(begin + 1, spans[first + budget - 1][1])
        cut = _border(text, begin, end)
        pieces.append(text[begin:cut])
        begin = cut
        first = max(first + 1, bisect_left(starts, cut, lo=first))
    pieces.append(text[begin:])
    return [piece for piece in pieces if piece.strip()] or [text[:1]]


def gather(plan: Plan, vectors: np.ndarray) -> np.ndarray:
    """Average the vectors of each text's pieces, longer pieces counting more.

    Args:
        vectors: Shape (len(plan.pieces), dim), unit length.

    Returns:
        Shape (len(plan.counts), dim), float32, unit length.
    """
    if len(plan.pieces) == len(plan.counts):
        return vectors
    weights = np.array([max(1, len(piece)) for piece in plan.pieces], np.float32)
    starts = np.concatenate(([0], np.cumsum(plan.counts)[:-1]))
    return unit(np.add.reduceat(vectors * weights[:, None], starts, axis=0))


def join(plan: Plan, tokens: Sequence[np.ndarray], most: int) -> list[np.ndarray]:
    """Put the tokens of each text's pieces together.

    Args:
        tokens: For each piece shape (its tokens, token_dim).
        most: Tokens of a text; those after them are left out, and count in its vector alone.

    Returns:
        For each text shape (its tokens, token_dim).
    """
    if len(plan.pieces) == len(plan.counts):
        return [rows[:most] for rows in tokens]
    ends = np.cumsum(plan.counts).tolist()
    pairs = zip([0, *ends[:-1]], ends, strict=True)
    return [np.concatenate(tokens[start:end])[:most] for start, end in pairs]


def unit(vectors: np.ndarray) -> np.ndarray:
    """Scale vectors to unit length.

    Args:
        vectors: Shape (n, dim).

    Returns:
        The same shape, float32; a zero vector stays zero.
    """
    vectors = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, np.float32(1e-12))


def sendable(text: str) -> str:
    """Make a text fit for UTF-8.

    Args:
        text: Any string, also one with lone surrogates.

    Returns:
        The text, each lone surrogate replaced by a question mark.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _border(text: str, begin: int, end: int) -> int:
    half = (begin + end) // 2
    for pattern in (_SENTENCE_END, _SPACE):
        ends = [match.end() for match in pattern.finditer(text, half, end + 1)]
        if ends:
            return ends[-1]
    return end
