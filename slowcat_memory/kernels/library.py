"""The compiled library: found, checked and loaded once; where that fails, NumPy computes.

A library is used only if it was compiled from the very sources beside it, so a declaration here and
a function there cannot disagree. ``SLOWCAT_KERNELS`` chooses a level ("numpy", "v1", "v3", "v4");
the default is the best that the processor has.
"""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from slowcat_memory.kernels.sources import digest, library_path

POINTER, INT, FLOAT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
NUMPY = "numpy"  # the level without the library
SWITCH = "SLOWCAT_KERNELS"
Compiled = Callable[..., Any]


class Function:
    """A function of the compiled library, by the name that ``KERNEL`` gives it.

    Attributes:
        compiled: The function of the level in use; None where NumPy must compute. It may be
            replaced at any time, so it is read once for each call.
    """

    def __init__(
        self, name: str, *arguments: Any, result: Any = None, keeps_lock: bool = True
    ) -> None:
        """Declare a function.

        Args:
            name: As in C, without prefix and level.
            *arguments: ``POINTER``, ``INT`` or ``FLOAT`` for each argument.
            result: The same for the result; None for void.
            keeps_lock: Whether Python's lock is held while it runs. Releasing it lets other threads
                work, but one of them may then keep it for 5 ms: release it only in a function that
                may run longer than a tenth of a millisecond.
        """
        self._name, self._arguments, self._result = name, arguments, result
        self._keeps_lock = keeps_lock
        self.compiled: Compiled | None = None
        _functions.append(self)
        self.choose()

    def choose(self) -> None:
        """Take the function from the library of the level in use."""
        self.compiled = None
        if _state.level != NUMPY:
            library = _state.keeping if self._keeps_lock else _state.releasing
            function = library[f"slowcat_{self._name}_{_state.level}"]
            function.argtypes, function.restype = self._arguments, self._result
            self.compiled = function


class _State:
    """What is loaded: the library twice, since ctypes decides by library whether the lock is held.

    Attributes:
        level: The level in use, ``NUMPY`` without a library.
        why: Why it is that one, in words.
        levels: All levels that work here, the best first, ``NUMPY`` last.
    """

    def __init__(self) -> None:
        self.level, self.why, self.levels = NUMPY, "", [NUMPY]
        self.keeping: Any = None
        self.releasing: Any = None

    def load(self) -> None:
        path = library_path()
        try:
            self.keeping, self.releasing = ctypes.PyDLL(str(path)), ctypes.CDLL(str(path))
            self.keeping.slowcat_digest.restype = ctypes.c_int64
            self.keeping.slowcat_levels.restype = ctypes.c_char_p
            if self.keeping.slowcat_digest() != digest():
                raise OSError(
                    "it was compiled from other sources: python -m slowcat_memory.kernels.compiler"
                )
            built = self.keeping.slowcat_levels().decode().split()
            best = self.keeping.slowcat_level()
            self.levels = [level for level in built if int(level[1:]) <= best] + [NUMPY]
        except (OSError, AttributeError, ValueError) as error:
            self.why = f"no compiled library: {error}"
        self.level = self.levels[0]
        wanted = os.environ.get(SWITCH, "")
        if wanted in self.levels:
            self.level, self.why = wanted, f"{SWITCH}={wanted}"
        elif wanted:
            self.why = f"{SWITCH}={wanted} is none of {', '.join(self.levels)}"

    def __str__(self) -> str:
        return f"{self.level} ({self.why})" if self.why else self.level


_functions: list[Function] = []
_state = _State()
_state.load()


def in_use() -> str:
    """Return the level in use, and why it is not the best one; for people."""
    return str(_state)


def levels() -> list[str]:
    """Return the levels that work here, the best first; the last is ``NUMPY``."""
    return list(_state.levels)


@contextmanager
def using(level: str) -> Iterator[None]:
    """Compute at one of ``levels`` meanwhile, in all threads: for tests and benchmarks.

    Raises:
        ValueError: That level does not work here.
    """
    if level not in _state.levels:
        raise ValueError(f"{level} is none of {', '.join(_state.levels)}: {_state.why}")
    before = _state.level
    _choose(level)
    try:
        yield
    finally:
        _choose(before)


def _choose(level: str) -> None:
    _state.level = level
    for function in _functions:
        function.choose()


_from_buffer, _address_of = ctypes.c_char.from_buffer, ctypes.addressof


def address(array: np.ndarray) -> int:
    """Return where a C-contiguous array's values are; the caller keeps the array alive.

    Half the time of ``array.ctypes.data``. Keep the number beside an array that lives long.
    """
    try:
        return _address_of(_from_buffer(cast(Any, array)))
    except (TypeError, ValueError):  # read-only or empty
        return array.ctypes.data
