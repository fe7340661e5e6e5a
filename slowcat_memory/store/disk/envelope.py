"""The envelope around every record: header, checksum, body; and the canary, which reads them all.

Imports nothing of the package, because it is also a script, in a process of its own that damage may
kill: a truncated file kills its reader by SIGBUS and a zeroed page aborts it, so the agent never
reads a doubtful file itself. Layout::

    ver u8 | codec u8 | flags u16 | crc32(key + body) u32 | body

Usage::

    python envelope.py check FILE        exit 0: every record is whole; no writer has the file
    python envelope.py read FOLDER       the same beside a writer
"""

import errno
import json
import struct
import sys
import zlib
from collections.abc import Iterable

import lmdb

FORMAT = "slowcat-7"  # of a store; change it whenever a row, a key or a table changes
FORMAT_KEY = b"schema"  # of its row in ``meta``, which all stores have

HEADER = struct.Struct(">BBHI")
VERSION = 1
RAW, LZ4 = 0, 1  # codecs of a body
MAX_TABLES = 32  # limit to set in LMDB


def seal(key: bytes, body: bytes, codec: int = RAW) -> bytes:
    """Return an envelope around a body; the checksum covers the key too."""
    return HEADER.pack(VERSION, codec, 0, zlib.crc32(body, zlib.crc32(key))) + body


def intact(key: bytes, value: bytes) -> bool:
    """Return whether a record is as it was written under this key: header, key and body."""
    if len(value) < HEADER.size:
        return False
    version, codec, flags, crc = HEADER.unpack_from(value)
    if version != VERSION or codec not in (RAW, LZ4) or flags:
        return False
    return bool(zlib.crc32(memoryview(value)[HEADER.size :], zlib.crc32(key)) == crc)


def is_of_another_format(row: bytes | None) -> bool:
    """Return whether the row of the format names another one; False for none, or a damaged one."""
    if row is None or FORMAT.encode() in row:
        return False
    return row[:1] != bytes([VERSION]) or intact(FORMAT_KEY, row)


def trim_to_record(key: bytes, value: bytes, least: int) -> bytes | None:
    """Return the envelope under a key that a value of unknown length begins with.

    It is at least ``least`` bytes long. None when there is none.
    """
    if len(value) < HEADER.size:
        return None
    crc = HEADER.unpack_from(value)[3]
    end = max(least, HEADER.size)
    crc_here = zlib.crc32(memoryview(value)[HEADER.size : end], zlib.crc32(key))
    while crc_here != crc and end < len(value):
        crc_here = zlib.crc32(value[end : end + 1], crc_here)
        end += 1
    return value[:end] if intact(key, value[:end]) else None


# ------------------------------------------------------------------- the canary


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


def check(file: str) -> int:
    """Read every record, compare the row counts, and try a write without committing it.

    Returns the exit code.
    """
    # Without a lock file: the caller has the writer lock, and nothing is committed.
    env = lmdb.open(
        file, subdir=False, lock=False, create=False, max_dbs=MAX_TABLES, map_size=0, lib_version=0
    )
    handles = _handles(env)
    code = _read(env, handles)
    if code == WHOLE and handles:
        # Takes pages from the free list as a real write does.
        txn = env.begin(write=True)
        txn.put(b"probe", bytes(8192), db=handles["meta"])
        txn.abort()
    return code


def read(folder: str) -> int:
    """Read every record and compare the row counts, beside a writer; return the exit code."""
    env = lmdb.open(folder, readonly=True, max_dbs=MAX_TABLES, lib_version=0)
    return _read(env, _handles(env))


def _read(env: lmdb.Environment, handles: "dict[str, lmdb._Database]") -> int:
    if not handles:
        return WHOLE  # not even the tables were made
    with env.begin() as txn:
        if is_of_another_format(txn.get(FORMAT_KEY, db=handles["meta"])):
            return OTHER_FORMAT
        rows = {name: count_rows(txn.cursor(db)) for name, db in handles.items()}
        return judge(txn.get(b"counts", db=handles["meta"]), rows)


def judge(counts: bytes | None, rows: "dict[str, int | None]") -> int:
    """Compare the row of the counts with what was counted, None for a table with a damaged row."""
    if None in rows.values():
        return DAMAGED
    if counts is None:  # the tables are made, their first rows were not committed
        return DAMAGED if any(rows.values()) else WHOLE
    expected = json.loads(counts[HEADER.size :])
    return DAMAGED if any(rows.get(name) != count for name, count in expected.items()) else WHOLE


def _handles(env: lmdb.Environment) -> "dict[str, lmdb._Database]":
    with env.begin() as txn:
        names = [key for key, _ in txn.cursor()]
    return {name.decode(): env.open_db(name, create=False) for name in names}


def count_rows(pairs: "Iterable[tuple[bytes, bytes]]") -> int | None:
    """Count rows; None if one is damaged."""
    rows = 0
    for key, value in pairs:
        if not intact(key, value):
            return None
        rows += 1
    return rows


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
