"""Asking the canary: run it in a process of its own and read its end."""

import logging
import signal
import struct
import subprocess
import sys
from pathlib import Path

from slowcat_memory.errors import StoreTooNewError
from slowcat_memory.store.disk import canary

log = logging.getLogger(__name__)

DEADLY = {signal.SIGBUS, signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE}
BASE_SECONDS, SECONDS_PER_BYTE = 60.0, 1 / (5 << 20)  # 0.23 s per 78 MiB measured, so 70 x slack

# What a meta page holds, after 16 bytes of page header, for native 64-bit stores: magic, version,
# address, map size, two trees of 48 bytes (the first begins with the page size), last page, txn.
_META = struct.Struct("=IIQQ I44x 48x QQ")
_META_AT, _MAGIC = 16, 0xBEEFC0DE


def is_whole(file: Path) -> bool:
    """Let a canary read every record of a data file.

    Args:
        file: The file; no writer has it open.

    Returns:
        False when it is empty, when the canary found damage or died of it; True as well when no canary can be sent
        (an embedded interpreter), because nothing speaks against the file then.

    Raises:
        StoreTooNewError: A newer version of this package wrote it.
    """
    if not file.stat().st_size:
        return False
    seconds = BASE_SECONDS + file.stat().st_size * SECONDS_PER_BYTE
    verdict = send("check", str(file), seconds=seconds)
    if verdict is None:
        log.warning("no canary could judge %s", file)
    return verdict is not False


def send(*args: str, seconds: float) -> bool | None:
    """Run the canary.

    Args:
        *args: Its command and arguments.
        seconds: How long it may take.

    Returns:
        True when it found all well, False on damage, None when it could not tell.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        return None
    command = [sys.executable, "-I", canary.__file__, *args]
    try:
        done = subprocess.run(
            command,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return False  # a damaged tree can lead round in circles
    except OSError:
        return None
    return _verdict(done.returncode)


def _verdict(code: int) -> bool | None:
    if code == canary.NEWER:
        raise StoreTooNewError(
            "a newer version wrote this store", hint="Install the newer slowcat-memory again."
        )
    if code == canary.WHOLE:
        return True
    return False if code == canary.DAMAGED or -code in DEADLY else None


def looks_cut(file: Path) -> bool:
    """Compare the file's size with what its meta pages speak of; a hint, not a verdict.

    Healthy stores fail this now and then, so it only ever decides to send the canary.

    Args:
        file: The data file.

    Returns:
        True when the file is shorter than a meta page says, or has none.
    """
    with file.open("rb") as data:
        head = data.read(1 << 17)
    size = file.stat().st_size
    page = _page_size(head)
    metas = [_meta(head, at) for at in (0, page)]
    return any(meta is None or (meta[5] + 1) * page > size for meta in metas)


def _page_size(head: bytes) -> int:
    meta = _meta(head, 0)
    return min(meta[4], 1 << 16) if meta else 4096


def _meta(head: bytes, at: int) -> tuple[int, ...] | None:
    if len(head) < at + _META_AT + _META.size:
        return None
    meta = _META.unpack_from(head, at + _META_AT)
    return meta if meta[0] == _MAGIC else None
