"""What the tests of this room share."""

import pytest

from slowcat_memory.engine import MemoryEngine
from tests.support.engine_home import Home


@pytest.fixture
def engine(home: Home) -> MemoryEngine:
    return home.open(recall={"floor": 0.005})
