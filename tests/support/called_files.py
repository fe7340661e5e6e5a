"""The files of the package that a piece of work opens, counted in real calls of all its threads."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import slowcat_memory

PACKAGE = Path(slowcat_memory.__file__).parent
CORE = "core/"  # functions without state, as against stations


def is_call(frame: FrameType, event: str) -> bool:
    return event == "call"


class CalledFiles:
    """Notes the files while work is ``counted``; it hears of threads that began after it.

    Attributes:
        counts: Whether a call, or the return from it, is counted.
    """

    def __init__(self, counts: Callable[[FrameType, str], bool] = is_call) -> None:
        self.names, self.counts = set[str](), counts
        self._counting = False

    @contextmanager
    def hearing(self) -> Iterator["CalledFiles"]:
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        try:
            yield self
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]

    @contextmanager
    def counted(self) -> Iterator[None]:
        self._counting = True
        try:
            yield
        finally:
            self._counting = False

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        if self._counting and event in ("call", "return"):
            file = frame.f_code.co_filename
            if file.startswith(f"{PACKAGE}/") and self.counts(frame, event):
                self.names.add(file[len(f"{PACKAGE}/") :])

    def stations(self, *besides: str) -> list[str]:
        """Return the files but those of ``core``, and of other folders of the package."""
        return sorted(name for name in self.names if not name.startswith((CORE, *besides)))
