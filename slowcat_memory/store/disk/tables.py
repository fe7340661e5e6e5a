r"""Every table, its keys and values, and how its rows name their sources.

Those up to ``cold`` are the log; those up to ``vectors`` can be made again from it; the others are
about both. Keys are made in ``codec``; in their layout ``\0`` separates, ``u64`` is 8
bytes, big-endian. A value is a record in an envelope; ``empty`` is an envelope without a body.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from slowcat_memory import records


class NamedBy(StrEnum):
    """How a table's rows name their sources; ``store.forget`` has one rule for each."""

    EVENT = "the key ends with an event's log id"
    PACKED_EVENTS = "the row holds events, or pieces of them"
    SELECTION = "the record's own id, scope, speaker, time and sources are matched"
    SESSION = "the row is folded from a session's events"
    TURNS = "the record's `sources` are log ids of turns"
    MEMORY = "the record's `memory` is a memory of its scope"
    WORK = "a job's words for its work name a scope, session or memory"
    SUBJECT = "the key ends with the id of a memory, or of a key that points to one"
    IDS = "the record lists ids, and stays without those that go"
    SCOPE = "the key begins with a scope; the rows go when anything of it goes"
    NOTHING = "no row names a turn, a memory or a session"


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    Attributes:
        name: Its LMDB name.
        key: Layout of its keys.
        value: Content of an envelope.
        named_by: How its rows name their sources. At least one; with ``NOTHING`` alone, ``reason``
            must say why no row needs deleting.
    """

    name: str
    key: str
    value: str
    named_by: tuple[NamedBy, ...]
    reason: str = ""


_EVENT, _PACKED, _SELECTION = NamedBy.EVENT, NamedBy.PACKED_EVENTS, NamedBy.SELECTION
_TURNS, _MEMORY, _SUBJECT = NamedBy.TURNS, NamedBy.MEMORY, NamedBy.SUBJECT
_SESSION, _WORK, _IDS, _SCOPE = NamedBy.SESSION, NamedBy.WORK, NamedBy.IDS, NamedBy.SCOPE

# A forget deletes rows in this order: each table after those whose rows it is about.
TABLES = (
    Table("log", "u64 id", "Turn | SessionEdge", (_EVENT,)),
    Table("places", "u64 id", "u64 number of the block that holds the event", (_EVENT,)),
    Table("warm", "u64 number", "block of events, LZ4", (_PACKED,)),
    Table("cold", "u64 number", "block of events, zstd", (_PACKED,)),
    Table("log_by_scope", r"scope \0 u64 id", "empty", (_EVENT,)),
    Table("sessions", "session id", "Session", (_SESSION,)),
    Table("memories", r"scope \0 id", "Memory", (_SELECTION,)),
    Table("contexts", r"scope \0 memory id", "Context", (_TURNS, _MEMORY)),
    Table("keys", r"scope \0 memory id ? name", "Key", (_TURNS, _MEMORY)),
    Table(
        "vectors",
        # Of a turn's memory: byte 255, u64 turn, and "?name" of a key.
        r"8-byte hash of a space's key, scope \0 id of a memory or of a key",
        "scale f32, int8… | token_dim u16, codes u8… in a space of tokens",
        (_SUBJECT,),
    ),
    Table("ledger", "u64 id of the user's turn", "LedgerEntry", (_IDS,)),
    Table("calls", "u64 id", "CallEntry", (_IDS,)),
    Table("commands", "u64 id", "CommandEntry", (_IDS,)),
    Table("tasks", "task id", "Task", (_TURNS, _WORK)),
    Table("runs", "u64 id", "Run", (_WORK,)),
    Table("manifest", "scope", "Manifest", (_SCOPE,)),
    Table("changes", r"scope \0 u64 number", "ids of memories", (_SCOPE,)),
    Table(
        "cursors",
        "name",
        "Cursor",
        (NamedBy.NOTHING,),
        "a job's name, a position and its mark: numbers, hashes, ids of open sessions; no text",
    ),
    Table(
        "tombstones",
        r"t u64 id | n hash | g hash",
        "empty | forget epoch",
        (NamedBy.NOTHING,),
        "says what is forgotten: log ids of turns, hashes of memories; no text",
    ),
    Table(
        "meta",
        "name",
        "JSON",
        (NamedBy.NOTHING,),
        "counters, clocks, keys of embedders; the list of open sessions follows `sessions`; what is "
        "to be erased is deleted when it is",
    ),
)

NAMES = tuple(table.name for table in TABLES)
RECORDS: dict[str, Any] = {table.name: getattr(records, table.value, None) for table in TABLES}

# Rows of ``meta``.
FORMAT_ROW = "schema"  # str: ``codec.FORMAT``
CREATED = "created"  # str: ISO 8601
NEXT_ID = "next_id"  # int: smaller ids are never used again, not even those of forgotten events
EPOCH = "forget_epoch"  # int: number of deletions so far
UNENDED = "unended"  # [str]: sessions that have not ended
LAST_CHANGE = "last_change"  # int: number of the last row of ``changes``
LAST_CALL = "last_call"  # int: number of the last row of ``calls``
LAST_RUN = "last_run"  # int: number of the last row of ``runs``
ERASE_DUE = "erase_due"  # bool: deleted text may still be in free pages, or in copies
PENDING = "erasure"  # [str]: scopes of what is to be erased; missing when nothing is
COUNTS = "counts"  # {table: rows} of every table but ``meta``
CLOCK = "clock"  # TrustedTime; missing while the wall clock was never doubted
EMBEDDERS = "embedders"  # {hex hash: the embedder's key}
