"""Traces a child's writes, renames and flushes, in order: a system call tracer in pure Python.

Like ``strace``, without dependencies outside of Linux. Only the calls that change or flush files
below one folder are kept, each when it returns, with the data it wrote.
"""

import ctypes
import os
import platform
import signal
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.harness.command import Skipped

TRACEME, SYSCALL, SETOPTIONS, GET_SYSCALL_INFO = 0, 24, 0x4200, 0x420E
OPTIONS = 1 | 8 | 0x100000  # mark system call stops, follow threads, kill with the tracer
ALL_THREADS = 0x40000000
SYSCALL_STOP = signal.SIGTRAP | 0x80
O_DSYNC = 0o10000
ENTRY, EXIT = 1, 2

NUMBERS = {
    "x86_64": {
        1: "write", 18: "pwrite64", 20: "writev", 296: "pwritev", 74: "fsync", 75: "fdatasync",
        77: "ftruncate", 82: "rename", 264: "renameat", 316: "renameat2", 87: "unlink",
        263: "unlinkat", 2: "open", 257: "openat", 26: "msync", 83: "mkdir", 258: "mkdirat",
        84: "rmdir", 86: "link", 265: "linkat",
    },
    "aarch64": {
        64: "write", 68: "pwrite64", 66: "writev", 70: "pwritev", 82: "fsync", 83: "fdatasync",
        46: "ftruncate", 38: "renameat", 276: "renameat2", 35: "unlinkat", 56: "openat",
        227: "msync", 34: "mkdirat", 37: "linkat",
    },
}  # fmt: skip

