from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine_home import Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    for engine in made.engines:
        engine.close()
