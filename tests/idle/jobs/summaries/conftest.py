"""A user who talks day after day, and the jobs that summarise it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.daily_talks import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Callable[..., House]]:
    made: list[House] = []

    def make(llm: Any = None, **given: Any) -> House:
        made.append(House(tmp_path / str(len(made)), llm, **given))
        return made[-1]

    yield make
    for one in made:
        one.close()
