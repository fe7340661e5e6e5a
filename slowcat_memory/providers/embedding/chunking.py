"""Splits long documents at sentence ends; their pieces are embedded one by one and averaged.

All embedders use it, so that their vectors cover the same words.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

MAX_CHARS = 32_768  # of one document; the rest of a longer one is not embedded (about 8k tokens)

_SENTENCE_END = re.compile(r"[.!?…]+[\"')\]]*\s+|[。！？]|\n+")
_SPACE = re.compile(r"\s+")


Plan = list[list[str]]
"""The pieces of each text in order, at least one."""


def plan(texts: Sequence[str], tokenizer: Any, prompt: str, max_tokens: int) -> Plan:
    """Split texts that are too long for the model; pieces are ``sendable`` and lack the prompt.

    Args:
        tokenizer: A ``tokenizers.Tokenizer``, or one with its ``encode``.
        max_tokens: Maximum of a piece, prompt and special tokens included.
    """
    budget = max(8, max_tokens - len(tokenizer.encode(prompt).ids))
    plan: Plan = []
    for text in texts:
        text = sendable(text[:MAX_CHARS])
        pieces = [text]
        if len(text.encode()) > budget:  # a token is at least a byte
            spans = tokenizer.encode(text, add_special_tokens=False).offsets
            pieces = split(text, spans, budget)
        plan.append(pieces)
    return plan


def split(text: str, spans: Sequence[tuple[int, int]], budget: int) -> list[str]:
    """Cut a text into pieces of at most ``budget`` tokens; none is blank unless the text is.

    Cuts after the last sentence in the second half of the budget, else after its last word, else
    at the last token.

    Args:
        spans: Start and end of each token, in characters, in order.
    """
    if len(spans) <= budget:
        return [text]
    starts = [start for start, _ in spans]
    pieces: list[str] = []
    first, begin = 0, 0
    while len(spans) - first > budget:
        end = max(begin + 1, spans[first + budget - 1][1])
        cut = _cut_before(text, begin, end)
        pieces.append(text[begin:cut])
        begin = cut
        first = max(first + 1, bisect_left(starts, cut, lo=first))
    pieces.append(text[begin:])
    return [piece for piece in pieces if piece.strip()] or [text[:1]]


def gather(plan: Plan, vectors: np.ndarray) -> np.ndarray:
    """Average the pieces' unit vectors (number of pieces, dim) for each text, weighted by length.

    Returns:
        Shape (len(plan), dim), float32, unit length.
    """
    if len(vectors) == len(plan):
        return vectors
    weights = np.array([max(1, len(piece)) for pieces in plan for piece in pieces], np.float32)
    starts = np.cumsum([0, *map(len, plan[:-1])])
    return unit(np.add.reduceat(vectors * weights[:, None], starts, axis=0))


def join(plan: Plan, tokens: Sequence[np.ndarray], most: int) -> list[np.ndarray]:
    """Concatenate the tokens (its tokens, token_dim) of each text's pieces.

    Args:
        most: Maximum tokens of a text; later ones are dropped, though its vector covers them.
    """
    rows = iter(tokens)
    return [np.concatenate([*islice(rows, len(pieces))])[:most] for pieces in plan]


def unit(vectors: np.ndarray) -> np.ndarray:
    """Scale rows to unit length, float32; a zero vector stays zero."""
    vectors = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, np.float32(1e-12))


def ends(text: str, limit: int) -> str:
    """Return a text of about ``limit`` characters at most: both ends of a longer one."""
    return text if len(text) <= limit else f"{text[: limit // 2]} {text[-limit // 2 :]}"


def sendable(text: str) -> str:
    """Return a text that UTF-8 can encode: lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode()


def _cut_before(text: str, begin: int, end: int) -> int:
    half = (begin + end) // 2
    for pattern in (_SENTENCE_END, _SPACE):
        ends = [match.end() for match in pattern.finditer(text, half, end + 1)]
        if ends:
            return ends[-1]
    return end
