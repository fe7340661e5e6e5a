"""Runs the canary in a process of its own, and interprets its exit."""

import signal
import struct
import subprocess
from pathlib import Path

from loguru import logger

from slowcat_memory.child_process import python_command
from slowcat_memory.errors import StoreTooNewError
from slowcat_memory.store.disk import canary

FATAL_SIGNALS = {signal.SIGBUS, signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE}
BASE_SECONDS, SECONDS_PER_BYTE = 60.0, 1 / (5 << 20)  # 0.23 s per 78 MiB measured, so 70 x slack

# A meta page, after 16 bytes of page header, for native 64-bit stores: magic, version, address, map
# size, two trees of 48 bytes (the first begins with the page size), last page, txn.
_META = struct.Struct("=IIQQ I44x 48x QQ")
_META_AT, _MAGIC = 16, 0xBEEFC0DE


def is_whole(file: Path) -> bool:
    """Return whether every record of a data file that no writer has open is whole.

    False when it is empty, or when the canary found damage or died of it. True as well when no
    canary can run (an embedded interpreter), because there is no evidence of damage then.

    Raises:
        StoreTooNewError: A newer version of this package wrote it.
    """
    if not file.stat().st_size:
        return False
    seconds = BASE_SECONDS + file.stat().st_size * SECONDS_PER_BYTE
    verdict = run_canary("check", str(file), seconds=seconds)
    if verdict is None:
        logger.warning("no canary could check {}", file)
    return verdict is not False


def run_canary(*args: str, seconds: float) -> bool | None:
    """Run the canary for at most ``seconds``.

    Returns True when all is well, False on damage, None when it could not run.
    """
    try:
        done = subprocess.run(
            python_command(canary.__file__, *args),
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return False  # a damaged tree can have cycles
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
    return False if code == canary.DAMAGED or -code in FATAL_SIGNALS else None


def looks_cut(file: Path) -> bool:
    """Return whether a data file is shorter than a meta page says, or has none.

    Healthy stores sometimes fail this, so it only decides whether to run the canary.
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