# The change that a call makes, and which of its arguments are paths.
PATHS = {
    "rename": ("rename", (0, 1)), "renameat": ("rename", (1, 3)), "renameat2": ("rename", (1, 3)),
    "link": ("link", (0, 1)), "linkat": ("link", (1, 3)), "mkdir": ("mkdir", (0,)),
    "mkdirat": ("mkdir", (1,)), "unlink": ("unlink", (0,)), "unlinkat": ("unlink", (1,)),
    "rmdir": ("unlink", (0,)),
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """One change.

    Attributes:
        kind: "write", "sync", "truncate", "name", "link", "rename", "unlink", "mkdir" or "say".
        inode: Of the file (for "sync" possibly of a folder).
        name: File name below the folder; the old one for "rename" and "link".
        to: The new name.
        offset: Where it wrote; the new size for "truncate".
        data: What it wrote, or said.
        durable: The descriptor flushes with every write.
    """

    kind: str
    inode: int = 0
    name: str = ""
    to: str = ""
    offset: int = 0
    data: bytes = b""
    durable: bool = False


def trace(run: Callable[[int], None], folder: Path) -> list[Call]:
    """Fork a child that runs ``run`` with a descriptor to report to; return its calls."""
    numbers = NUMBERS.get(platform.machine())
    if os.uname().sysname != "Linux" or numbers is None:
        raise Skipped(f"no table of system calls for {os.uname().sysname}")
    said = os.open(os.devnull, os.O_WRONLY)
    pid = os.fork()
    if pid == 0:
        _be_traced(run, said)
    try:
        return Tracer(pid, folder, said, numbers).follow()
    finally:
        os.close(said)


def _ptrace(request: int, pid: int, address: int = 0, data: object = None) -> int:
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    call.restype = ctypes.c_long
    return int(call(request, pid, address, data))


def _be_traced(run: Callable[[int], None], said: int) -> None:
    try:
        if _ptrace(TRACEME, 0) != 0:
            os._exit(99)
        os.kill(os.getpid(), signal.SIGSTOP)
        run(said)
        os._exit(0)
    finally:
        os._exit(1)


class Tracer:
    """Steps a child and its threads from system call to system call."""

    def __init__(self, pid: int, folder: Path, said: int, numbers: dict[int, str]) -> None:
        self._pid, self._folder, self._said, self._numbers = pid, str(folder), said, numbers
        self._pending: dict[int, tuple[str, list[int], bytes]] = {}
        self.calls: list[Call] = []

    def follow(self) -> list[Call]:
        _, status = os.waitpid(self._pid, ALL_THREADS)
        if not os.WIFSTOPPED(status):
            raise Skipped("ptrace is not permitted here")
        _ptrace(SETOPTIONS, self._pid, 0, OPTIONS)
        _ptrace(SYSCALL, self._pid)
        while True:
            thread, status = os.waitpid(-1, ALL_THREADS)
            if os.WIFSTOPPED(status):
                self._stopped(thread, os.WSTOPSIG(status), status >> 16)
            elif thread == self._pid:
                assert status == 0, f"the traced child failed: {status:#x}"
                return self.calls

    def _stopped(self, thread: int, why: int, event: int) -> None:
        if why == SYSCALL_STOP:
            self._at_call(thread)
        of_tracing = event or why in (SYSCALL_STOP, signal.SIGSTOP, signal.SIGTRAP)
        _ptrace(SYSCALL, thread, 0, 0 if of_tracing else why)

    def _at_call(self, thread: int) -> None:
        info = ctypes.create_string_buffer(88)
        _ptrace(GET_SYSCALL_INFO, thread, len(info), ctypes.addressof(info))
        if info.raw[0] == ENTRY:
            number, *args = struct.unpack_from("7Q", info.raw, 24)
            kind = self._numbers.get(number)
            if kind:
                self._pending[thread] = (kind, args, self._read_data(kind, args))
        elif info.raw[0] == EXIT and thread in self._pending:
            (result,) = struct.unpack_from("q", info.raw, 24)
            if result >= 0:
                self._returned(*self._pending[thread], result)
            del self._pending[thread]

    def _read_data(self, kind: str, args: list[int]) -> bytes:
        if kind in ("write", "pwrite64"):
            return self._memory(args[1], args[2])
        if kind in ("writev", "pwritev"):
            vector = struct.iter_unpack("QQ", self._memory(args[1], 16 * args[2]))
            return b"".join(self._memory(base, size) for base, size in vector)
        return b""

    def _memory(self, address: int, size: int) -> bytes:
        with open(f"/proc/{self._pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size)

    def _path(self, address: int) -> str:
        return self._memory(address, 512).partition(b"\0")[0].decode()

    # ------------------------------------------------------------------- calls

    def _returned(self, kind: str, args: list[int], data: bytes, result: int) -> None:
        if kind in ("open", "openat"):
            self._opened(result, args[1] if kind == "open" else args[2])
        elif kind in PATHS:
            named, at = PATHS[kind]
            self._named(named, *(self._argument(kind, args, position) for position in at))
        elif kind != "msync":
            self._on_descriptor(kind, args, data[:result])

    def _opened(self, fd: int, flags: int) -> None:
        path = self._where(fd)
        if path and flags & os.O_CREAT:
            self.calls.append(Call("name", inode=self._inode(fd), name=path))
        if path and flags & os.O_TRUNC:
            self.calls.append(Call("truncate", inode=self._inode(fd)))

    def _argument(self, kind: str, args: list[int], position: int) -> str:
        """Return a path of a call; below a folder's descriptor if the call takes one."""
        path = self._path(args[position])
        if path.startswith("/") or not kind.endswith(("at", "at2")):
            return path
        try:
            folder = os.readlink(f"/proc/{self._pid}/fd/{args[position - 1] & 0xFFFFFFFF}")
        except OSError:
            return path
        return f"{folder}/{path}"

    def _named(self, kind: str, old: str, new: str = "") -> None:
        if not (new or old).startswith(self._folder):
            return
        inode = self._inode_at(old) if kind == "mkdir" else 0
        self.calls.append(Call(kind, inode, self._relative(old), self._relative(new)))

    def _inode_at(self, path: str) -> int:
        try:
            return os.stat(path).st_ino
        except OSError:
            return 0

    def _on_descriptor(self, kind: str, args: list[int], data: bytes) -> None:
        fd = args[0]
        if fd == self._said and kind == "write":
            self.calls.append(Call("say", data=data))
        elif self._where(fd) is None:
            return
        elif kind in ("fsync", "fdatasync"):
            self.calls.append(Call("sync", inode=self._inode(fd)))
        elif kind == "ftruncate":
            self.calls.append(Call("truncate", inode=self._inode(fd), offset=args[1]))
        else:
            self._wrote(kind, fd, args, data)

    def _wrote(self, kind: str, fd: int, args: list[int], data: bytes) -> None:
        state = self._state(fd)
        offset = args[3] if kind.startswith("p") else int(state["pos"]) - len(data)
        durable = bool(int(state["flags"], 8) & O_DSYNC)
        call = Call("write", inode=self._inode(fd), offset=offset, data=data, durable=durable)
        self.calls.append(call)

    # ------------------------------------------------------------------- descriptors

    def _where(self, fd: int) -> str | None:
        try:
            path = os.readlink(f"/proc/{self._pid}/fd/{fd}")
        except OSError:
            return None
        return self._relative(path) if path.startswith(self._folder) else None

    def _relative(self, path: str) -> str:
        return path.removeprefix(self._folder).lstrip("/")

    def _inode(self, fd: int) -> int:
        return os.stat(f"/proc/{self._pid}/fd/{fd}").st_ino

    def _state(self, fd: int) -> dict[str, str]:
        with open(f"/proc/{self._pid}/fdinfo/{fd}") as lines:
            return dict(line.split(None, 1) for line in (x.replace(":", " ") for x in lines))
