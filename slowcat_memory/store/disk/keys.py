"""Keys to bytes and back.

They sort by scope and then by id, so that one namespace is one range. Parts are separated by a NUL,
which no part may contain; numbers are 8 bytes, big-endian, and come last. Every function that makes
a key raises ``ValueError`` when a part is empty or contains a NUL, or when the key is too long.
"""

import re
import struct
from collections.abc import Iterator
from hashlib import blake2b
from itertools import takewhile
from typing import TYPE_CHECKING

from slowcat_memory.errors import StoreDamagedError

if TYPE_CHECKING:
    import lmdb

MAX_KEY = 511  # bytes, LMDB's limit
HASH = 8  # bytes of an embedder's hash
CHUNK = "chunk/"  # begins the id of a turn's memory, and of what points to it
NUMBERED = b"\xff"  # begins the id of such a memory in a vector's key: no UTF-8 has this byte

_U64 = struct.Struct(">Q")
PAST = b"\xff" * 9  # behind every number
_NUMBER = re.compile("[1-9][0-9]{0,18}(?![0-9])")  # as ``str`` writes it, below 2 ** 64


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


def scopes(cursor: "lmdb.Cursor[bytes]") -> Iterator[str]:
    """Yield the scopes that the keys of a table begin with; reads a key of each."""
    more = cursor.first()
    while more:
        scope, _ = split_scope(cursor.key())
        yield scope
        more = cursor.set_range(scope.encode() + b"\1")


def rows_with(
    cursor: "lmdb.Cursor[bytes]", prefix: bytes, start: bytes = b""
) -> Iterator[tuple[bytes, bytes]]:
    """Return the rows whose keys begin with ``prefix``, from ``prefix + start`` on."""
    rows = iter(cursor if cursor.set_range(prefix + start) else ())
    return takewhile(lambda row: row[0].startswith(prefix), rows)


def keys_with(cursor: "lmdb.Cursor[bytes]", prefix: bytes, start: bytes = b"") -> Iterator[bytes]:
    """Return the keys that begin with ``prefix``, from ``prefix + start`` on; reads no value."""
    rest = cursor.iternext(values=False) if cursor.set_range(prefix + start) else iter(())
    return takewhile(lambda key: key.startswith(prefix), rest)


def rows_before(
    cursor: "lmdb.Cursor[bytes]", prefix: bytes, number: int = 0
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the rows of a prefix and a number, the last first; those below ``number``, 0 for all."""
    is_placed = cursor.set_range(prefix + (id_key(number) if number else PAST))
    while cursor.prev() if is_placed else cursor.last():
        is_placed, row = True, cursor.item()
        if not row[0].startswith(prefix):
            return
        yield row


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
    if not id.startswith(CHUNK) or not (match := _NUMBER.match(id, len(CHUNK))):
        return _part(id)
    end = match.end()
    if end == len(id):
        return NUMBERED + _U64.pack(int(match[0]))
    return NUMBERED + _U64.pack(int(match[0])) + _part(id[end:]) if id[end] == "?" else _part(id)


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
