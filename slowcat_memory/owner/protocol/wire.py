"""Frames: four bytes of length, then one message in msgpack. Values that msgpack lacks are coded here."""

import importlib
import struct
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from slowcat_memory.errors import StoreError

PROTOCOL = 1
LARGEST_FRAME = 32 << 20  # bytes: thousands of turns in one call
_LENGTH = struct.Struct("!I")
_PACKAGE = "slowcat_memory."


class WireError(StoreError):
    """What came over the socket is no message of this protocol."""


def encode(value: Any) -> bytes:
    """Return a value as msgpack.

    Raises:
        TypeError: It holds something that cannot be sent.
    """
    return _encoder.encode(value)


def decoder(wanted: Any) -> "msgspec.msgpack.Decoder[Any]":
    return msgspec.msgpack.Decoder(wanted, dec_hook=_from_plain)


def framed(message: Any) -> bytes:
    """Return a message as a frame.

    Raises:
        WireError: It is too large.
        TypeError: It holds something that cannot be sent.
    """
    body = encode(message)
    if len(body) > LARGEST_FRAME:
        raise WireError(
            f"{len(body) >> 20} MB are too much for one call to the memory's owner",
            hint="Send it in several calls",
        )
    return _LENGTH.pack(len(body)) + body


class FrameBuffer:
    """Cuts received bytes into messages."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, received: bytes) -> Iterator[bytes]:
        """Yield each message that is complete.

        Raises:
            WireError: One is announced that is larger than any may be.
        """
        self._held += received
        while len(self._held) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._held)
            if size > LARGEST_FRAME:
                raise WireError(f"a message of {size} bytes is larger than any may be")
            end = _LENGTH.size + size
            if len(self._held) < end:
                return
            message = bytes(memoryview(self._held)[_LENGTH.size : end])
            del self._held[:end]
            yield message


# ------------------------------------------------------------------- values of any type


class Tagged(msgspec.Struct, frozen=True, array_like=True):
    """A value that says which of this package's types it has; "" for plain values."""

    type: str
    value: msgspec.Raw


def tagged(value: Any) -> Tagged:
    kind = type(value)
    if isinstance(value, Path):
        return Tagged("Path", msgspec.Raw(encode(str(value))))
    name = f"{kind.__module__}:{kind.__qualname__}" if _is_record(kind) else ""
    return Tagged(name, msgspec.Raw(encode(value)))


def untagged(found: Tagged) -> Any:
    """Return a value as it was sent.

    Raises:
        WireError: Its type is none of this package's records.
    """
    if not found.type:
        return msgspec.msgpack.decode(found.value)
    if found.type == "Path":
        return Path(msgspec.msgpack.decode(found.value, type=str))
    module, _, name = found.type.partition(":")
    if not module.startswith(_PACKAGE):
        raise WireError(f"{found.type} is no type of this protocol")
    kind = getattr(importlib.import_module(module), name, None)
    if not isinstance(kind, type) or not _is_record(kind):
        raise WireError(f"{found.type} is no type of this protocol")
    return decoder(kind).decode(found.value)


def _is_record(kind: type) -> bool:
    if not kind.__module__.startswith(_PACKAGE):
        return False
    return issubclass(kind, msgspec.Struct | tuple) or is_dataclass(kind)


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent to another process")


def _from_plain(wanted: type, value: Any) -> Any:
    if wanted is np.ndarray:
        dtype, shape, data = value
        return np.frombuffer(data, np.dtype(dtype)).reshape(shape)
    if wanted is Path:
        return Path(value)
    raise TypeError(f"a {wanted} cannot be received from another process")


_encoder = msgspec.msgpack.Encoder(enc_hook=_to_plain)
