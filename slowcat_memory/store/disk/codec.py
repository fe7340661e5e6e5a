"""Keys and records to bytes and back: msgpack in an envelope.

Keys sort by scope and then by id, so that one namespace is one range. Parts are separated by a NUL,
which no part may contain; numbers are 8 bytes, big-endian, and come last. Every function that makes
a key raises ``ValueError`` when a part is empty or contains a NUL, or when the key is too long.
Every ``decode`` raises ``StoreDamagedError`` unless the bytes are exactly as written.
"""

import re
import struct
from functools import cache
from hashlib import blake2b
from typing import Any, TypeVar

import lz4.block
import msgspec
import numpy as np

from slowcat_memory.core.ranking.token_codes import PER_BYTE, to_bytes, width_of
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import TokenCodes, Vector
from slowcat_memory.store.disk.page_reader import HEADER, LZ4, enclose, intact

T = TypeVar("T")

# ------------------------------------------------------------------- keys

MAX_KEY = 511  # bytes, LMDB's limit
HASH = 8  # bytes of an embedder's hash
CHUNK = "chunk/"  # begins the id of a turn's memory, and of what points to it
NUMBERED = b"\xff"  # begins the id of such a memory in a vector's key: no UTF-8 has this byte

_U64 = struct.Struct(">Q")
PAST = b"\xff" * 9  # behind every number
# A turn's memory or a key of it; the number as ``str`` writes it, below 2 ** 64.
_OF_TURN = re.compile(rf"{CHUNK}([1-9][0-9]{{0,18}})((?:\?[^\0]*)?)")


def id_key(position: int) -> bytes:
    """Return a log id as 8 bytes that sort like the number."""
    return _U64.pack(position)


def id_of(key: bytes) -> int:
    """Return the number that a key ends with; raises ``StoreDamagedError`` for a shorter one."""
    try:
        return int(_U64.unpack(key[-8:])[0])
    except struct.error as error:
        raise StoreDamagedError("a key without its number") from error


def name_key(name: str) -> bytes:
    """Return the key of a session, a cursor, a task, a scope or a row of ``meta``: UTF-8."""
    return _checked(_part(name))


def scope_prefix(scope: str) -> bytes:
    return _part(scope) + b"\0"


def scoped_key(scope: str, name: str) -> bytes:
    return _checked(scope_prefix(scope) + _part(name))


def scoped_id_key(scope: str, position: int) -> bytes:
    """Return the key of a number within a namespace: scope, NUL, 8 bytes."""
    return _checked(scope_prefix(scope) + _U64.pack(position))


def split_scope(key: bytes) -> tuple[str, bytes]:
    """Return the scope and the rest of a key; raises ``StoreDamagedError`` if it is no text."""
    scope, _, rest = key.partition(b"\0")
    try:
        return scope.decode(), rest
    except UnicodeDecodeError as error:
        raise StoreDamagedError("a key without its scope") from error


def embedder_hash(embedder: str) -> bytes:
    """Return the 8 bytes that represent an embedder's key in the keys of its vectors."""
    if not embedder:
        raise ValueError("vectors without the key of their embedder")
    return blake2b(embedder.encode(), digest_size=HASH).digest()


def vector_prefix(embedder: str, scope: str) -> bytes:
    """Return the beginning of the keys of all vectors of a namespace in one space."""
    return embedder_hash(embedder) + scope_prefix(scope)


def vector_part(id: str) -> bytes:
    """Return a memory's or key's id as it ends the key of its vector.

    That of a turn has its number in 8 bytes, so that vectors lie in the order of the log: rows that
    are only ever appended fill their pages, and rows in the order of digits do to two thirds.
    """
    if match := _OF_TURN.fullmatch(id):
        return NUMBERED + _U64.pack(int(match[1])) + match[2].encode()
    return _part(id)


def vector_key(embedder: str, scope: str, id: str) -> bytes:
    return _checked(vector_prefix(embedder, scope) + vector_part(id))


def split_vector_key(key: bytes) -> tuple[bytes, str, str]:
    """Return the embedder's hash, the scope and the id in a vector's key.

    Raises:
        StoreDamagedError: It is not one.
    """
    scope, rest = split_scope(key[HASH:])
    try:
        if rest[:1] == NUMBERED:
            (number,) = _U64.unpack(rest[1:9])
            return key[:HASH], scope, f"{CHUNK}{number}{rest[9:].decode()}"
        return key[:HASH], scope, rest.decode()
    except (UnicodeDecodeError, struct.error) as error:
        raise StoreDamagedError("a vector's key without an id") from error


def owner_of(id: str) -> str:
    """Return the memory that a key ``<memory>?<name>`` points to, "" for any other id."""
    return id.rpartition("?")[0]


def turn_tombstone(position: int) -> bytes:
    return b"t" + _U64.pack(position)


def memory_tombstone(scope: str, memory: str) -> bytes:
    """Return the key of the tombstone of a memory that is forgotten for ever.

    The id may contain words, so only a hash of it is stored.
    """
    return b"n" + _hash(scope, memory)


def is_turn_tombstone(key: bytes) -> bool:
    """Return whether a row of ``tombstones`` is a turn's, not a memory's or an epoch mark."""
    return key[:1] == b"t" and len(key) == 1 + _U64.size


def epoch_mark(scope: str, memory: str) -> bytes:
    """Return the key of the epoch mark of a forgotten memory that may be made again.

    The id may contain words, so only a hash of it is stored.
    """
    return b"g" + _hash(scope, memory)


def _hash(scope: str, memory: str) -> bytes:
    return blake2b(scoped_key(scope, memory), digest_size=2 * HASH).digest()


def is_hashed(key: bytes, kind: bytes) -> bool:
    """Return whether a row of ``tombstones`` has the shape of a memory's, b"n", or a mark's, b"g"."""
    return key[:1] == kind and len(key) == 1 + 2 * HASH


def _part(name: str) -> bytes:
    raw = name.encode()
    if not raw or b"\0" in raw:
        raise ValueError(f"a key that is empty or holds a NUL: {name!r}")
    return raw


def _checked(key: bytes) -> bytes:
    if len(key) > MAX_KEY:
        raise ValueError(f"a key of {len(key)} bytes; at most {MAX_KEY} fit")
    return key


# ------------------------------------------------------------------- envelopes

COMPRESS_FROM = 1024  # bytes; below, LZ4 saves less than a page
PAYS = 0.9  # compressed to raw size
MAX_BODY = 4 << 20  # bytes, unpacked: the limit that a record may declare

_SIZE = struct.Struct("<I")  # lz4.block's format of the unpacked size


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
            return enclose(key, packed, LZ4)
    return enclose(key, body)


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


# ------------------------------------------------------------------- records

_SCALE = struct.Struct("<f")  # what a vector's bytes are multiplied by
_TOKENS = struct.Struct("<H")  # length of a token's vector
_BEGIN = HEADER.size + _TOKENS.size  # of the tokens in a row
_pack = msgspec.msgpack.Encoder().encode


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
    """Return the envelope of plain values as JSON."""
    return seal(key, msgspec.json.encode(value))


def decode_meta(key: bytes, value: bytes) -> Any:
    """Return the plain values in an envelope."""
    try:
        return msgspec.json.decode(unseal(key, value))
    except msgspec.MsgspecError as error:
        raise StoreDamagedError("a row of the table meta is not JSON") from error
