"""What the tests of this room share."""

import pytest

from slowcat_memory.engine import MemoryEngine
from tests.support.engine_talks import Clock
from tests.support.stores import configured


@pytest.fixture
def open_engine(tmp_path):
    opened, clock = [], Clock()

    def open_it(**how) -> MemoryEngine:
        config = configured(tmp_path / "memory", recall={"floor": 0.005})
        engine = MemoryEngine(config, clock=clock, **how)
        opened.append(engine)
        return engine

    open_it.clock = clock
    open_it.folder = tmp_path / "memory"
    yield open_it
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(open_engine) -> MemoryEngine:
    return open_engine()
