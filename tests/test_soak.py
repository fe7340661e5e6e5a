"""The day of ``tests.harness.soak``, two hours of it."""

from pathlib import Path

import pytest

from tests.harness import soak

COLD_MB_H = 15.0  # two hours are never warm: the day's limit is 1


def test_soak_two_hours_lose_nothing_and_leave_nothing(tmp_path: Path) -> None:
    laws, figures = soak.run(tmp_path / "memory", 2.0, 150, seed=8, slope_mb_h=COLD_MB_H)
    assert laws == [], figures
    assert figures.turns == 140 and figures.steps > 10


@pytest.mark.slow
@pytest.mark.parametrize(("control", "law"), [("leak", "memory"), ("lost", "undescribed")])
def test_soak_a_fault_is_caught(tmp_path: Path, control: str, law: str) -> None:
    laws, figures = soak.run(
        tmp_path / "memory", 1.2, 100, seed=8, control=control, slope_mb_h=COLD_MB_H
    )
    assert any(broken.startswith(law) for broken in laws), (laws, figures)
