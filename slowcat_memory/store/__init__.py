"""The source of truth, in one LMDB file: given an id, returns the record.

Appends to the log, stores records derived from it, reads both consistently, and deletes for good.
To find a record by its content, see ``index``.
"""

from slowcat_memory.store.care.backups import Restored, restore
from slowcat_memory.store.care.copies import backups_of, drafting
from slowcat_memory.store.care.health import Health
from slowcat_memory.store.care.open import check_writable
from slowcat_memory.store.disk.environment import disk_error
from slowcat_memory.store.disk.folder import damaged_folders, data_file
from slowcat_memory.store.options import OpenReport, StoreOptions
from slowcat_memory.store.snapshot import Snapshot
from slowcat_memory.store.store import Store
from slowcat_memory.store.writer import Ack, new_future

__all__ = [
    "Ack",
    "Health",
    "OpenReport",
    "Restored",
    "Snapshot",
    "Store",
    "StoreOptions",
    "check_writable",
    "new_future",
    "backups_of",
    "damaged_folders",
    "data_file",
    "disk_error",
    "drafting",
    "restore",
]
