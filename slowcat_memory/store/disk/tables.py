"""Every table: its name, how its keys are laid out, what its values are, and what they are for.

``source`` rows are what was said; ``derived`` rows can be made again from them; ``bookkeeping``
rows are about the other two. Keys are built in ``codec``; a value is a record in an envelope, and
``empty`` is an envelope without a body.
"""

from dataclasses import dataclass
from typing import Literal

SCHEMA_VERSION = 4

Role = Literal["source", "derived", "bookkeeping"]


@dataclass(frozen=True, slots=True)
class Table:
    r"""One table.

    Attributes:
        name: Its LMDB name.
        key: Layout of its keys; ``\0`` separates, ``u64`` is 8 bytes, big-endian.
        value: What an envelope holds.
        role: Whether it is what was said, made from it, or about it.
    """

    name: str
    key: str
    value: str
    role: Role


TABLES = (
    Table("log", "u64 id", "Turn | SessionEdge", "source"),
    Table("places", "u64 id", "u64 number of the block that holds the event", "source"),
    Table("warm", "u64 number", "block of events, LZ4", "source"),
    Table("cold", "u64 number", "block of events, zstd", "source"),
    Table("dictionaries", "u64 number", "Dictionary", "source"),
    Table("memories", r"scope \0 id", "Memory", "derived"),
    Table("log_by_scope", r"scope \0 u64 id", "empty", "derived"),
    Table("sessions", "session id", "Session", "derived"),
    Table(
        "vectors",
        r"8-byte hash of a space's key, scope \0 id of a memory or of a key",
        "flags u8, float16… | flags u8, token_dim u16, int8… in a space of token vectors",
        "derived",
    ),
    Table("contexts", r"scope \0 memory id", "Context", "derived"),
    Table("keys", r"scope \0 memory id ? name", "Key", "derived"),
    Table("ledger", "u64 id of the user's turn", "LedgerEntry", "bookkeeping"),
    Table("commands", "u64 id", "CommandEntry", "bookkeeping"),
    Table("tasks", "task id", "Task", "bookkeeping"),
    Table("runs", "u64 id", "Run", "bookkeeping"),
    Table("cursors", "name", "Cursor", "bookkeeping"),
    Table("manifest", "scope", "Manifest", "bookkeeping"),
    Table("changes", r"scope \0 u64 number", "ids of memories", "bookkeeping"),
    Table(
        "tombstones", r"t u64 id | m scope \0 id | g hash", "empty | forget epoch", "bookkeeping"
    ),
    Table("meta", "name", "JSON", "bookkeeping"),
)

NAMES = tuple(table.name for table in TABLES)

# Rows of ``meta``.
SCHEMA = "schema"  # int: SCHEMA_VERSION when written
CREATED = "created"  # str: ISO 8601
NEXT_ID = "next_id"  # int: ids below it are taken for ever, forgotten ones too
EPOCH = "forget_epoch"  # int: how often something was forgotten
UNENDED = "unended"  # [str]: sessions that have not ended; missing in older stores
LAST_CHANGE = "last_change"  # int: number of the last row of ``changes``
LAST_RUN = "last_run"  # int: number of the last row of ``runs``
ERASE_DUE = "erase_due"  # bool: deleted text may still be in free pages of the file
COUNTS = "counts"  # {table: rows} of every table but ``meta``
DICTIONARIES = "dictionaries"  # int: numbers of dictionaries up to it are taken for ever
EMBEDDERS = "embedders"  # {hex hash: the embedder's key}
