"""Keys to bytes and back.

They sort by scope and then by id, so that one namespace is one range. Parts are separated by a NUL,
which no part may hold; numbers are 8 bytes, big-endian, and come last.
"""

import struct
from hashlib import blake2b

MAX_KEY = 511  # bytes, LMDB's limit
HASH = 8  # bytes of an embedder's hash

_U64 = struct.Struct(">Q")


def id_key(position: int) -> bytes:
    """Return the key of a log position.

    Args:
        position: From 1.

    Returns:
        8 bytes that sort like the number.
    """
    return _U64.pack(position)


def id_of(key: bytes) -> int:
    """Return the log position at the end of a key.

    Args:
        key: From ``id_key``, or a key that ends with one.

    Returns:
        The position.
    """
    return int(_U64.unpack(key[-8:])[0])


def name_key(name: str) -> bytes:
    """Return the key of something that is found by its name.

    Args:
        name: A session, a cursor, a scope, a row of ``meta``.

    Returns:
        UTF-8.

    Raises:
        ValueError: The name is empty, too long or holds a NUL.
    """
    return _checked(_part(name))


def scope_prefix(scope: str) -> bytes:
    """Return what every key of a namespace begins with.

    Args:
        scope: The namespace.

    Returns:
        The scope and a NUL.

    Raises:
        ValueError: The scope is empty or holds a NUL.
    """
    return _part(scope) + b"\0"


def scoped_key(scope: str, name: str) -> bytes:
    """Return the key of a memory.

    Args:
        scope: Its namespace.
        name: Its id.

    Returns:
        Scope, NUL, id.

    Raises:
        ValueError: A part is empty, holds a NUL, or both are too long.
    """
    return _checked(scope_prefix(scope) + _part(name))


def scoped_id_key(scope: str, position: int) -> bytes:
    """Return the key of a log position within its namespace.

    Args:
        scope: The namespace.
        position: From 1.

    Returns:
        Scope, NUL, 8 bytes.

    Raises:
        ValueError: The scope is empty, too long or holds a NUL.
    """
    return _checked(scope_prefix(scope) + _U64.pack(position))


def split_scope(key: bytes) -> tuple[str, bytes]:
    """Take a scoped key apart.

    Args:
        key: From ``scoped_key`` or ``scoped_id_key``.

    Returns:
        The scope, and the bytes after the NUL.
    """
    scope, _, rest = key.partition(b"\0")
    return scope.decode(), rest


def embedder_hash(embedder: str) -> bytes:
    """Return what stands for an embedder in a vector's key.

    Args:
        embedder: Its key; not empty.

    Returns:
        8 bytes.

    Raises:
        ValueError: The key is empty.
    """
    if not embedder:
        raise ValueError("vectors without the key of their embedder")
    return blake2b(embedder.encode(), digest_size=HASH).digest()


def vector_key(embedder: str, scope: str, memory: str) -> bytes:
    """Return the key of a vector.

    Args:
        embedder: Key of the embedder that made it.
        scope: The memory's namespace.
        memory: The memory's id.

    Returns:
        Hash, scope, NUL, id.

    Raises:
        ValueError: A part is empty, holds a NUL, or all are too long.
    """
    return _checked(embedder_hash(embedder) + scoped_key(scope, memory))


def owner_of(id: str) -> str:
    """Return the memory that a key of it points back to.

    Args:
        id: ``<memory>?<name>``; or a memory's own id, which may hold no "?".

    Returns:
        The memory's id, "" when it is no key's.
    """
    return id.rpartition("?")[0]


def turn_tombstone(position: int) -> bytes:
    """Return the key that says that a turn is forgotten.

    Args:
        position: The turn's log id.

    Returns:
        The key.
    """
    return b"t" + _U64.pack(position)


def memory_tombstone(scope: str, memory: str) -> bytes:
    """Return the key that says that a memory is forgotten.

    Args:
        scope: Its namespace.
        memory: Its id.

    Returns:
        The key.
    """
    return _checked(b"m" + scoped_key(scope, memory))


def is_turn_tombstone(key: bytes) -> bool:
    """Tell whether a tombstone is a turn's.

    Args:
        key: Of any row among the tombstones.

    Returns:
        False for a memory's, and for a mark.
    """
    return key[:1] == b"t" and len(key) == 1 + _U64.size


def epoch_mark(scope: str, memory: str) -> bytes:
    """Return the key that says when a memory was forgotten that may be made anew.

    Args:
        scope: Its namespace.
        memory: Its id, which may be made of words: only a hash of it stays.

    Returns:
        The key.
    """
    return b"g" + blake2b(scoped_key(scope, memory), digest_size=2 * HASH).digest()


def _part(name: str) -> bytes:
    raw = name.encode()
    if not raw or b"\0" in raw:
        raise ValueError(f"a key that is empty or holds a NUL: {name!r}")
    return raw


def _checked(key: bytes) -> bytes:
    if len(key) > MAX_KEY:
        raise ValueError(f"a key of {len(key)} bytes; {MAX_KEY} fit")
    return key
