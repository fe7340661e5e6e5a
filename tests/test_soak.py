"""The day of ``tests.harness.soak``, two hours of it."""

from pathlib import Path

import pytest

from tests.harness import soak

COLD_MB_H = 15.0  # of a process that has just started


def test_soak_two_hours_lose_nothing_and_leave_nothing(tmp_path: Path) -> None:
    laws, figures = soak.run(
        tmp_path / "memory", 2.0, 150, seed=8, slope_mb_h=COLD_MB_H, warm=False
    )
    assert laws == [], figures
    assert figures.turns == 140 and figures.steps > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_soak_memory_stays_flat_in_two_hours(tmp_path: Path, seed: int) -> None:
    laws, figures = soak.run(tmp_path / "memory", 2.0, 150, seed=seed)
    assert laws == [], figures


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_soak_a_lost_result_is_caught_by_its_own_law(tmp_path: Path, seed: int) -> None:
    laws, figures = soak.run(tmp_path / "memory", 1.2, 100, seed, "lost", warm=False)
    assert soak.is_caught("lost", laws), (laws, figures)


@pytest.mark.slow
def test_soak_a_leak_is_caught_by_its_own_law(tmp_path: Path) -> None:
    laws, figures = soak.run(tmp_path / "memory", 1.2, 100, 8, "leak", COLD_MB_H, warm=False)
    assert soak.is_caught("leak", laws), (laws, figures)


def test_soak_another_broken_law_does_not_prove_a_control() -> None:
    assert soak.is_caught("lost", ["outcome: 3 descriptions are lost"])
    assert not soak.is_caught("lost", ["memory: 2.00 MB an hour", "queue: 1 tasks wait still"])
