"""Here is an id, give me the record: the only truth, in one LMDB file.

Useful for: appending what was said, keeping what was derived from it, reading both consistently,
and forgetting for good. Not useful for: finding something by its content (see ``index``).
"""

from slowcat_memory.store.care.health import BadIndex, Health
from slowcat_memory.store.care.restore import Restored, restore
from slowcat_memory.store.options import OpenReport, StoreOptions
from slowcat_memory.store.snapshot import Snapshot
from slowcat_memory.store.store import Store
from slowcat_memory.store.writer.ack import Ack

__all__ = [
    "Ack",
    "BadIndex",
    "Health",
    "OpenReport",
    "Restored",
    "Snapshot",
    "Store",
    "StoreOptions",
    "restore",
]
