"""Records to bytes and back.

A record is msgpack in the envelope that ``canary`` lays down; its CRC covers key and body, so that
a record that turned up under another key does not pass.
"""

import struct
import zlib
from functools import cache
from typing import Any, TypeVar

import lz4.block
import msgspec
import numpy as np

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import TokenVectors, Vector
from slowcat_memory.store.disk.canary import HEADER, VERSION, intact
from slowcat_memory.store.disk.keys import HASH, split_scope

T = TypeVar("T")

RAW, LZ4 = 0, 1
COMPRESS_FROM = 1024  # bytes; below, LZ4 saves less than a page ever notices
PAYS = 0.9  # compressed to raw size
MAX_BODY = 4 << 20  # bytes, unpacked: what a record may declare

_SIZE = struct.Struct("<I")  # how lz4.block declares the unpacked size
_TOKENS = struct.Struct("<BH")  # whether a draft, length of a token's vector
_pack = msgspec.msgpack.Encoder().encode


# ------------------------------------------------------------------- envelopes


def seal(key: bytes, body: bytes = b"", *, compress: bool = True) -> bytes:
    """Put a body into the envelope, compressed when that pays.

    Args:
        key: The key that it is stored under.
        body: Any bytes up to ``MAX_BODY``.
        compress: False for what is known not to shrink.

    Returns:
        The envelope.

    Raises:
        ValueError: The body is too large.
    """
    if len(body) > MAX_BODY:
        raise ValueError(f"a record of {len(body)} bytes; {MAX_BODY} fit")
    codec = RAW
    if compress and len(body) > COMPRESS_FROM:
        packed = lz4.block.compress(body)
        if len(packed) < PAYS * len(body):
            codec, body = LZ4, packed
    return HEADER.pack(VERSION, codec, 0, zlib.crc32(body, zlib.crc32(key))) + body


def seal_packed(key: bytes, body: bytes) -> bytes:
    """Put a body that is packed already into the envelope.

    Args:
        key: The key that it is stored under.
        body: Any bytes.

    Returns:
        The envelope.
    """
    return HEADER.pack(VERSION, RAW, 0, zlib.crc32(body, zlib.crc32(key))) + body


def unseal(key: bytes, value: bytes) -> bytes:
    """Take the body out of its envelope.

    Args:
        key: The key that it was found under.
        value: The envelope.

    Returns:
        The body.

    Raises:
        StoreDamagedError: It is not what was written under this key.
    """
    if not intact(key, value):
        raise StoreDamagedError("a record does not match its checksum")
    body = value[HEADER.size :]
    return _unpacked(body) if value[1] == LZ4 else body


def _unpacked(body: bytes) -> bytes:
    """Unpack an LZ4 block whose declared size is within bounds."""
    if len(body) < _SIZE.size or _SIZE.unpack_from(body)[0] > MAX_BODY:
        raise StoreDamagedError("a record declares an impossible size")
    try:
        return lz4.block.decompress(body)
    except lz4.block.LZ4BlockError as error:
        raise StoreDamagedError("a record does not unpack") from error


# ------------------------------------------------------------------- records


def encode(key: bytes, record: Any) -> bytes:
    """Put a record into its envelope.

    Args:
        key: The key that it is stored under.
        record: A Struct, or plain values.

    Returns:
        The envelope.

    Raises:
        ValueError: The record is too large, or holds text that is not Unicode.
    """
    return seal(key, _pack(record))


def decode(kind: type[T], key: bytes, value: bytes) -> T:
    """Take a record out of its envelope.

    Args:
        kind: Its type; may be a union of Structs.
        key: The key that it was found under.
        value: The envelope.

    Returns:
        The record.

    Raises:
        StoreDamagedError: It is not what was written, or not of this type.
    """
    return decode_body(kind, unseal(key, value))


def decode_body(kind: type[T], body: bytes) -> T:
    """Read a record.

    Args:
        kind: Its type; may be a union of Structs.
        body: Out of its envelope.

    Returns:
        The record.

    Raises:
        StoreDamagedError: It is not of this type.
    """
    try:
        return _decoder(kind).decode(body)  # type: ignore[arg-type]
    except msgspec.MsgspecError as error:
        # The message of msgspec may quote the record; the type's name says enough.
        raise StoreDamagedError(f"a record is no {kind}") from error


@cache
def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind)


def encode_vector(key: bytes, vector: Vector) -> bytes:
    """Put a vector into its envelope, at half precision.

    Args:
        key: The key that it is stored under.
        vector: Unit length, so that float16 costs about 0.0005 of a cosine.

    Returns:
        The envelope.
    """
    values = np.asarray(vector.values, dtype="<f2").tobytes()
    return seal(key, bytes([vector.draft]) + values)


def decode_vector(key: bytes, value: bytes) -> Vector:
    """Take a vector out of its envelope.

    Args:
        key: The key that it was found under.
        value: The envelope.

    Returns:
        The vector, shape (dim,), float32.

    Raises:
        StoreDamagedError: It is not what was written.
    """
    body = unseal(key, value)
    if len(body) % 2 != 1:
        raise StoreDamagedError("a vector of an odd size")
    scope, memory = split_scope(key[HASH:])
    values = np.frombuffer(body, dtype="<f2", offset=1).astype(np.float32)
    return Vector(scope=scope, memory=memory.decode(), values=values, draft=bool(body[0]))


def encode_tokens(key: bytes, tokens: TokenVectors) -> bytes:
    """Put the vectors of a memory's tokens into their envelope, as they are.

    Args:
        key: The key that they are stored under.
        tokens: The vectors.

    Returns:
        The envelope.
    """
    values = np.ascontiguousarray(tokens.values, np.int8)
    return seal(key, _TOKENS.pack(tokens.draft, values.shape[1]) + values.tobytes(), compress=False)


def decode_tokens(key: bytes, value: bytes) -> tuple[np.ndarray, bool]:
    """Take the vectors of a memory's tokens out of their envelope.

    Args:
        key: The key that they were found under.
        value: The envelope.

    Returns:
        Shape (n, token_dim), int8, read-only and sharing the bytes of ``value``; and whether they
        are a draft.

    Raises:
        StoreDamagedError: It is not what was written.
    """
    if not intact(key, value):
        raise StoreDamagedError("a record does not match its checksum")
    begin = HEADER.size + _TOKENS.size
    if len(value) < begin:
        raise StoreDamagedError("token vectors without a size")
    draft, dim = _TOKENS.unpack_from(value, HEADER.size)
    count, odd = divmod(len(value) - begin, dim or 1)
    if odd or not dim:
        raise StoreDamagedError("token vectors of an odd size")
    return np.ndarray((count, dim), np.int8, value, begin), bool(draft)


def encode_meta(key: bytes, value: Any) -> bytes:
    """Put a row of ``meta`` into its envelope.

    Args:
        key: The key that it is stored under.
        value: Plain JSON values.

    Returns:
        The envelope; JSON, because the canary reads the counts without msgspec.
    """
    return seal(key, msgspec.json.encode(value))


def decode_meta(key: bytes, value: bytes) -> Any:
    """Take a row of ``meta`` out of its envelope.

    Args:
        key: The key that it was found under.
        value: The envelope.

    Returns:
        Plain JSON values.

    Raises:
        StoreDamagedError: It is not what was written.
    """
    return msgspec.json.decode(unseal(key, value))
