"""A BERT-like text encoder in one file of bytes that is mapped and run as it is.

::

    header      64 bytes: ``Shape``
    sections    ``layout``: embeddings, layers, the projection of token vectors, and a check: the
                ids of one text and the vector that the original model has for it

Sections start at multiples of 64 bytes; numbers are little-endian. Matrices are bytes with a scale
for each column, packed as byte_products.h wants them. There is no NumPy form: without the compiled
library, models run in ONNX Runtime.
"""

import math
import struct
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from slowcat_memory.kernels.library import INT, POINTER, Function, address

MAGIC = b"SLOWENC1"  # the digit is the version of the format
MEAN, FIRST = 0, 1  # poolings: all tokens, or the first
PLAIN, PAIRS = 0, 1  # instructions of byte_products.h without dot products
BLOCK, LINE = 16, 64  # columns of a packed block; bytes that a section is aligned to
SAME = 0.98  # cosine to the original's vector that the file's own check must reach
_HEADER = struct.Struct("<8s8if5i")
_MOST_LAYERS = 1000
BRIEF = 24
"""Runs of up to so many tokens, a millisecond or two, keep Python's lock where there are dot products.
A thread that gives the lock away beside a busy one waits 5 ms to have it back."""
_USUAL_TOKENS = 64  # scratch memory is made for so many at once

_instructions = Function("encoder_instructions", result=INT)
_scratch = Function("encoder_scratch", POINTER, INT, result=INT)
_ARGUMENTS = (POINTER, POINTER, INT, INT, POINTER, POINTER, POINTER)
_encode = Function("encode", *_ARGUMENTS, keeps_lock=False)
_encode_brief = Function("encode", *_ARGUMENTS)
_touch = Function("touch", POINTER, INT, result=INT, keeps_lock=False)


class Shape(Struct, frozen=True, kw_only=True):
    """The sizes of a model, as in the file's header."""

    layers: int
    hidden: int
    heads: int
    inner: int  # of the feed-forward layers
    vocabulary: int
    positions: int  # maximum tokens
    pooling: int  # ``MEAN`` or ``FIRST``
    token_dim: int  # length of a token vector; 0 for none
    epsilon: float  # of the layer norms
    checked: int  # tokens of the check

    def fits(self) -> bool:
        """Return whether the kernels can run such a model."""
        return (
            min(self.layers, self.heads, self.vocabulary, self.checked) > 0
            and self.layers <= _MOST_LAYERS
            and self.checked <= self.positions
            and self.pooling in (MEAN, FIRST)
            and self.hidden % (BLOCK * self.heads) == 0
            and self.hidden % (2 * BLOCK) == self.inner % (2 * BLOCK) == 0 < self.hidden
            and self.inner > 0 <= self.token_dim
            and self.token_dim % BLOCK == 0
        )


