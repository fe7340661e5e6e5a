"""The folder of a store: its names, its owner, its file system, and what is known of its data file.

LMDB's locks and memory map do not work on network file systems, and another user could read or
change a store in a folder of theirs. The folder is 0700 and every file in it 0600, whatever the
umask.
"""

import fcntl
import hashlib
import os
import shutil
import stat
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import starmap
from pathlib import Path
from tempfile import TemporaryDirectory

from loguru import logger

from slowcat_memory.clock import boot_id
from slowcat_memory.errors import StoreError, StoreGoneError, StoreUnsafeError
from slowcat_memory.store.disk.page_reader import intact

DATA = "data.mdb"
LOCK = "lock.mdb"
CURRENT = "CURRENT"  # names the generation that holds; without it, the folder itself is the first
GENERATION = "g-"  # + time and process: a folder with a DATA that replaced the former one
FRESH = "g-new-"  # + a random name: where a copy is made that may become a generation
OPENING = "opening.lock"  # held while one process opens or leaves the store
ERASING = "erasing.lock"  # held by the process that erases, rewrites or copies
COMMANDS = "commands.lock"  # held by the process that writes the row of a command
IDLE = "idle.lock"  # held by the process that does the idle work
PROCESSES = "processes"  # a locked file of each process that has the store open
IDS = "ids"  # the next log id, shared by these processes
STATE = "state"  # whether the store was closed, and what DATA was then
FORGOTTEN = "forgotten"  # tombstones of what is deleted and whose bytes may still be in DATA
BACKUPS = "backups"
INDEX = "index"  # sealed indexes, in a folder for each namespace
DRAFTS = "unfinished"  # paths of files that are being written outside the folder
LAST_BACKUP = "last-backup"  # time and path of the latest backup
REPLAYING = "replay"  # a copy in which derived records are made again
DOOMED = "deleted-"  # + a random name: a folder that is being deleted
REPLACED = "replaced-"  # + UTC time: the file of a store that a backup replaced
CORRUPT = "corrupt-"  # + UTC time: files of a damaged store; only a person deletes them
UNFINISHED = (REPLAYING, f"{FRESH}*", f"{DOOMED}*")  # what is being made or deleted

_PATH_MAX = 1024  # bytes that macOS writes for F_GETPATH
LOCK_BYTES = 1 << 16  # LMDB's reader table for twice the readers that we allow

NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "virtiofs"})
MOUNTS = Path("/proc/self/mountinfo")

RENEW_S = 1.0  # between two renewals of the time of STATE while transactions are written
LATE_S = 3.0  # a write later than this after the last renewal is not of those who vouched

MB = 1_000_000
CHECK_FREE_EVERY_S = 5.0


@contextmanager
def or_undo(undo: Callable[[], object]) -> Iterator[None]:
    """Undo something if the block fails."""
    try:
        yield
    except BaseException:
        undo()
        raise


def prepare(path: Path, *, allow_unsafe_fs: bool = False) -> None:
    """Make the folder and its parents, or check that an existing one can contain a store.

    Raises:
        StoreUnsafeError: It is another user's, not writable, or on a network file system.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_dir():
            path.mkdir(mode=0o700)
            sync_dir(path.parent)
    except OSError as error:
        raise StoreUnsafeError(
            f"cannot make {path.resolve()}: {error.strerror}",
            hint="Mount its disk, or choose another folder.",
        ) from error
    inspect(path, allow_unsafe_fs=allow_unsafe_fs)
    if not os.access(path, os.W_OK | os.X_OK):
        raise StoreUnsafeError(f"{path} is not writable", hint="Make it writable.")
    if data_file(path).exists() or not any(path.iterdir()):
        path.chmod(0o700)


def inspect(path: Path, *, allow_unsafe_fs: bool = False) -> None:
    """Check the owner of an existing folder and its files, and its file system.

    Raises:
        StoreUnsafeError: It cannot contain a store safely.
    """
    if not path.is_dir():
        raise StoreUnsafeError(f"{path} is not a folder", hint="Choose another folder.")
    _check_owner(path, path.stat())
    holding = generation(path)
    for file in (holding / DATA, holding / LOCK, path / CURRENT, path / OPENING, path / STATE):
        with suppress(FileNotFoundError):
            status = file.lstat()
            if not stat.S_ISREG(status.st_mode):
                raise StoreUnsafeError(f"{file} is not a plain file", hint="Remove it.")
            _check_owner(file, status)
    kind = ""
    with suppress(OSError):  # no Linux, or no /proc
        kind = filesystem(path.stat().st_dev, MOUNTS.read_text())
    if kind in NETWORK and not allow_unsafe_fs:
        raise StoreUnsafeError(
            f"{path} is on a network file system ({kind})",
            hint="Keep the store on a local disk, or set allow_unsafe_fs.",
        )


def _check_owner(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise StoreUnsafeError(
            f"{path} belongs to user {status.st_uid}, this is user {os.geteuid()}",
            hint="Run as its owner, or choose another folder.",
        )


def filesystem(device: int, mountinfo: str) -> str:
    """Return the type of a device's file system, for example "ext4"; "" for none.

    ``mountinfo`` is the text of ``/proc/self/mountinfo``.
    """
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        if after and number in before.split()[2:3]:
            return after.split()[0]
    return ""


def generation(path: Path) -> Path:
    """Return the folder that has a store's DATA and LOCK.

    Where ``CURRENT`` is lost or damaged, that is the newest.
    """
    try:
        named = path / (path / CURRENT).read_text("latin-1")
    except (FileNotFoundError, NotADirectoryError):
        named = path
    if named.parent == path and named.is_dir():
        return named
    return path if (path / DATA).exists() else max(path.glob(f"{GENERATION}[0-9]*"), default=path)


def data_file(path: Path) -> Path:
    """Return the path of a store's data file, whether or not there is one."""
    return generation(path) / DATA


