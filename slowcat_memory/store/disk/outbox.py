"""The change sets of a copy that are still to be sent to the database that all copies share.

A *change set* is what one committed transaction changed, as bytes that another machine can write
into its copy: the changed rows of every table, compressed; deletions have no value. The rows are as
they lie on disk: each in its envelope, with a checksum over key and body. Rows that describe this
machine's files are left out.

Each transaction writes its own change set into the table ``outbox``, numbered, together with the
rows that it changes. So whatever ends this process, what was saved here and what must be sent are
the same. A change set is deleted by a later transaction, once it is known to have been sent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import msgspec
import zstandard
from msgspec import Struct

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.page_reader import enclose
from slowcat_memory.store.disk.tables import COUNTS, EPOCH

T = TypeVar("T")
Changes: TypeAlias = "dict[str, dict[bytes, bytes | None]]"  # by table and key; None for a deletion

OUTBOX = "outbox"  # a copy's table of change sets that may not have been sent
COPY = "copy"  # row of ``meta``: ``CopyState``
LOCAL_TABLES = frozenset({OUTBOX, "manifest"})  # manifests name files of this machine
LOCAL_META = frozenset(map(codec.name_key, (COUNTS, COPY)))
LEVEL = 1  # of zstd: 0.1 ms for a turn, a third of its size; vectors do not shrink further

_pack = msgspec.msgpack.Encoder().encode
_unpack_changes = msgspec.msgpack.Decoder(dict[str, dict[bytes, bytes | None]]).decode


def shared(changes: Mapping[str, Mapping[bytes, bytes | None]]) -> Changes:
    """Return the changes that every copy of the store must have.

    Rows of ``changes`` are deleted where a sealed index was built that has them; other copies, with
    an older index, need them still.
    """
    result: Changes = {
        table: dict(rows) for table, rows in changes.items() if rows and table not in LOCAL_TABLES
    }
    listed = result.pop("changes", {})
    if any(listed.values()):
        result["changes"] = {key: value for key, value in listed.items() if value is not None}
    if meta := result.pop("meta", None):
        if own := {key: value for key, value in meta.items() if key not in LOCAL_META}:
            result["meta"] = own
    return result


def pack(content: Any) -> bytes:
    """Return a change set, or a piece of a file, as it is sent."""
    return zstandard.compress(_pack(content), LEVEL)


def unpack(decode: Callable[[bytes], T], body: bytes, what: str) -> T:
    """Return what ``pack`` packed; raises ``StoreDamagedError``, which says ``what`` it is not."""
    try:
        return decode(zstandard.decompress(body))
    except (zstandard.ZstdError, msgspec.MsgspecError) as error:
        raise StoreDamagedError(f"{what} does not unpack") from error


def unpack_changes(body: bytes) -> Changes:
    """Return the changes in a change set.

    Raises:
        StoreDamagedError: It is not one.
    """
    return unpack(_unpack_changes, body, "a change set")


def forgets(changes: Changes) -> bool:
    """Return whether something was forgotten: what was built from earlier rows must go."""
    return codec.name_key(EPOCH) in changes.get("meta", {})


class CopyState(Struct, frozen=True, kw_only=True):
    """Whose copy a store is, and up to where; a row of ``meta``.

    Attributes:
        tenant: The tenant in the database.
        person: The person whose memory it is.
        seq: Number of the last change set that it contains.
        epoch: Epoch of the lease under which it was last written.
    """

    tenant: str
    person: str
    seq: int = 0
    epoch: int = 0


class Unsent(Struct, frozen=True):
    """A change set that waits.

    Attributes:
        seq: Its number; the first of a person is 1.
        epoch: Epoch of the lease under which it was written.
        last_event: Highest log id of the events in it, 0 for none.
        body: See ``pack``.
    """

    seq: int
    epoch: int
    last_event: int
    body: bytes


_unpack = msgspec.msgpack.Decoder(Unsent).decode


def decode(key: bytes, value: bytes) -> Unsent:
    """Return the change set in a row; raises ``StoreDamagedError`` if it is damaged."""
    return _unpack(codec.unseal(key, value))


def encode(unsent: Unsent) -> tuple[bytes, bytes]:
    """Return a change set's row."""
    key = codec.id_key(unsent.seq)
    return key, enclose(key, _pack(unsent))


@dataclass(eq=False)
class Outbox:
    """How far the change sets of one open store have come; ``disk.transaction`` writes them.

    Attributes:
        epoch: Epoch of the present lease.
        seq: Number of the last change set that is committed here.
        sent: Number of the last one that is known to be sent; a later transaction deletes them.
        on_commit: Called on the writing thread after each committed change set.
    """

    epoch: int
    seq: int = 0
    sent: int = 0
    on_commit: Callable[[], object] = lambda: None

    def note_sent(self, upto: int) -> None:
        self.sent = max(self.sent, upto)

    def committed(self, seq: int) -> None:
        """Record that the transaction with this change set, or none of its own, is on disk."""
        if seq > self.seq:
            self.seq = seq
            self.on_commit()
