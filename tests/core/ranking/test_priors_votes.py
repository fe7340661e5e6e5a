"""Laws: votes are bounded, leave pinned memories alone, and only ever reorder."""

import numpy as np
import pytest

from slowcat_memory.core.ranking.offering import Candidates, Row
from slowcat_memory.core.ranking.score import votes
from slowcat_memory.index.format import Pointer
from slowcat_memory.index.vectors import KeyView, VectorView


def bounded(summed: np.ndarray, *pinned: int) -> np.ndarray:
    block = np.zeros((len(Row), len(summed)))
    block[Row.ASKED], block[Row.PINNED, list(pinned)] = summed, 1.0
    return votes(Candidates(block=block, known=frozenset({"window", "asked"})))


def test_votes_a_hard_negative_takes_nothing_from_what_is_pinned() -> None:
    assert bounded(np.array([-1.0, -1.0, 0.5]), 0).tolist() == [0, -1, 0.5]


def test_votes_the_index_adds_up_what_the_like_was_judged() -> None:
    dim = 8
    view = KeyView("asked", VectorView(dim))
    rows = np.eye(dim, dtype=np.float32)
    like = (rows[0] * 0.9 + rows[1] * np.sqrt(1 - 0.81)).astype(np.float32)
    told = [
        (0, "a", 1.0, rows[0]),
        (0, "b", 0.5, like),
        (1, "c", -0.5, rows[0]),
        (2, "d", 1.0, rows[3]),
    ]
    for target in (0, 1, 2):
        view.put(
            target,
            [Pointer(name=n, kind="asked", text=n, weight=w) for t, n, w, _ in told if t == target],
        )
        for number, name, _, vector in told:
            if number == target:
                view.dense.put(view.find(target, name), vector)
    summed = view.sum_votes(rows[0], np.arange(3), 0.6)
    assert summed.tolist() == pytest.approx([1 + 0.5 * 0.75, -0.5, 0.0], abs=0.01)
