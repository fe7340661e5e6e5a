"""Configurations of stores for single tests, and builds that take no time to start."""

import multiprocessing
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import msgspec

from slowcat_memory.config import Config
from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index.generation import Build
from slowcat_memory.runtime.namespaces import live_index
from slowcat_memory.testing import memory_config

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__, "pytest"])

# Long deadlines: a busy machine must not change what a test recalls.
PATIENT = {"deadline_ms": 20_000.0, "settle_ms": 20_000.0, "warn_ms": 20_000.0}


def configured(path: Path, **sections: dict[str, Any]) -> Config:
    """Configure a store in UTC, without a model, with long deadlines."""
    return memory_config(path, recall=PATIENT | sections.pop("recall", {}), **sections)


def household(path: Path, floor: float = 0.0) -> Config:
    """Configure a memory of Anna's, and of others at home."""
    people = {"scopes": "each", "household": "home"}
    return configured(path, memory={"user_id": "anna"}, recall={"floor": floor}, people=people)


def build_in_a_fork(
    self: Build,
    module: str,
    arguments: Sequence[str],
    errors: IO[bytes],
    *,
    start: Any = Build._run,
) -> None:
    """Build as ``Build._run`` does, in a fork of a process that has imported all of it.

    It keeps its priority: the true child waits for seconds where other tests keep every core busy.
    """
    if module != live_index.__name__:
        return start(self, module, arguments, errors)
    child = FORKS.Process(target=_build, args=arguments, daemon=True)
    with self._lock:
        if self._stopped:
            raise IndexDamagedError("it was stopped")
        child.start()
        self._child = SimpleNamespace(  # type: ignore[assignment]
            poll=lambda: child.exitcode, send_signal=lambda number: child.kill()
        )
    child.join()
    if child.exitcode:
        raise IndexDamagedError(f"the build ended with {child.exitcode}")


def _build(folder: str, order: str) -> None:
    for _ in live_index._build(Path(folder), msgspec.json.decode(order, type=live_index.SealOrder)):
        pass