class Section(NamedTuple):
    """An array of the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


def layout(shape: Shape) -> Iterator[Section]:
    """Yield the sections in their order in the file."""
    hidden, inner = shape.hidden, shape.inner
    yield Section("words", "i1", (shape.vocabulary, hidden))
    yield Section("word_scales", "<f4", (shape.vocabulary,))
    yield Section("positions", "<f4", (shape.positions, hidden))
    yield from _norm("norm", hidden)
    for layer in range(shape.layers):
        yield from _matrix(f"{layer}.attention", hidden, 3 * hidden)
        yield from _matrix(f"{layer}.mixing", hidden, hidden)
        yield from _norm(f"{layer}.middle", hidden)
        yield from _matrix(f"{layer}.up", hidden, inner)
        yield from _matrix(f"{layer}.down", inner, hidden)
        yield from _norm(f"{layer}.last", hidden)
    yield Section("projection", "<f4", (hidden, shape.token_dim))
    yield Section("check_ids", "<i8", (shape.checked,))
    yield Section("check_vector", "<f4", (hidden,))


def _norm(name: str, hidden: int) -> Iterator[Section]:
    yield Section(f"{name}.gain", "<f4", (hidden,))
    yield Section(f"{name}.bias", "<f4", (hidden,))


def _matrix(name: str, width: int, columns: int) -> Iterator[Section]:
    yield Section(f"{name}.weights", "i1", (columns // BLOCK, width // 4, BLOCK, 4))
    for part in ("scales", "biases", "sums"):
        yield Section(f"{name}.{part}", "<f4", (columns,))


def quantise_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows as bytes, -127 to 127, and what each is multiplied by."""
    scales = np.abs(rows).max(axis=1) / 127
    scales[scales == 0] = 1
    return np.rint(rows / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def matrix(name: str, weights: np.ndarray, biases: np.ndarray) -> dict[str, np.ndarray]:
    """Return the sections of a linear layer: ``weights`` has shape (columns, width), as in torch."""
    codes, scales = quantise_rows(weights)
    columns, width = codes.shape
    return {
        f"{name}.weights": codes.reshape(columns // BLOCK, BLOCK, width // 4, 4).swapaxes(1, 2),
        f"{name}.scales": scales,
        f"{name}.biases": biases,
        f"{name}.sums": codes.sum(axis=1, dtype=np.int64),
    }


def write(path: Path, shape: Shape, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file of ``arrays`` by the names of ``layout``.

    Raises:
        ValueError: An array has another shape than the section.
    """
    header = _HEADER.pack(
        MAGIC, shape.layers, shape.hidden, shape.heads, shape.inner, shape.vocabulary,
        shape.positions, shape.pooling, shape.token_dim, shape.epsilon, shape.checked, 0, 0, 0, 0,
    )  # fmt: skip
    with path.open("wb") as file:
        file.write(header)
        for section in layout(shape):
            array = arrays[section.name]
            if array.shape != section.shape:
                raise ValueError(f"{section.name}: {array.shape}, not {section.shape}")
            file.write(np.ascontiguousarray(array, section.dtype).tobytes())
            file.write(bytes(-section.bytes % LINE))


def available() -> bool:
    """Return whether the compiled library is here, and this processor has instructions for it.

    Without such instructions a run takes ten times as long as in ONNX Runtime.
    """
    best = _instructions.compiled
    return best is not None and best() > PLAIN


class Encoder:
    """A mapped model. Safe to use from any thread."""

    def __init__(self, path: Path) -> None:
        """Map a file, and run its check.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is damaged, or the compiled library is missing.
        """
        self._mapped = np.memmap(path, np.uint8, "r")
        self.shape = _read_shape(self._mapped)
        if not (_encode.compiled and _encode_brief.compiled and _scratch.compiled):
            raise ValueError("the compiled library is missing")
        # Kept from now on: what the library computes with may change, but it stays loaded.
        self._encode, self._encode_brief = _encode.compiled, _encode_brief.compiled
        self._scratch_bytes = _scratch.compiled
        self._instructions = _instructions.compiled() if _instructions.compiled else PLAIN
        self._base = self._mapped.ctypes.data
        self._hot = self._find("norm.gain")
        self._local = threading.local()
        ids, vector = self.section("check_ids"), self.section("check_vector")
        if ids.min() < 0 or ids.max() >= self.shape.vocabulary:
            raise ValueError(f"{path.name} is damaged")
        if not float(self.run(ids.tolist())[0] @ vector) >= SAME:
            raise ValueError(f"{path.name} does not compute what the original does")

    def run(
        self, ids: list[int], with_tokens: bool = False
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Embed one row of token ids: 1 to ``shape.positions``, each below ``shape.vocabulary``.

        Returns:
            The text's vector, shape (hidden,), and with ``with_tokens`` each token's, shape
            (len(ids), token_dim), else None; float32, unit length.
        """
        row = np.array(ids, np.int64)
        vector = np.empty(self.shape.hidden, np.float32)
        tokens = np.empty((len(ids), self.shape.token_dim), np.float32) if with_tokens else None
        brief = len(ids) <= BRIEF and self._instructions > PAIRS
        (self._encode_brief if brief else self._encode)(
            self._base,
            address(row),
            len(ids),
            self._instructions,
            self._scratch(len(ids)),
            address(vector),
            None if tokens is None else address(tokens),
        )
        return vector, tokens

    def touch(self) -> None:
        """Read all that a run reads, except words: the next run then finds it in the cache."""
        if touch := _touch.compiled:
            touch(self._base + self._hot, len(self._mapped) - self._hot)

    def section(self, name: str) -> np.ndarray:
        """Return an array of the file; see ``layout``."""
        (found,) = (section for section in layout(self.shape) if section.name == name)
        start = self._find(name)
        return self._mapped[start : start + found.bytes].view(found.dtype).reshape(found.shape)

    def _find(self, name: str) -> int:
        start = LINE
        for section in layout(self.shape):
            if section.name == name:
                return start
            start += _lines(section.bytes)
        raise KeyError(name)

    def _scratch(self, tokens: int) -> int:
        """Return the address of this thread's scratch memory, which only grows."""
        local = self._local
        if getattr(local, "tokens", 0) < tokens:
            local.tokens = max(tokens, min(_USUAL_TOKENS, self.shape.positions))
            local.memory = np.zeros(self._scratch_bytes(self._base, local.tokens), np.uint8)
            local.address = address(local.memory)
        return local.address


def _read_shape(mapped: np.ndarray) -> Shape:
    """Return the shape of a whole file.

    Raises:
        ValueError: It is damaged.
    """
    if len(mapped) < LINE:
        raise ValueError("the file is too short")
    magic, *numbers = _HEADER.unpack(mapped[:LINE].tobytes())
    names = (
        "layers", "hidden", "heads", "inner", "vocabulary", "positions", "pooling", "token_dim",
        "epsilon", "checked",
    )  # fmt: skip
    if magic != MAGIC or min(numbers) < 0:
        raise ValueError("the file has another format")
    shape = Shape(**dict(zip(names, numbers, strict=False)))
    whole = shape.fits() and LINE + sum(_lines(s.bytes) for s in layout(shape)) == len(mapped)
    if not whole:
        raise ValueError("the file is damaged")
    return shape


def _lines(bytes_: int) -> int:
    return -(-bytes_ // LINE) * LINE
