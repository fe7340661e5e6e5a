"""What a parent and its child say to each other.

The export child writes ``Event`` lines, JSON. The document child and its parent exchange frames:
four bytes of length, big-endian, then msgpack. The child speaks first, a ``Hello`` or a
``Fault``; then each ``Request`` has one reply, ``Vectors`` or a ``Fault``.
"""

from typing import BinaryIO

import msgspec
import numpy as np
from msgspec import Struct

from slowcat_memory.errors import ModelNotFoundError, ProviderError

MAX_FRAME = 1 << 28  # bytes; a longer frame is not ours
_LENGTH = 4
_RAISABLE = {kind.__name__: kind for kind in (ModelNotFoundError, ProviderError)}


class Event(Struct, omit_defaults=True):
    """One line from the export child.

    Attributes:
        say: What it begins to do, for people.
        folder: Where the finished export is; the last event of a success.
        fault: Why there is none; the last event of a failure.
    """

    say: str = ""
    folder: str = ""
    fault: "Fault | None" = None


class Fault(Struct, tag=True):
    """An error on its way from a child to its parent.

    Attributes:
        kind: Name of the class in ``errors``.
        message: What is wrong.
        hint: What to do next.
    """

    kind: str
    message: str
    hint: str = ""

    @classmethod
    def of(cls, error: Exception, doing: str) -> "Fault":
        """Describe an error.

        Args:
            error: The error; of a foreign one the first 300 characters are told.
        """
        if isinstance(error, ProviderError):
            return cls(type(error).__name__, error.message, error.hint)
        words = " ".join(str(error).split())
        return cls("ProviderError", f"{doing} failed: {type(error).__name__}: {words}"[:300])

    def error(self) -> ProviderError:
        """Make the error again."""
        return _RAISABLE.get(self.kind, ProviderError)(self.message, hint=self.hint)


class Hello(Struct, tag=True):
    """The document child is ready.

    Attributes:
        key: Key of its vector space.
        dim: Length of a vector.
        token_key: Key of the space of its token vectors, "" when it makes none.
    """

    key: str
    dim: int
    token_key: str = ""


class Request(Struct, tag=True):
    """Texts to embed, as documents; and whether their tokens are wanted, too."""

    texts: list[str]
    tokens: bool = False


class Vectors(Struct, tag=True):
    """The reply: row after row, in the order of the texts.

    Attributes:
        rows: The vectors, float32, little-endian.
        tokens: Their tokens' vectors, int8.
        counts: How many tokens each text has; empty when none were wanted.
    """

    rows: bytes
    tokens: bytes = b""
    counts: list[int] = []

    @classmethod
    def of(cls, vectors: np.ndarray, tokens: list[np.ndarray] | None = None) -> "Vectors":
        """Pack vectors.

        Args:
            vectors: Shape (n, dim).
            tokens: For each text shape (its tokens, token_dim), int8; None when not wanted.
        """
        rows = np.ascontiguousarray(vectors, "<f4").tobytes()
        return cls(
            rows, b"".join(part.tobytes() for part in tokens or ()), [*map(len, tokens or ())]
        )

    def array(self, count: int, dim: int) -> np.ndarray:
        """Unpack the vectors.

        Args:
            count: How many there must be.

        Returns:
            Shape (count, dim), float32, read-only.

        Raises:
            ValueError: There are not as many.
        """
        return np.frombuffer(self.rows, "<f4").reshape(count, dim)

    def token_arrays(self, count: int, dim: int) -> list[np.ndarray]:
        """Unpack the tokens' vectors.

        Args:
            count: How many texts there must be.

        Returns:
            For each text shape (its tokens, dim), int8, read-only.

        Raises:
            ValueError: There are not as many.
        """
        every = np.frombuffer(self.tokens, np.int8).reshape(sum(self.counts), dim)
        if len(self.counts) != count:
            raise ValueError(f"tokens of {len(self.counts)} texts, not {count}")
        return np.split(every, np.cumsum(self.counts)[:-1])


Frame = Hello | Request | Vectors | Fault


def write(file: BinaryIO, frame: Frame) -> None:
    """Send a frame.

    Raises:
        OSError: The other side is gone.
    """
    body = msgspec.msgpack.encode(frame)
    left = memoryview(len(body).to_bytes(_LENGTH) + body)
    while left:  # an unbuffered pipe may take a part
        left = left[file.write(left) :]
    file.flush()


def read(file: BinaryIO) -> Frame | None:
    """Receive a frame.

    Returns:
        The frame; None when the other side is gone, also in the middle of one.

    Raises:
        ProviderError: What came is not a frame.
    """
    head = file.read(_LENGTH)
    if len(head) < _LENGTH:
        return None
    length = int.from_bytes(head)
    if not 0 < length <= MAX_FRAME:
        raise ProviderError("the child does not speak our language")
    body = file.read(length)
    if len(body) < length:
        return None
    try:
        return msgspec.msgpack.decode(body, type=Frame)
    except msgspec.MsgspecError as error:
        raise ProviderError("the child does not speak our language") from error
