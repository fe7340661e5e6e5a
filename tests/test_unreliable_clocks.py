"""The clock harness in a short run; ``python -m tests.harness.clock`` plays longer ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from loguru import logger

from tests.harness import clock


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logger.disable("slowcat_memory")
    yield
    logger.enable("slowcat_memory")


@pytest.mark.parametrize("seed", [3, 8])
def test_clock_nothing_is_erased_early_and_nothing_stays(tmp_path: Path, seed: int) -> None:
    found = clock.run(tmp_path / "store", seed, 60)
    assert (found["early"], found["late"], found["left"]) == (0, 0, 0)
    assert found["erased"] and found["doubted"]


def test_clock_the_control_is_caught_by_the_law_against_early_erasing(tmp_path: Path) -> None:
    with clock.believing():
        assert clock.run(tmp_path / "store", 5, 60)["early"]
