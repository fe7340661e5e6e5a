"""Estimates what an utterance asks of the memory, and of what, from its words: linear models.

Free wordings ("pop your pen down for the next bit") are judged by weights that
``python -m benchmarks.intents`` fits from sentences. Features are words, pairs of words, parts of
words, and classes of words in sequence and in pairs; each is hashed to a row of weights.

A command's argument is the run of tokens with the highest sum of weights, which ``python -m
benchmarks.arguments`` fits. Features of a token are the words and classes around it, alone and in
sequence, and the last and next word of commands, each with and without the kind of command.
"""

import io
import lzma
import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, combinations, pairwise
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np

from slowcat_memory.core.language.data import read_data
from slowcat_memory.core.language.word_classes import OTHER, IntentWords
from slowcat_memory.core.text_caches import text_cache

_BITS = 14
ROWS: Final = 1 << _BITS
NONE: Final = "none"
FILE: Final = "intents.npz.xz"
LANGUAGES_PACKAGE: Final = "slowcat_memory.core.language"
_LONGEST, _SHORTEST = 5, 3  # letters of a part of a word
_CLASSES = 3  # classes in sequence
_WORD_LETTERS = 40  # of a longer word, what follows is no feature
_AROUND = 3  # tokens before and after one
_WORD, _CLASS, _BEFORE, _AFTER, _ANY = range(5)  # layers; of words of commands before and after
_SEEN = (  # a token's features: layers and distances
    *(((_CLASS, at),) for at in range(-_AROUND, _AROUND + 1)),
    *(((_WORD, at),) for at in range(-1, 2)),
    *(((_CLASS, at), (_CLASS, at + 1)) for at in range(-2, 2)),
    *(((_WORD, at), (_WORD, at + 1)) for at in range(-2, 2)),
    *(((_CLASS, at), (_CLASS, at + 1), (_CLASS, at + 2)) for at in range(-3, 2)),
    ((_BEFORE, 0),),
    ((_AFTER, 0),),
    ((_BEFORE, 0), (_CLASS, 0)),
    ((_AFTER, 0), (_CLASS, 0)),
    ((_BEFORE, 0), (_AFTER, 0)),
)
_PADDED = np.array([[*part, *[(_ANY, 0)] * (_CLASSES - len(part))] for part in _SEEN])
_FACTORS = np.array([0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35], np.uint32)[:, None]
_SALTS = np.arange(1, len(_SEEN) + 1, dtype=np.uint32)[:, None] * np.uint32(0x27D4EB2F)


class Intent(NamedTuple):
    """An estimate.

    Attributes:
        kind: The likeliest kind of command; "remember_shared" for one to the household memory.
        asks: The probability that it is any command.
        share: The probability that it is of this kind.
    """

    kind: str
    asks: float
    share: float


class ArgumentModel:
    """The weights of a language for the arguments of commands."""

    def __init__(self, weights: np.ndarray, scale: np.ndarray) -> None:
        """Use weights for "it begins here", "ends here", "a part of it" and "there is none".

        Args:
            weights: Shape (``ROWS``, 4), int8.
            scale: What a weight of 1 counts, shape (4,).
        """
        self._weights, self._scale = np.ascontiguousarray(weights), scale

    def find(
        self, kind: str, words: Sequence[str], codes: str, table: IntentWords
    ) -> tuple[int, int] | None:
        """Return the first and the last token of a command's argument; None for none.

        Args:
            words: The tokens in lower case, punctuation marks too.
            codes: Their classes.
        """
        ids = token_rows(kind, words, codes, table)
        sums = self._weights.take(ids, axis=0).sum(axis=0, dtype=np.float32) * self._scale
        begins, ends, inside, none = sums.T
        through = inside.cumsum()
        pause = np.fromiter((code in table.pauses for code in codes), np.bool_, len(codes))
        first = np.where(pause, -np.inf, begins + inside - through)
        last = np.where(pause, -np.inf, ends + through)
        scores = np.where(np.tri(len(codes), dtype=np.bool_).T, first[:, None] + last, -np.inf)
        at, end = divmod(int(scores.argmax()), len(codes))
        return (at, end) if scores[at, end] > none.sum() else None


