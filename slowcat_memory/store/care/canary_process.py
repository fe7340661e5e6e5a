"""Judges and salvages data files that may be damaged, in processes that damage may kill.

LMDB reads fastest, so a canary process opens the file with it. Where no canary can run (an embedded
interpreter, no memory for another process) the file's pages are read here instead, without LMDB:
slower, and as safe. A file is never taken for whole because nothing could read it.
"""

import signal
import subprocess
from pathlib import Path

from loguru import logger

from slowcat_memory.child_process import child_environment, python_command
from slowcat_memory.errors import StoreError, StoreFormatError, StoreFullError
from slowcat_memory.store.care import salvage
from slowcat_memory.store.disk import canary
from slowcat_memory.store.disk.canary import DAMAGED, OTHER_FORMAT
from slowcat_memory.store.disk.envelope import FORMAT_KEY, is_of_another_format
from slowcat_memory.store.disk.folder import data_file, generation
from slowcat_memory.store.disk.page_reader import PageMap, PageReader, Row, tables

FATAL_SIGNALS = {signal.SIGBUS, signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE}
BASE_SECONDS, SECONDS_PER_BYTE = 60.0, 1 / (5 << 20)  # 0.23 s per 78 MiB measured, so 70 x slack


def is_whole(file: Path) -> bool:
    """Return whether every record of a data file that no writer has open is whole.

    False when it is empty, or when the canary found damage or died of it.

    Raises:
        StoreFormatError: Another version of this package wrote it.
        OSError: It cannot be opened.
    """
    if not file.stat().st_size:
        return False
    return _judge("check", file, file)


def is_usable(file: Path) -> bool:
    """Return whether a backup is whole, and not of another format."""
    try:
        return is_whole(file)
    except StoreFormatError:
        return False


def reads_whole(folder: Path) -> bool:
    """Return whether every record is whole of a store that another process may be writing.

    Raises:
        StoreFormatError: Another version of this package wrote it.
        OSError: It cannot be opened.
    """
    return _judge("read", generation(folder), data_file(folder))


def _judge(command: str, target: Path, file: Path) -> bool:
    code = _run(canary.__file__, command, str(target), seconds=_patience(file))
    if code not in (canary.WHOLE, canary.DAMAGED, canary.OTHER_FORMAT, *FATAL_SIGNALS):
        logger.warning("no other process could check {}; its pages are read instead", file)
        code = check_pages(file)
    if code == canary.OTHER_FORMAT:
        raise StoreFormatError(f"{file} has the format of another version of slowcat-memory")
    return code == canary.WHOLE


def copy_whole_rows(file: Path, into: Path, map_size: int) -> None:
    """Copy every whole record of a damaged file into a new store in the folder ``into``.

    Raises:
        StoreFullError: The disk has no room for the copy.
        StoreError: The disk refuses otherwise.
    """
    args = (str(file), str(into), str(map_size))
    code = _run(salvage.__name__, *args, seconds=_patience(file))
    if code not in (salvage.DONE, salvage.FULL):
        logger.warning("no other process could salvage {}; it is read here instead", file)
        code = salvage.main(list(args))
    if code == salvage.FULL:
        raise StoreFullError("a damaged store cannot be salvaged", hint="Make room on the disk.")
    if code != salvage.DONE:
        raise StoreError(f"{file} cannot be salvaged", hint="Is its disk failing?")


def _patience(file: Path) -> float:
    return BASE_SECONDS + file.stat().st_size * SECONDS_PER_BYTE


def _run(program: str, *args: str, seconds: float) -> int | None:
    """Return a child's exit code, or the signal that killed it; None when it did not run or end."""
    try:
        done = subprocess.run(
            python_command(program, *args),
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=child_environment(),
        )
    except (subprocess.TimeoutExpired, OSError):  # a damaged tree can have cycles
        return None
    return abs(done.returncode)


def looks_cut(file: Path) -> bool:
    """Return whether a data file is shorter than a meta page says, or has none.

    Healthy stores sometimes fail this, so it only decides whether to run the canary.
    """
    with PageReader(file) as reader:
        return len(reader.metas) < 2 or any(
            meta.last_page >= reader.size // reader.page_size for meta in reader.metas
        )


# ------------------------------------------------------------------- without LMDB
# Judges a data file without LMDB, where no canary can run; as strict as ``disk.canary``.


def check_pages(file: Path) -> int:
    """Read every record and compare the row counts; return an exit code of the canary.

    Raises:
        OSError: The file cannot be opened.
    """
    with PageReader(file) as reader:
        if len(reader.metas) < 2:
            return DAMAGED  # LMDB would refuse it
        meta, pages = reader.metas[0], PageMap(reader)
        pages.read_free_tree(meta)
        found, whole = tables(reader, pages, meta)
        if not (pages.free_known and whole):
            return DAMAGED
        meta_rows: list[Row] = []
        if "meta" in found:
            walk = pages.walk(found.pop("meta"))
            meta_rows = list(walk)
            if not walk.whole:
                return DAMAGED
        if is_of_another_format(dict(meta_rows).get(FORMAT_KEY)):
            return OTHER_FORMAT
        counts = {"meta": canary.count_rows(meta_rows)}
        for name, tree in found.items():
            walk = pages.walk(tree)
            rows = canary.count_rows(walk)
            counts[name] = rows if walk.whole else None
        return canary.judge(dict(meta_rows).get(b"counts"), counts)
