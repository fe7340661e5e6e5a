"""A sealed index on disk: built by a child process, published whole or not at all.

Protocol: the child writes below ``tmp-…`` and syncs every file; the parent renames the folder to
its generation and syncs the folder above. Only then may a manifest row name it. A crash leaves a
``tmp-…`` folder or a generation without a manifest, both swept later. Files that do not match the
manifest are never loaded: FAISS and NumPy read a damaged file without complaint and return wrong
results.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from slowcat_memory.child_process import child_environment, python_command
from slowcat_memory.clock import boot_id
from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.records import IndexFile, Manifest

T = TypeVar("T")

BUILT, OUTCOME, VERIFIED = "built", "outcome.msgpack", "verified"
NICE = 3  # of the child: the conversation has priority, beside two busy processes it gets a third
MOST_WAIT_S = 10.0  # of a build for others, such as an LLM that keeps every core busy for minutes
SETTLED_S = 2.0  # a file as new as this may be changed again without getting another time

Identity = tuple[int, int, int, int, int]
"""Device, inode, size, and the times of contents and inode in nanoseconds."""


class Build:
    """A build in a child process, which another thread may stop."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(
        self, root: Path, module: str, arguments: Sequence[str], kind: type[T]
    ) -> tuple[str, T]:
        """Build in a child process; return the generation's name, and the child's outcome.

        Blocks: call it from a thread. ``root`` is the namespace's index folder, made when missing.
        ``module`` is the child's program; it is called with a folder, in which it makes ``BUILT``
        and, at the end, ``OUTCOME``, and with ``arguments``. ``kind`` is the outcome's type.

        Raises:
            IndexDamagedError: The child failed or was stopped; its files are removed.
        """
        temporary = root / f"tmp-{uuid.uuid4().hex}"
        try:
            for folder in (root.parent, root):  # ``parents=True`` would open them to other users
                if not folder.is_dir():
                    folder.mkdir(mode=0o700, exist_ok=True)
                    sync(folder.parent)
            temporary.mkdir(mode=0o700)
            with tempfile.TemporaryFile() as errors:
                self._run(module, [str(temporary), *arguments], errors)
            outcome = msgspec.msgpack.decode((temporary / OUTCOME).read_bytes(), type=kind)
            generation = uuid.uuid4().hex
            os.rename(temporary / BUILT, root / generation)
            sync(root)
            return generation, outcome
        except OSError as error:
            raise _failed(f"{type(error).__name__}: {error.strerror}") from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _run(self, module: str, arguments: Sequence[str], errors: IO[bytes]) -> None:
        with self._lock:
            if self._stopped:
                raise _failed("it was stopped")
            self._child = child = subprocess.Popen(
                python_command(module, *arguments),
                stdin=subprocess.PIPE,  # never written to; it closes when this process ends
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=child_environment(),
            )
        try:
            code = child.wait()
        finally:
            child.stdin.close()  # type: ignore[union-attr]  # it is a pipe
        if code:
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
            # What a child wrote before a signal ended it is not why it ended.
            why = "it was stopped" if self._stopped else f"{min(code, 0) or lines[-1:] or code}"
            raise _failed(why)

    def stop(self) -> None:
        """Kill the child, now or as soon as it would start."""
        with self._lock:
            self._stopped = True
        self.abort()

    def abort(self) -> None:
        """Kill the child that runs now, if any; the next build is not affected."""
        with self._lock:
            if self._child is not None and self._child.poll() is None:
                self._child.send_signal(signal.SIGKILL)


def run_beside_others(steps: Iterator[bool]) -> None:
    """Run a build in the child: with what others leave of the processor, but not for ever.

    Steps that have waited for ``MOST_WAIT_S`` in all are continued at nearly normal priority, by
    another thread: Linux lets a thread without privileges leave neither ``SCHED_IDLE`` nor its nice.
    A tenth of it is enough where the rest is one long step: after a step that yields True.
    """
    os.nice(NICE)
    with ThreadPoolExecutor(1, initializer=_yield_to_all) as idle:
        idle.submit(_run_until_starved, steps).result()
    for _ in steps:
        pass


