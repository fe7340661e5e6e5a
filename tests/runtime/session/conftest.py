"""A home for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.icebreaker_home import Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    for engine in made.engines:
        engine.close()
