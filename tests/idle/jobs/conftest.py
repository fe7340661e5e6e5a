"""Engines whose clock only the tests move."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import FixedClock, memory_config


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def opened(tmp_path: Path, clock: FixedClock) -> Iterator[Callable[..., MemoryEngine]]:
    """Opens a store of the test's; who was open before is closed."""
    engines = list[MemoryEngine]()

    def open_(
        llm: Any = None, embedder: Any = None, name: str = "memory", **sections: Any
    ) -> MemoryEngine:
        for engine in engines:
            engine.close()
        config = memory_config(
            tmp_path / name, **{"idle": {"enabled": False, "grace_s": 0.0}} | sections
        )
        engines.append(MemoryEngine(config, clock=clock, llm=llm, embedder=embedder))
        return engines[-1]

    yield open_
    for engine in engines:
        engine.close()
