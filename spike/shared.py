"""A store that several processes write and any of them replaces: the mechanism that measure.py tries.

A store is a folder of generations, each an LMDB environment; ``CURRENT`` names the one that holds.
``SPIKE_PLANT=name:n`` kills the process when it passes that point for the nth time, and
``SPIKE_FAULT`` leaves one safeguard out, so that a law can be seen to fail.
"""

import fcntl
import os
import shutil
import signal
import struct
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import lmdb

POINTS = (
    "write-locked", "write-put", "write-committed",
    "locked", "made", "copied", "synced", "held", "folders-synced", "written",
    "renamed", "rename-synced", "moved", "released", "unlinked",
)  # fmt: skip
PLANT, _, NTH = os.environ.get("SPIKE_PLANT", "").partition(":")
FAULT = os.environ.get("SPIKE_FAULT", "")
passed = 0


def point(name):
    global passed
    if name == PLANT:
        passed += 1
        if passed == int(NTH or 1):
            os.kill(os.getpid(), signal.SIGKILL)


def sync_folder(path):
    if FAULT != "no-folder-sync":
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


class Shared:
    """Rows: ``log`` (id -> text), ``changes`` (number -> id), which orders them in every process."""

    def __init__(self, root, map_size=1 << 28, readonly=False):
        self.readonly = readonly
        self.root, self.name, self.env, self.seen, self.alive = Path(root), None, None, None, None
        self.map_size, self.pid, self.pointer = map_size, os.getpid(), f"{root}/CURRENT"

    def create(self):
        self.root.mkdir(parents=True, exist_ok=True)
        self._make("g-0", self.map_size).close()
        sync_folder(self.root / "g-0")  # LMDB flushes its files, not their names
        sync_folder(self.root)
        self._point_to("g-0")

    def _make(self, name, map_size):
        path = self.root / name
        path.mkdir()
        (path / "alive").touch()
        if FAULT != "sparse-lock":  # a byte of the mapped lock file without a place is SIGBUS
            fd = os.open(path / "lock.mdb", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                os.posix_fallocate(fd, 0, 1 << 16)
            finally:
                os.close(fd)
        env = lmdb.open(str(path), map_size=map_size, max_dbs=4, lib_version=0)
        for table in (b"log", b"changes", b"meta"):
            env.open_db(table)
        return env

    def _stamp(self):
        found = os.stat(self.pointer)
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns

    def refresh(self):
        """Open the generation that holds, if it is another; return whether it was."""
        if self.pid != os.getpid():
            raise RuntimeError("opened before a fork")
        if (stamp := self._stamp()) == self.seen:
            return False
        while True:
            stamp = self._stamp()
            name = (self.root / "CURRENT").read_text()
            if name == self.name:
                self.seen = stamp
                return False
            self.close()
            try:
                self.alive = os.open(self.root / name / "alive", os.O_RDONLY)
                fcntl.flock(self.alive, fcntl.LOCK_SH)
                # 0: the size that the generation was made with, the same in every process
                self.env = lmdb.open(
                    str(self.root / name), map_size=0, max_dbs=4, create=False, lib_version=0,
                    readonly=self.readonly,
                )  # fmt: skip
                # Tables are opened in a write transaction, so this waits for the writers' lock. By
                # itself ``open_db`` waits for it with the interpreter's lock held.
                with ExitStack() as opening:
                    txn = (
                        None if self.readonly else opening.enter_context(self.env.begin(write=True))
                    )
                    names = (b"log", b"changes", b"meta")
                    self.tables = [self.env.open_db(name, txn=txn, create=False) for name in names]
            except (FileNotFoundError, lmdb.Error):
                if self._stamp() == stamp:
                    raise
                self.close()
                continue
            self.name, self.seen = name, stamp
            return True

    def close(self):
        if self.env is not None:
            self.env.close()
        if self.alive is not None:
            os.close(self.alive)
        self.name = self.env = self.seen = self.alive = None

    def read(self):
        self.refresh()
        return self.env.begin()

    def write(self):
        """Return a write transaction of the generation that holds."""
        while True:
            self.refresh()
            txn = self.env.begin(write=True)
            point("write-locked")
            if FAULT == "no-check" or self._stamp() == self.seen:
                return txn
            txn.abort()

    def append(self, rows):
        """Commit rows; they get the next change numbers. A full map: a larger generation."""
        while True:
            txn = self.write()
            log, changes, _ = self.tables
            try:
                last = txn.cursor(changes)
                number = struct.unpack(">Q", last.key())[0] if last.last() else 0
                for key, text in rows:
                    number += 1
                    if not txn.put(key, text, db=log, overwrite=False):
                        raise AssertionError("an id was given twice")
                    txn.put(struct.pack(">Q", number), key, db=changes, append=True)
                point("write-put")
                txn.commit()
                point("write-committed")
                return
            except lmdb.MapFullError:
                txn.abort()
                self.rewrite(lambda key: True, map_size=2 * self.env.info()["map_size"])
            except lmdb.Error:
                txn.abort()
                raise

    def rewrite(self, keep, map_size=None):
        """Copy the rows that ``keep`` accepts into a new generation, which then holds."""
        txn = self.write()
        point("locked")
        old, held, made = self.name, None, f"g-{time.time_ns():x}-{os.getpid()}"
        try:
            size = map_size or self.env.info()["map_size"]
            if map_size and size > map_size:
                return  # another process made it larger meanwhile
            env = self._make(made, size)
            point("made")
            with env.begin(write=True) as out:
                for table, db in zip((b"log", b"changes", b"meta"), self.tables, strict=True):
                    target = env.open_db(table, txn=out)
                    for key, value in txn.cursor(db):
                        if table == b"log" and not keep(key):
                            continue
                        if table == b"meta" and key == b"moved":
                            continue
                        out.put(key, value, db=target, append=True)
            point("copied")
            env.sync(True)
            point("synced")
            if FAULT != "no-second-lock":
                held = env.begin(write=True)  # nobody commits there before CURRENT is durable
            point("held")
            sync_folder(self.root / made)
            sync_folder(self.root)
            point("folders-synced")
            self._point_to(made)
            if held is not None:
                held.abort()
            env.close()
            txn.put(b"moved", made.encode(), db=self.tables[2])
            with suppress(lmdb.Error):  # a full map or disk; CURRENT says it already
                txn.commit()
            point("moved")
        except BaseException:
            txn.abort()
            if self._current() == old:
                shutil.rmtree(self.root / made, ignore_errors=True)
            raise
        finally:
            txn.abort()
        point("released")
        self.refresh()
        self._unlink(old)
        point("unlinked")

    def _current(self):
        return (self.root / "CURRENT").read_text()

    def _point_to(self, name):
        draft = self.root / f"CURRENT.{os.getpid()}"
        with open(draft, "w") as file:
            file.write(name)
            file.flush()
            os.fsync(file.fileno())
        point("written")
        os.rename(draft, self.root / "CURRENT")
        point("renamed")
        if FAULT in ("slow-switch", "no-second-lock"):
            time.sleep(0.05)
        sync_folder(self.root)
        point("rename-synced")

    def _unlink(self, name):
        """Remove a generation that does not hold. Who still maps it has its pages until it looks."""
        dead = self.root / f"dead-{name}"
        with suppress(FileNotFoundError):
            os.rename(self.root / name, dead)  # so that nobody opens half of it
        shutil.rmtree(dead, ignore_errors=True)
        sync_folder(self.root)

    def sweep(self):
        """Remove what killed rewrites left; under the write lock, so that none is being made."""
        txn = self.write()
        try:
            for path in self.root.iterdir():
                if path.name != self.name and path.name.startswith(("g-", "dead-", "CURRENT.")):
                    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
        finally:
            txn.abort()
        sync_folder(self.root)


def ident(count):
    """Return an id that is unique without asking: milliseconds, process, counter."""
    milliseconds = time.time_ns() // 1_000_000
    return struct.pack(">QIQ", milliseconds, os.getpid(), count)
