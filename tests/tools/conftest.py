"""An engine that knows some pets."""

import contextlib

import pytest

from slowcat_memory import MemoryEngine
from tests.support.memories import remember
from tests.support.processors import PETS


@pytest.fixture
def engine(config):
    remember(config, *PETS, days=40)
    remember(config, "Anna: My dog has a red collar.", days=3)
    engine = MemoryEngine(config)
    with contextlib.closing(engine):
        yield engine
