"""The store's knobs, and what opening it found."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct

Durability = Literal["full", "relaxed"]


def utc_now() -> datetime:
    """Return the time.

    Returns:
        Aware, in UTC.
    """
    return datetime.now(UTC)


class StoreOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the store keeps what it is given.

    Behaviour:

    Attributes:
        durability: "full": what is acknowledged survives a power loss. "relaxed": a power loss
            may take the very last transaction, never more, and a commit costs one flush of the
            disk instead of two; for SD cards.
        ledger_keep: How many turns' ledger rows are kept; older ones make room.
        runs_keep: How many steps of idle jobs the run log tells of; older ones make room.
        backups_keep: How many backups are kept in the store's own ``backups`` folder.
        min_free_mb: Below this much free disk, derived work is refused and only turns are saved.
        allow_unsafe_fs: Open on a network file system all the same. Locks and memory maps do not
            hold there: expect damage.

    Performance:

    Attributes:
        map_size_gib: Address space to reserve. The file grows as needed; growing the map beyond
            this makes readers wait for a moment. 32-bit machines take 512 MiB at most.
        queue_limit: How many events may wait to be saved; beyond it derived work is shed, then
            events are refused.
        batch_limit: How many of them share one transaction.
    """

    durability: Durability = "full"
    ledger_keep: int = 1000
    runs_keep: int = 1000
    backups_keep: int = 7
    min_free_mb: int = 200
    allow_unsafe_fs: bool = False

    map_size_gib: float = 8.0
    queue_limit: int = 10_000
    batch_limit: int = 256


class OpenReport(Struct, frozen=True, kw_only=True):
    """What ``Store.open`` found and did.

    Attributes:
        created: There was no store; this is a new one.
        unclean_stop: The last writer did not close the store.
        moved_aside: Where the files of a damaged store are now, None when it was whole.
        salvaged: How many events of the log were carried over from a damaged store.
        lost: Log ids of events that are known to be lost with a damaged block.
        restored_from: The backup that replaced a damaged store, None when none did.
        migrated_from: The schema version before the migration, None when none was needed.
    """

    created: bool = False
    unclean_stop: bool = False
    moved_aside: Path | None = None
    salvaged: int = 0
    lost: tuple[int, ...] = ()
    restored_from: Path | None = None
    migrated_from: int | None = None
