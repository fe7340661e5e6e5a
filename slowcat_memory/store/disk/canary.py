"""Checks a store's file, as a script in a process of its own that damage may kill.

A truncated file kills its reader by SIGBUS and a zeroed page aborts it, so the agent never reads a
doubtful file itself. To start fast, the script imports only ``envelope``, the file beside it.

Usage::

    python canary.py check FILE        exit 0: every record is whole; no writer has the file
    python canary.py read FOLDER       the same beside a writer
"""

import errno
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import lmdb

if __package__:
    from slowcat_memory.store.disk import envelope
else:  # run as a script
    sys.path.insert(0, str(Path(__file__).parent))  # before any other package of that name
    import envelope  # type: ignore[no-redef]

# Exit codes; 1 is Python's own, for a canary that cannot start.
WHOLE, DAMAGED, OTHER_FORMAT, UNKNOWN = 0, 3, 4, 5

# Errors that prevent opening even an undamaged file.
SYSTEM_ERRORS = frozenset(
    {
        errno.ENOMEM,
        errno.EACCES,
        errno.EPERM,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOSPC,
        errno.EROFS,
        errno.ENOENT,
    }
)


def is_file_damage(error: lmdb.Error) -> bool:
    """Return whether an LMDB error is the file's fault.

    False when the machine or its settings are to blame, and for another LMDB version's file.
    """
    if isinstance(error, lmdb.MemoryError | lmdb.VersionMismatchError):
        return False
    return error.code not in SYSTEM_ERRORS


def _open(file: str) -> lmdb.Environment:
    """Open without a lock file: the caller has the writer lock, and nothing is committed."""
    return lmdb.open(
        file,
        subdir=False,
        lock=False,
        create=False,
        max_dbs=envelope.MAX_TABLES,
        map_size=0,
        lib_version=0,
    )


def check(file: str) -> int:
    """Read every record, compare the row counts, and try a write without committing it.

    Returns the exit code.
    """
    env = _open(file)
    handles = _handles(env)
    code = _read(env, handles)
    if code == WHOLE and handles:
        _try_write(env, handles["meta"])
    return code


def read(folder: str) -> int:
    """Read every record and compare the row counts, beside a writer; return the exit code."""
    env = lmdb.open(folder, readonly=True, max_dbs=envelope.MAX_TABLES, lib_version=0)
    return _read(env, _handles(env))


def _read(env: lmdb.Environment, handles: "dict[str, lmdb._Database]") -> int:
    if not handles:
        return WHOLE  # not even the tables were made
    with env.begin() as txn:
        if envelope.is_of_another_format(txn.get(envelope.FORMAT_KEY, db=handles["meta"])):
            return OTHER_FORMAT
        rows = {name: count_rows(txn.cursor(db)) for name, db in handles.items()}
        return judge(txn.get(b"counts", db=handles["meta"]), rows)


def judge(counts: bytes | None, rows: "dict[str, int | None]") -> int:
    """Compare the row of the counts with what was counted, None for a table with a damaged row."""
    if None in rows.values():
        return DAMAGED
    if counts is None:  # the tables are made, their first rows were not committed
        return DAMAGED if any(rows.values()) else WHOLE
    expected = json.loads(counts[envelope.HEADER.size :])
    return DAMAGED if any(rows.get(name) != count for name, count in expected.items()) else WHOLE


def _handles(env: lmdb.Environment) -> "dict[str, lmdb._Database]":
    with env.begin() as txn:
        names = [key for key, _ in txn.cursor()]
    return {name.decode(): env.open_db(name, create=False) for name in names}


def count_rows(found: "Iterable[tuple[bytes, bytes]]") -> int | None:
    """Count rows; None if one is damaged."""
    rows = 0
    for key, value in found:
        if not envelope.intact(key, value):
            return None
        rows += 1
    return rows


def _try_write(env: lmdb.Environment, meta: "lmdb._Database") -> None:
    """Take pages from the free list as a real write does, then abort."""
    txn = env.begin(write=True)
    txn.put(b"probe", bytes(8192), db=meta)
    txn.abort()


def main(args: list[str]) -> int:
    command, path = args
    try:
        return check(path) if command == "check" else read(path)
    except MemoryError:
        return UNKNOWN
    except lmdb.Error as error:
        return DAMAGED if is_file_damage(error) else UNKNOWN
    except Exception:  # any error that a damaged file causes
        return DAMAGED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
