"""Finds strings that a process still holds: in its objects, with the way there, and in its files."""

import contextlib
import gc
import os
import re
import sys
import types
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ATOMS = (int, float, complex, bool, type(None), types.BuiltinFunctionType)
LONGEST_WAY = 14
MOST_BYTES = 1 << 22  # of an array or a buffer


def held(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """Return the first group of each match in this process's strings, and the way to it.

    Buffers and arrays are searched, too. The pattern must not match what a group holds.

    What only compiled code refers to, and does not show to the collector, is
    not found.
    """
    gc.collect()
    return _Search(pattern).found


def open_files(pid: int, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what a process has open or mapped of a folder's files, also of deleted ones."""
    process = Path(f"/proc/{pid}")
    for descriptor in (process / "fd").iterdir():
        with contextlib.suppress(OSError):  # it was closed meanwhile
            name = os.readlink(descriptor)
            if name.startswith(str(folder)):
                yield f"{pid} has open {name}", descriptor.read_bytes()
    for line in (process / "maps").read_text().splitlines():
        span, rights, *_, name = line.split(None, 5)
        if name.startswith(str(folder)) and rights.startswith("r"):
            yield f"{pid} has mapped {name}", b"".join(_mapped(process, span))


def _mapped(process: Path, span: str) -> Iterator[bytes]:
    begin, end = (int(address, 16) for address in span.split("-"))
    with (process / "mem").open("rb", buffering=0) as memory, contextlib.suppress(OSError):
        memory.seek(begin)  # beyond the file's end a map cannot be read
        while begin < end and (piece := memory.read(min(1 << 20, end - begin))):
            begin += len(piece)
            yield piece


class _Search:
    """A walk over all objects: from modules and running functions, then whatever is left."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._coded = re.compile(pattern.pattern.encode(), pattern.flags & ~re.UNICODE)
        self.found: list[tuple[str, str]] = []
        self._holders: dict[int, Any] = {}
        self._hide(self, self.__dict__, self.found, self._holders)
        frames = list(sys._current_frames().items())
        self._walk(sys.modules, "modules")
        for thread, frame in frames:
            self._walk_frames(thread, frame)
        everything = gc.get_objects()
        self._hide(everything, frames)
        for one in everything:
            if id(one) not in self._holders:
                self._walk(one, "nobody that is known")

    def _hide(self, *mine: Any) -> None:
        for one in mine:
            self._holders[id(one)] = "this search"

    def _walk_frames(self, thread: int, frame: types.FrameType | None) -> None:
        while frame is not None:
            if frame.f_globals.get("__name__") != __name__:
                name = (
                    f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name} in thread {thread}"
                )
                for variable, value in list(frame.f_locals.items()):
                    if id(value) not in self._holders:
                        self._walk([value], f"{variable} of {name}")
            frame = frame.f_back

    def _walk(self, root: Any, name: str) -> None:
        self._holders[id(root)] = name
        ahead = deque([root])
        while ahead:
            one = ahead.popleft()
            for what in _parts(one):
                if id(what) in self._holders or isinstance(what, ATOMS):
                    continue
                self._holders[id(what)] = one
                if isinstance(what, str):
                    found = self._pattern.search(what)
                    self._note(found[1] if found else "", what)
                elif isinstance(what, bytes | bytearray | memoryview | np.ndarray):
                    self._note(self._in_bytes(what), what)
                    if isinstance(what, np.ndarray) and what.dtype == object:
                        ahead.append([*what.flat])
                elif (
                    not isinstance(what, types.FrameType)
                    or what.f_globals.get("__name__") != __name__
                ):
                    ahead.append(what)

    def _note(self, group: str, what: Any) -> None:
        if group:
            self.found.append((group, self._way(what)))

    def _in_bytes(self, what: Any) -> str:
        try:
            size = what.nbytes if isinstance(what, memoryview | np.ndarray) else len(what)
            data = bytes(what) if size <= MOST_BYTES else b""
        except (ValueError, TypeError, BufferError):  # released, or not in one piece
            return ""
        found = self._coded.search(data)
        return found[1].decode("latin-1") if found else ""

    def _way(self, what: Any) -> str:
        """Return the objects that lead to one, outermost last, as well as they can be named."""
        names = list[str]()
        at = what
        while not isinstance(above := self._holders[id(at)], str):
            names.append(_name(above))
            at = above
        if len(names) > LONGEST_WAY:
            names[LONGEST_WAY // 2 : -LONGEST_WAY // 2] = ["…"]
        return " < ".join([*names, above])


def _parts(one: Any) -> list[Any]:
    try:
        return gc.get_referents(one)
    except Exception:  # an object that is half made
        return []


def _name(one: Any) -> str:
    kind = type(one)
    of = getattr(one, "__qualname__", None) or getattr(one, "__name__", None)
    if isinstance(one, dict) and isinstance(one.get("__name__"), str):
        of = one["__name__"]
    where = getattr(one, "__module__", "") or ""
    return f"{kind.__name__}({where}.{of})" if isinstance(of, str) else kind.__qualname__
