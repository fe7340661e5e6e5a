"""What one committed transaction changed, as bytes that another machine can write into its copy.

A *change set* is the changed rows of every table, compressed; deletions have no value. The rows are
as they lie on disk: each in its envelope, with a checksum over key and body. Rows that describe this
machine's files are left out.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec
import zstandard

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.tables import COUNTS, EPOCH, ERASE_DUE

Changes: TypeAlias = "dict[str, dict[bytes, bytes | None]]"  # by table and key; None for a deletion

OUTBOX = "outbox"  # a copy's table of change sets that may not have been sent
COPY = "copy"  # row of ``meta``: ``outbox.CopyState``
LOCAL_TABLES = frozenset({OUTBOX, "manifest"})  # manifests name files of this machine
_LOCAL_META = frozenset(map(keys.name_key, (COUNTS, COPY)))
_ERASURE = frozenset(map(keys.name_key, (EPOCH, ERASE_DUE)))
LEVEL = 1  # of zstd: 0.1 ms for a turn, a third of its size

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(dict[str, dict[bytes, bytes | None]]).decode


def shared(changes: Mapping[str, Mapping[bytes, bytes | None]]) -> Changes:
    """Return the changes that every copy of the store must have.

    Rows of ``changes`` are deleted where a sealed index was built that has them; other copies, with
    an older index, need them still.
    """
    found: Changes = {
        table: dict(rows) for table, rows in changes.items() if rows and table not in LOCAL_TABLES
    }
    listed = found.pop("changes", {})
    if any(listed.values()):
        found["changes"] = {key: value for key, value in listed.items() if value is not None}
    if meta := found.pop("meta", None):
        if own := {key: value for key, value in meta.items() if key not in _LOCAL_META}:
            found["meta"] = own
    return found


def encode(changes: Changes) -> bytes:
    return zstandard.compress(_pack(changes), LEVEL)


def decode(body: bytes) -> Changes:
    """Return the changes in a change set.

    Raises:
        StoreDamagedError: It is not one.
    """
    try:
        return _unpack(zstandard.decompress(body))
    except (zstandard.ZstdError, msgspec.MsgspecError) as error:
        raise StoreDamagedError("a change set does not unpack") from error


def forgets(changes: Changes) -> bool:
    """Return whether something was forgotten: what was built from earlier rows must go."""
    return keys.name_key(EPOCH) in changes.get("meta", {})


def erases(changes: Changes) -> bool:
    """Return whether an erasure begins or ends."""
    return not _ERASURE.isdisjoint(changes.get("meta", ()))


def last_event(changes: Changes) -> int:
    """Return the highest log id of the events that changes write; 0 for none."""
    rows: Iterable[bytes] = (key for key, value in changes.get("log", {}).items() if value)
    return max(map(keys.id_of, rows), default=0)
