"""Records to bytes and back: msgpack in the envelope of ``envelope``.

The envelope's checksum covers key and body, so that a record stored under a wrong key is rejected.
Every ``decode`` raises ``StoreDamagedError`` unless the bytes are exactly as written.
"""

import struct
from functools import cache
from typing import Any, TypeVar

import lz4.block
import msgspec
import numpy as np

from slowcat_memory.core.ranking.token_codes import PER_BYTE, to_bytes, width_of
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import TokenCodes, Vector
from slowcat_memory.store.disk import envelope
from slowcat_memory.store.disk.envelope import HEADER, LZ4, RAW, intact
from slowcat_memory.store.disk.keys import split_vector_key

T = TypeVar("T")

COMPRESS_FROM = 1024  # bytes; below, LZ4 saves less than a page
PAYS = 0.9  # compressed to raw size
MAX_BODY = 4 << 20  # bytes, unpacked: the limit that a record may declare

_SIZE = struct.Struct("<I")  # lz4.block's format of the unpacked size
_SCALE = struct.Struct("<f")  # what a vector's bytes are multiplied by
_TOKENS = struct.Struct("<H")  # length of a token's vector
_BEGIN = HEADER.size + _TOKENS.size  # of the tokens in a row
_pack = msgspec.msgpack.Encoder().encode


def seal(key: bytes, body: bytes = b"", *, compress: bool = True) -> bytes:
    """Put a body into an envelope, compressed when that saves space.

    ``compress`` is False for data known not to shrink.

    Raises:
        ValueError: The body is larger than ``MAX_BODY`` bytes.
    """
    if len(body) > MAX_BODY:
        raise ValueError(f"a record of {len(body)} bytes; at most {MAX_BODY} fit")
    if compress and len(body) > COMPRESS_FROM:
        packed = lz4.block.compress(body)
        if len(packed) < PAYS * len(body):
            return envelope.seal(key, packed, LZ4)
    return envelope.seal(key, body, RAW)


def unseal(key: bytes, value: bytes) -> bytes:
    """Return the body of an envelope.

    Raises:
        StoreDamagedError: It is not as written under this key.
    """
    if not intact(key, value):
        raise StoreDamagedError("a record does not match its checksum")
    body = value[HEADER.size :]
    return _unpack(body) if value[1] == LZ4 else body


def _unpack(body: bytes) -> bytes:
    if len(body) < _SIZE.size or _SIZE.unpack_from(body)[0] > MAX_BODY:
        raise StoreDamagedError("a record declares an impossible size")
    try:
        return lz4.block.decompress(body)
    except lz4.block.LZ4BlockError as error:
        raise StoreDamagedError("a record does not unpack") from error


def encode(key: bytes, record: Any) -> bytes:
    """Return the envelope of a Struct or of plain values.

    Raises:
        ValueError: The record is too large, or has text that is not Unicode.
    """
    return seal(key, _pack(record))


def decode(kind: type[T], key: bytes, value: bytes) -> T:
    """Return the record in an envelope; ``kind`` may be a union of Structs."""
    return decode_body(kind, unseal(key, value))


def decode_body(kind: type[T], body: bytes) -> T:
    try:
        return _decoder(kind).decode(body)  # type: ignore[arg-type]
    except msgspec.MsgspecError as error:
        # msgspec's message may quote the record; the type's name is enough.
        raise StoreDamagedError(f"a record is not a {kind}") from error


@cache
def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind)


def encode_vector(key: bytes, vector: Vector) -> bytes:
    """Return the envelope of a vector, whose length is kept; bytes cost under 0.005 of a cosine."""
    levels, scale = to_bytes(vector.values)
    return seal(key, _SCALE.pack(scale) + levels.tobytes(), compress=False)


def decode_vector(key: bytes, value: bytes) -> Vector:
    """Return the vector in an envelope: (dim,), float32."""
    _, scope, memory = split_vector_key(key)
    body = unseal(key, value)
    if len(body) < _SCALE.size:
        raise StoreDamagedError("a vector without a scale")
    (scale,) = _SCALE.unpack_from(body)
    values = np.frombuffer(body, np.int8, offset=_SCALE.size) * np.float32(scale)
    return Vector(scope=scope, memory=memory, values=values)


def encode_tokens(key: bytes, tokens: TokenCodes) -> bytes:
    dim = PER_BYTE * tokens.codes.shape[1]
    return seal(key, _TOKENS.pack(dim) + tokens.codes.tobytes(), compress=False)


def decode_tokens(key: bytes, value: bytes) -> np.ndarray:
    """Return a memory's token codes (see ``core.ranking.token_codes``).

    Of shape (n, bytes of a token), uint8, read-only, sharing the bytes of ``value``.
    """
    if not intact(key, value):
        raise StoreDamagedError("a record does not match its checksum")
    if len(value) < _BEGIN:
        raise StoreDamagedError("token vectors without a size")
    (dim,) = _TOKENS.unpack_from(value, HEADER.size)
    width = width_of(dim)
    count, odd = divmod(len(value) - _BEGIN, width or 1)
    if odd or not width:
        raise StoreDamagedError("token vectors of an odd size")
    return np.ndarray((count, width), np.uint8, value, _BEGIN)


def encode_meta(key: bytes, value: Any) -> bytes:
    """Return the envelope of plain values as JSON: the canary reads the counts without msgspec."""
    return seal(key, msgspec.json.encode(value))


def decode_meta(key: bytes, value: bytes) -> Any:
    """Return the plain values in an envelope."""
    try:
        return msgspec.json.decode(unseal(key, value))
    except msgspec.MsgspecError as error:
        raise StoreDamagedError("a row of the table meta is not JSON") from error