@contextmanager
def fresh_folder(path: Path) -> Iterator[Path]:
    """Make a folder for a copy of a store, and remove it unless it has become a generation."""
    with TemporaryDirectory(prefix=FRESH, dir=path, ignore_cleanup_errors=True) as fresh:
        yield Path(fresh)


def name_generation(path: Path, fresh: Path) -> Path:
    """Flush ``fresh``, a folder with a DATA, and give it the name of a generation."""
    place = path / f"{GENERATION}{time.time_ns():x}-{os.getpid()}"
    with (fresh / DATA).open("rb") as data:
        os.fsync(data.fileno())
    sync_dir(fresh)
    os.rename(fresh, place)
    sync_dir(path)  # CURRENT may name only what has its name on the disk
    return place


def point_to(path: Path, generation: Path) -> None:
    """Make ``generation``, named by ``name_generation``, the generation that holds, in one rename.

    A power loss leaves the former generation or this one. The caller keeps every other process from
    doing the same, and from writing to it until this returns.
    """
    write_whole(path / CURRENT, generation.name)


def write_whole(file: Path, text: str) -> None:
    """Write a file, or replace it, in one rename, flushed."""
    draft = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    draft.unlink(missing_ok=True)
    with os.fdopen(create(draft), "w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    os.replace(draft, file)
    sync_dir(file.parent)


def remove_former(path: Path) -> bool:
    """Delete every generation but the one that holds; return whether they are gone."""
    holding = generation(path)
    former = [entry for entry in path.glob(f"{GENERATION}[0-9]*") if entry != holding]
    if holding != path:
        former += (path / DATA, path / LOCK)
    gone = [remove(entry) for entry in former]
    sync_dir(path)
    return all(gone)


def create(path: Path) -> int:
    """Make a new file, 0600, and return its descriptor, open for writing.

    Raises:
        FileExistsError: It exists.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.fchmod(fd, 0o600)
    return fd


def index_folder(path: Path, scope: str) -> Path:
    """Return the folder of a namespace's sealed indexes, in a store's folder."""
    return path / INDEX / hashlib.blake2b(scope.encode(), digest_size=8).hexdigest()


def entries(path: Path, *patterns: str) -> list[Path]:
    """Return what is in a folder under some names, in which ``*`` stands for anything."""
    return [entry for pattern in patterns for entry in path.glob(pattern)]


def remove(path: Path) -> bool:
    """Delete a file or a folder, and what a link points to; return whether it is gone.

    A folder is renamed first, so that a process that still writes there cannot add anything.
    """
    try:
        if path.is_symlink():
            target = path.resolve()
            if target != path and not remove(target):
                return False
        elif path.is_dir():
            doomed = path.with_name(f"{DOOMED}{uuid.uuid4().hex}")
            path.rename(doomed)
            shutil.rmtree(doomed, ignore_errors=True)
            return not doomed.exists()
        path.unlink(missing_ok=True)
        return True
    except FileNotFoundError:
        return True
    except OSError:
        return False


def sync_dir(path: Path) -> None:
    """Flush a folder's names: after this a rename in it survives a power loss."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def allocate_lock(path: Path) -> None:
    """Make LMDB's lock file with all its bytes on the disk.

    LMDB maps the file and writes into the map: a byte that a full disk cannot provide would kill
    the process by SIGBUS. The file must not be open in this process: closing it here would release
    LMDB's locks.

    Raises:
        OSError: The disk has no room for it, or refuses otherwise.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path / LOCK, flags, 0o600)
    try:
        os.fchmod(fd, 0o600)
        size = os.fstat(fd).st_size
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(fd, 0, max(size, LOCK_BYTES))
        elif size < LOCK_BYTES:
            append_whole(fd, bytes(LOCK_BYTES - size))
    finally:
        os.close(fd)


def append_whole(fd: int, data: bytes) -> int:
    """Append all of it to an open file, flushed, or nothing; return the file's size before.

    Raises:
        OSError: The disk refuses; the part that it took is cut off again.
    """
    before = at = os.fstat(fd).st_size
    try:
        while data:
            written = os.pwrite(fd, data, at)
            data, at = data[written:], at + written
        os.fsync(fd)
    except OSError:
        os.ftruncate(fd, before)
        raise
    return before


def is_allocated(file: Path) -> bool:
    """Return whether every byte of a file is on the disk; False for a file with holes."""
    status = file.stat()
    return status.st_blocks * 512 >= status.st_size


def require(path: Path) -> None:
    if not data_file(path).is_file():
        raise StoreError(
            f"no memory at {path} yet", hint="Run `slowcat-memory init`, or start your bot"
        )


def damaged_folders(path: Path) -> list[Path]:
    """Return where a folder's damaged stores are; they may hold what was forgotten since."""
    return [entry for entry in path.glob(f"{CORRUPT}*") if entry.is_dir()]


# ------------------------------------------------------------------- known by its inode
# A running bot's folder may be moved, and another bot may make a new one at the old path. So an open
# store asks for its path before each access, and gets the place where its own folder is now.


class OpenFile:
    """A file or folder that is open until ``close``."""

    fd: int

    def close(self) -> None:
        """Close it alone; idempotent."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class KnownFolder(OpenFile):
    """An open folder.

    Attributes:
        last_path: Where it was last found; for messages, never for an access.
    """

    def __init__(self, path: Path) -> None:
        """Open it; raises ``OSError`` when there is none."""
        self.last_path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.id = _id(os.fstat(self.fd))

    @property
    def path(self) -> Path:
        """Where the folder is now; where it was last, once it is closed.

        Raises:
            StoreGoneError: It was deleted, or moved to where it cannot be found.
        """
        if self.fd < 0 or self._is_at(self.last_path):
            return self.last_path
        moved = _path_of(self.fd)
        if moved is None or not self._is_at(moved):
            raise StoreGoneError(
                f"the memory's folder {self.last_path} was moved or deleted while it was open",
                hint="Put it back, or start the agent again.",
            )
        logger.warning("the memory's folder was moved to {}; it goes on there", moved)
        self.last_path = moved
        return moved

    def _is_at(self, path: Path) -> bool:
        with suppress(OSError):
            return _id(os.stat(path)) == self.id
        return False

    def stamp_of(self, name: str) -> tuple[int, int]:
        """Return the inode of a file, and when it last changed, in ns; zeros when there is none."""
        try:
            status = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except OSError:
            return 0, 0
        return status.st_ino, status.st_ctime_ns


def _id(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _path_of(fd: int) -> Path | None:
    """Return the path of an open folder, None when the system does not tell."""
    try:
        if hasattr(fcntl, "F_GETPATH"):
            raw = fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(_PATH_MAX))
            return Path(os.fsdecode(raw.partition(b"\0")[0]))
        return Path(os.readlink(f"/proc/self/fd/{fd}"))
    except OSError:
        return None


# ------------------------------------------------------------------- vouched for
# A process vouches for the data file, so that the next one need not check it. A file in the store's
# folder says that the store was closed, or that processes write. It is empty while nobody vouches.
# A file that was closed cleanly and not written since is whole.
#
# LMDB never overwrites a page that a committed transaction uses: a commit writes new pages, and only
# then one of two meta pages, in one call that the kernel completes. So the death of a process leaves
# the last commit whole in what the kernel has of the file; only a power cut, or a crash of the
# kernel, can leave less. So who writes names the boot and the data file. Where both are the same ones
# and nothing was written to the file since, a killed writer's file needs no check.
#
# Anything unknown counts as different: an unreadable boot id, a copied folder, a file that was
# replaced, and one that was written later than its writer can have.


def distrust(path: Path) -> None:
    """Have the next open check the data file."""
    with suppress(OSError):
        (path / STATE).unlink(missing_ok=True)


def mark_running(path: Path) -> None:
    """Say durably that the store may be written; the file proves nothing before ``vouch``."""
    distrust(path)
    os.close(create(path / STATE))
    sync_dir(path)


def vouch(path: Path) -> None:
    """Name this boot and the data file, once the file is checked and open.

    A state that cannot be written proves nothing, and so does one of which a power cut left a part.
    """
    with suppress(OSError):
        fd = os.open(path / STATE, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "w") as state:
            state.write(_running(data_file(path).stat()))


def mark_stopped(path: Path) -> None:
    """Say that the store is closed cleanly: no writer has it, and its file is as it was left.

    The file gets a time that no later write can give it by chance, also where the system's clock
    ticks slowly.
    """
    with suppress(OSError):  # without it, the next start checks the file
        data = data_file(path)
        status = data.stat()
        os.utime(data, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
        distrust(path)
        with os.fdopen(create(path / STATE), "w") as state:
            state.write(_closed(data.stat()))


def is_unclean(path: Path) -> bool:
    """Return whether the last writer did not close the store, if none has it."""
    try:
        return not (path / STATE).read_text("latin-1").startswith("closed")
    except OSError:
        return False


def is_as_left(path: Path) -> bool:
    """Return whether the store was closed, or its process alone died, and nobody wrote since."""
    try:
        data, renewed = data_file(path).stat(), (path / STATE).stat().st_mtime
        state = (path / STATE).read_text("latin-1")
    except OSError:
        return False
    # The time of the inode, too: who copies a file back may keep the time of its contents.
    is_own = max(data.st_mtime, data.st_ctime) <= renewed + LATE_S
    return state == _closed(data) or (bool(boot_id()) and state == _running(data) and is_own)


def _closed(data: os.stat_result) -> str:
    return f"closed {data.st_size} {data.st_mtime_ns}"


def _running(data: os.stat_result) -> str:
    return f"running {boot_id()} {data.st_dev} {data.st_ino}"


# ------------------------------------------------------------------- forgotten, and not erased yet
# Until an erasure, free pages of the data file hold what was forgotten, and damage may take its
# tombstones alone. With a file beside the data file a salvage knows them all the same. One row a
# line, key and envelope as hex: numbers and hashes, never the text of a turn or a memory.


def add_unerased(home: KnownFolder, rows: Mapping[bytes, bytes]) -> int:
    """Add tombstones before they are committed, flushed; return the size of the file before.

    Raises:
        OSError: The disk refuses.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(FORGOTTEN, flags, 0o600, dir_fd=home.fd)
    with os.fdopen(fd, "wb"):
        before = append_whole(fd, b"".join(starmap(_line, rows.items())))
    if not before:
        os.fsync(home.fd)
    return before


def take_back_unerased(home: KnownFolder, size: int) -> None:
    """Cut the file to what it was before rows that were not committed."""
    with suppress(OSError):
        fd = os.open(FORGOTTEN, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=home.fd)
        with os.fdopen(fd, "wb") as file:
            file.truncate(size)


def clear_unerased(home: KnownFolder) -> None:
    """Remove the file: everything that was deleted is erased."""
    with suppress(FileNotFoundError):
        os.unlink(FORGOTTEN, dir_fd=home.fd)


def read_unerased(path: Path) -> dict[bytes, bytes]:
    """Return the tombstones in a store's folder; a line that a power loss cut is left out."""
    tombstones = dict[bytes, bytes]()
    with suppress(OSError):
        for line in (path / FORGOTTEN).read_bytes().split(b"\n")[:-1]:
            with suppress(ValueError):
                key, value = (bytes.fromhex(part) for part in line.decode("ascii").split())
                if intact(key, value):
                    tombstones[key] = value
    return tombstones


def _line(key: bytes, value: bytes) -> bytes:
    return f"{key.hex()} {value.hex()}\n".encode()
