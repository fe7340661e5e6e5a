"""Copies of a store's file, row by row, and the swap of a fresh file without deleted text.

LMDB never overwrites: a deleted text stays in a free page until the page is used again. Its own
compaction does not remove it either: LMDB reuses page buffers without clearing them, so that
fragments of one record remain in the unused end of another's last page, and pages are copied whole.
So a copy here is made row by row, into an environment of its own.
"""

import os
import shutil
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import lmdb

from slowcat_memory.store.disk.environment import Environment, pages_of
from slowcat_memory.store.disk.folder import DATA, create, data_file, fresh_folder, sync_dir
from slowcat_memory.store.disk.transaction import (
    Run,
    copy_and_swap,
    copy_out,
    open_alone,
    transact,
    writing,
)

WORTH_SHRINKING = 1 / 5  # of the file, that a copy would save
ROW_BYTES = 10  # of a page, for each row, besides key and value
FULL = 0.9  # share of a copy's pages that rows fill
COPIES = 3  # made beside the writers, before one is made under their lock
READER_TIMEOUT_S = 5.0  # how long a rewrite waits for who still reads the former file


def count_rows(file: Path, table: str = "log") -> int:
    """Return the number of rows of a table in an undamaged file without a writer."""
    with open_alone(file, readonly=True) as env:
        try:
            db = env.open_db(table.encode(), create=False)
        except lmdb.NotFoundError:
            return 0
        with env.begin() as txn:
            return int(txn.stat(db)["entries"])


def backup_name(now: datetime) -> str:
    """Return the name, without an ending, of something made now."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}"


def copy_file(source: Path, to: Path) -> None:
    """Copy a file that nobody writes to a new one, 0600."""
    os.close(create(to))
    shutil.copyfile(source, to)


def put_aside(path: Path, name: str, now: datetime) -> Path:
    """Link a store's file into a folder of its own: a rename that follows unlinks it here."""
    aside = Path(mkdtemp(prefix=f"{name}{backup_name(now)}.", dir=path))
    try:
        os.link(data_file(path), aside / DATA)
    except OSError:  # a file system without links
        copy_file(data_file(path), aside / DATA)
    sync_dir(aside)
    sync_dir(path)  # before the switch: its only other name is in the new folder
    return aside


def rewrite(env: Environment, run: Run) -> bool:
    """Swap in a fresh file that has the rows and nothing else.

    The rows are copied on this thread, beside the writers. A copy in which something is missing
    that was committed meanwhile is thrown away; the last one is made under the write lock.
    Returns False when a reader stayed inside.

    Raises:
        StoreError: The copy could not be made; the file is as before.
        OSError: Likewise.
    """
    without = 0
    if env.outbox is not None:
        run(partial(transact, env, env.outbox.trim))
        without = env.outbox.dropped
    for _ in range(COPIES):
        copied = env.env
        with fresh_folder(env.path) as fresh:
            last = copy_out(env, fresh / DATA)
            if run(partial(_swap, env, fresh, copied, last)):
                break
    else:
        run(partial(copy_and_swap, env))
    if env.outbox is not None:
        env.outbox.note_rewritten(without)
    return env.wait_for_readers(READER_TIMEOUT_S)


def _swap(env: Environment, fresh: Path, copied: lmdb.Environment, last: int) -> bool:
    """Swap in a copy if nothing was committed behind transaction ``last``; return whether it is."""
    with writing(env) as number:
        if env.env is not copied or number != last + 1:
            return False
        env.swap(fresh)
    return True


def shrink(env: Environment, run: Run) -> bool:
    """Swap in a copy when it would be much smaller: without free pages, and with full ones.

    Returns False when it would not, or a reader kept the file open.

    Raises:
        StoreError: The copy could not be made; the file is as before.
    """
    return _saved_share(env) > WORTH_SHRINKING and rewrite(env, run)


def _saved_share(env: Environment) -> float:
    """Return the share of the file that a copy would save. Reads all vectors: 0.1 s for 200,000.

    Their rows, the most, fill pages to two thirds where several namespaces grow at once.
    """
    with env.reading() as (txn, handles):
        stats = {name: txn.stat(db) for name, db in handles.items()}
        pages: float = sum(map(pages_of, stats.values()))
        rows = txn.cursor(handles["vectors"]) if "vectors" in handles else ()
        used = sum(len(key) + len(value) + ROW_BYTES for key, value in rows)
    if used:
        held = stats["vectors"]
        needed = used / (FULL * held["psize"])
        pages -= max(0.0, held["leaf_pages"] + held["overflow_pages"] - needed)
    return float(1.0 - pages / (env.env.info()["last_pgno"] + 1))
