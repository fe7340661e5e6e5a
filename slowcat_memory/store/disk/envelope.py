"""The envelope around every record: header, checksum, body.

Imports nothing of the package: ``canary``, which is run as a script, reads it too. Layout::

    ver u8 | codec u8 | flags u16 | crc32(key + body) u32 | body
"""

import struct
import zlib

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
    found = zlib.crc32(memoryview(value)[HEADER.size : end], zlib.crc32(key))
    while found != crc and end < len(value):
        found = zlib.crc32(value[end : end + 1], found)
        end += 1
    return value[:end] if intact(key, value[:end]) else None
