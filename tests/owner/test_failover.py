"""The owner is killed while clients speak: the law, and that it finds what it must find."""

from pathlib import Path

import pytest

from tests.harness.failover import Acked, judge, kills

LOG = [(1, "p1 says number 1"), (2, "p2 says number 1"), (4, "p1 says number 2")]
TOLD = [Acked(text, id_) for id_, text in LOG]


def test_failover_two_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    result = kills(2, tmp_path / "memory", clients=2, pace_s=0.01)
    assert result.verdict.holds and result.verdict.acked > 2 and not result.refused


@pytest.mark.parametrize(
    ("log", "told", "found"),
    [
        (LOG[:2], TOLD, "lost"),
        ([*LOG, (5, "p2 says number 1")], TOLD, "doubled"),
        ([(1, "p1 says number 1"), (3, "p2 says number 1")], TOLD[:2], "moved"),
    ],
)
def test_failover_the_law_finds_each_fault(
    log: list[tuple[int, str]], told: list[Acked], found: str
) -> None:
    assert judge(LOG, TOLD).holds
    verdict = judge(log, told)
    assert not verdict.holds and getattr(verdict, found)
