"""The store's options, and the report of opening it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

Durability = Literal["full", "relaxed"]


def utc_now() -> datetime:
    return datetime.now(UTC)


class StoreOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the store keeps its records.

    Behaviour:

    Attributes:
        durability: "full": what is acknowledged survives a power loss. "relaxed": a power loss
            may take the very last transaction, never more, and a commit costs one flush of the
            disk instead of two; for SD cards.
        ledger_keep: How many turns' ledger rows are kept; more let you look further back at what
            recall did, and take room.
        runs_keep: How many steps of idle jobs the run log keeps.
        backups_keep: How many backups are kept in the store's own ``backups`` folder.
        min_free_mb: Below this much free disk, in megabytes, derived work is refused and only
            turns are saved.
        allow_unsafe_fs: Open on a network file system all the same. Locks and memory maps do not
            work there: expect damage.

    Performance:

    Attributes:
        map_size_gib: Address space that a new store reserves, in GiB. A store that needs more is
            copied into a file with twice as much. 32-bit machines take 512 MiB at most.
        queue_limit: How many events may wait to be saved; beyond it derived work is shed, then
            the oldest events are dropped and counted.
        batch_limit: How many of them share one transaction.
    """

    durability: Durability = "full"
    ledger_keep: Annotated[int, Meta(ge=0, le=1_000_000)] = 1000
    runs_keep: Annotated[int, Meta(ge=0, le=1_000_000)] = 1000
    backups_keep: Annotated[int, Meta(ge=1, le=10_000)] = 7
    min_free_mb: Annotated[int, Meta(ge=0, le=1 << 24)] = 200
    allow_unsafe_fs: bool = False

    map_size_gib: Annotated[float, Meta(gt=0.0, le=1024.0)] = 8.0
    queue_limit: Annotated[int, Meta(ge=1, le=1_000_000)] = 10_000
    batch_limit: Annotated[int, Meta(ge=1, le=100_000)] = 256


class OpenReport(Struct, frozen=True, kw_only=True):
    """What ``Store.open`` found and did.

    Attributes:
        created: There was no store; this is a new one.
        unclean_stop: The last writer did not close the store.
        moved_aside: Path of the files of a damaged store, None when it was whole.
        salvaged: How many events of the log were salvaged from a damaged store.
        restored_from: The backup that replaced a damaged store, None when none did.
        is_first: No other process had it open.
    """

    created: bool = False
    unclean_stop: bool = False
    moved_aside: Path | None = None
    salvaged: int = 0
    restored_from: Path | None = None
    is_first: bool = True

    @property
    def trouble(self) -> str:
        """What the application must know, as a sentence; "" when the store was whole."""
        if self.moved_aside is None:
            return ""
        rescued = f"{self.salvaged} events were recovered"
        if self.restored_from:
            rescued = f"the backup {self.restored_from} was restored"
        kept = f"Its files are kept in {self.moved_aside} until you delete them"
        return f"the store was damaged: {rescued}. {kept}."