class IntentModel:
    """The weights of a language."""

    def __init__(
        self,
        kinds: Sequence[str],
        weights: np.ndarray,
        constant: np.ndarray,
        scale: np.ndarray | None = None,
        arguments: ArgumentModel | None = None,
    ) -> None:
        """Use weights.

        Args:
            kinds: ``NONE`` for conversation, and k - 1 kinds of commands.
            weights: Shape (``ROWS``, k): float, or int8 as they are stored. Those stay int8, so
                that the rows of an utterance are in few cache lines.
            constant: Shape (k,).
            scale: What a weight of 1 counts, shape (k,); None for 1.
            arguments: Finds the arguments of commands.
        """
        self.kinds, self.arguments = tuple(kinds), arguments
        self.weights = np.ascontiguousarray(weights)
        self._sum_type = np.int32 if self.weights.dtype == np.int8 else np.float32
        # As lists: for so few numbers each call of NumPy costs more than all of the arithmetic.
        self._scale: list[float] = [1.0] * len(kinds) if scale is None else scale.tolist()
        self.constant: list[float] = constant.tolist()
        self._none = self.kinds.index(NONE)

    def judge(self, words: Sequence[str], table: IntentWords) -> Intent:
        """Estimate what an utterance asks.

        Args:
            words: In lower case, without punctuation.
        """
        ids = rows(words, table)
        sums = self.weights.take(ids, axis=0).sum(axis=0, dtype=self._sum_type).tolist()
        terms = zip(sums, self._scale, self.constant, strict=True)
        logits = [value * scale / len(ids) ** 0.5 + constant for value, scale, constant in terms]
        most = max(logits)
        odds = [math.exp(logit - most) for logit in logits]
        total, none = sum(odds), odds[self._none]
        odds[self._none] = -1.0
        best = max(range(len(odds)), key=odds.__getitem__)
        return Intent(self.kinds[best], 1.0 - none / total, odds[best] / total)


@cache
def read_model(language: str) -> IntentModel | None:
    """Read a language's weights; None if it has none."""
    try:
        data = read_data(f"{LANGUAGES_PACKAGE}.{language}", FILE)
    except OSError:
        return None
    with np.load(io.BytesIO(lzma.decompress(data)), allow_pickle=False) as file:
        kinds = [str(kind) for kind in file["kinds"]]
        arguments = ArgumentModel(file["arguments"], file["arguments_scale"])
        return IntentModel(kinds, file["weights"], file["constant"], file["scale"], arguments)


def rows(words: Sequence[str], table: IntentWords) -> np.ndarray:
    """Return the rows of an utterance's features, each once, in ascending order: int64."""
    pairs = (f"b{first} {second}" for first, second in pairwise(("<", *words, ">")))
    others = np.fromiter(map(_row, chain(pairs, _of_classes(words, table))), np.int16)
    present = np.zeros(ROWS, np.bool_)
    present[np.concatenate([others, *(_in_word(word[:_WORD_LETTERS]) for word in words)])] = True
    return present.nonzero()[0]


@text_cache(8192)
def _in_word(word: str) -> np.ndarray:
    """Return the rows of a word and of its parts, int16."""
    closed = f"<{word}>"
    parts = {
        closed[at : at + length]
        for length in range(_SHORTEST, _LONGEST + 1)
        for at in range(len(closed) - length + 1)
    }
    features = (_row(f"w{word}"), *(_row(f"p{part}") for part in parts))
    return np.fromiter(dict.fromkeys(features), np.int16)


def _row(feature: str) -> int:
    return crc32(feature.encode()) % ROWS


def _of_classes(words: Sequence[str], table: IntentWords) -> Iterator[str]:
    names = _classes(words, table)
    closed = ("<", *names, ">")
    for length in range(1, _CLASSES + 1):
        starts = range(len(closed) - length + 1)
        yield from (f"c{' '.join(closed[at : at + length])}" for at in starts)
    pairs = combinations(dict.fromkeys(filter(OTHER.__ne__, names)), 2)
    yield from (f"s{first} {second}" for first, second in pairs)


def _classes(words: Sequence[str], table: IntentWords) -> list[str]:
    """Return the classes of words; words without any count once in sequence."""
    names: list[str] = []
    for word in words:
        name = table.name_of.get(table.code(word), OTHER)
        if name != OTHER or names[-1:] != [OTHER]:
            names.append(name)
    return names


def token_rows(kind: str, words: Sequence[str], codes: str, table: IntentWords) -> np.ndarray:
    """Return the rows of the features of each token, shape (features, tokens)."""
    layers = np.zeros((_ANY + 1, len(words) + 2 * _AROUND), np.uint32)
    within = slice(_AROUND, -_AROUND)
    layers[_WORD, within] = [crc32(word.encode()) for word in words]
    layers[_CLASS, within] = [ord(code) for code in codes]
    for layer, step in ((_BEFORE, 1), (_AFTER, -1)):
        seen, nearest = 0, list[int]()
        for code in codes[::step]:
            nearest.append(seen)
            seen = ord(code) if code in table.needed else seen
        layers[layer, within] = nearest[::step]
    places = _PADDED[..., 1, None] + np.arange(_AROUND, len(words) + _AROUND)
    hashed = (layers[_PADDED[..., 0, None], places] * _FACTORS).sum(axis=1, dtype=np.uint32)
    hashed = np.concatenate([hashed + _SALTS, hashed + _SALTS + np.uint32(crc32(kind.encode()))])
    hashed = (hashed ^ (hashed >> np.uint32(15))) * np.uint32(0x2C1B3C6D)
    hashed = (hashed ^ (hashed >> np.uint32(12))) * np.uint32(0x297A2D39)
    return hashed >> np.uint32(32 - _BITS)