def _run_until_starved(steps: Iterator[bool]) -> None:
    began = time.monotonic() - time.thread_time()
    for last in steps:
        waited = time.monotonic() - time.thread_time() - began
        if waited > (MOST_WAIT_S / 10 if last else MOST_WAIT_S):
            return


def _yield_to_all() -> None:
    if hasattr(os, "SCHED_IDLE"):
        with suppress(OSError):  # not allowed here: nice has to do
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def finish(folder: Path, outcome: Callable[[tuple[IndexFile, ...]], object]) -> None:
    """Sync a child's files to disk and write its outcome, the last step of the child.

    ``folder`` is the child's argument; ``outcome`` makes the result of ``Build.run`` from the
    files.
    """
    built = folder / BUILT
    files = tuple(_describe(path, built) for path in sorted(built.rglob("*")) if path.is_file())
    sync(built)
    (folder / OUTCOME).write_bytes(msgspec.msgpack.encode(outcome(files)))


Hashed = dict[str, tuple[Identity, str]]
"""By name, a file's identity and its hash."""


def check(root: Path, manifest: Manifest) -> Path:
    """Verify a published index; return the folder to load.

    Each file is hashed once a boot. A sealed file is never changed. What can change it under us is
    a disk that lost power, another program, or a copy from elsewhere. The first comes with another
    boot; the others change the inode, the size or one of its times. So on the same boot a file with
    the same ones is the one that was hashed. A disk that decays meanwhile is found on the next
    boot.

    Raises:
        IndexDamagedError: A file is missing, or is not the one that was built.
    """
    folder, hashed = root / manifest.generation, Hashed()
    known = _read_verified(folder / VERIFIED)
    for file in manifest.files:
        try:
            hashed[file.name] = _identity(folder / file.name), file.sha256
            if hashed[file.name] != known.get(file.name):
                if _hash(folder / file.name) != file.sha256:
                    raise _not_the_one(file)
        except OSError as error:
            raise _not_the_one(file) from error
    if hashed != known:
        _write_verified(folder / VERIFIED, hashed)
    return folder


def _identity(path: Path) -> Identity:
    """Return what tells a file from any other, and from itself after a change."""
    now = path.stat()
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


def _read_verified(path: Path) -> Hashed:
    """Return what was hashed on this boot; an unreadable record is none."""
    try:
        boot, files = msgspec.msgpack.decode(path.read_bytes(), type=tuple[str, Hashed])
    except (OSError, msgspec.MsgspecError):
        return {}
    return files if boot == boot_id() else {}


def _write_verified(path: Path, files: Hashed) -> None:
    """Record what was just hashed, as of before it was, except files that are too new.

    Without a boot id, or where the folder cannot be written, nothing is recorded.
    """
    settled = (time.time() - SETTLED_S) * 1e9
    kept = {name: hashed for name, hashed in files.items() if max(hashed[0][3:]) < settled}
    if not boot_id() or not kept:
        return
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with suppress(OSError):
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as out:
            out.write(msgspec.msgpack.encode((boot_id(), kept)))
        os.replace(draft, path)


def _not_the_one(file: IndexFile) -> IndexDamagedError:
    return IndexDamagedError(
        f"index file {file.name} is not the one that was built",
        hint="It is left alone and the index is rebuilt from the log",
    )


def sweep(root: Path, keep: str = "") -> None:
    """Delete everything in a namespace's index folder but one generation, "" for none."""
    if root.is_dir():
        for entry in root.iterdir():
            if entry.name != keep:
                shutil.rmtree(entry, ignore_errors=True)


def _failed(why: str) -> IndexDamagedError:
    return IndexDamagedError(
        f"building an index failed: {why}",
        hint="Recall continues with the current index; the build is tried again later",
    )


def _describe(path: Path, root: Path) -> IndexFile:
    path.chmod(0o600)
    sync(path)
    return IndexFile(path.relative_to(root).as_posix(), path.stat().st_size, _hash(path))


def _hash(path: Path) -> str:
    """Hash a file. It is read, not mapped: so a bad sector is an error, not a SIGBUS."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
