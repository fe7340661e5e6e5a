from pathlib import Path

import pytest

from benchmarks import datasets, eager_scores
from tests.support import tiny_dataset


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny_dataset.write(tmp_path / "tiny")


@pytest.mark.parametrize("with_data", [False, True])
def test_eager_scores_speed_measures_every_arm(folder: Path, with_data: bool) -> None:
    found = eager_scores.speed([folder] if with_data else [], 200, 3, rounds=1)
    assert found["documents"] == 200 and found["queries"] == 3 and found["postings"] > 200
    assert len(found["arms"]) == 4 and found["sealing"]["peak_mb"] > 0


def test_eager_scores_codes_recover_the_occurrences(tmp_path: Path) -> None:
    texts = ["one two two", "two", "", "one three three three three"]
    eager_scores.seal(eager_scores.documents(iter(texts)), tmp_path)
    postings = eager_scores.SealedPostings.open(tmp_path, "window")
    codes = eager_scores.Codes(postings)
    times = codes.pairs // (int(postings.lengths.max()) + 1)
    assert times[codes.codes].sum() == postings.lengths.sum()


def test_eager_scores_drift_is_none_where_nothing_came_after_sealing(folder: Path) -> None:
    found = eager_scores.drift(datasets.find([folder])[0])
    shares = {share["sealed"]: share for share in found["shares"]}
    assert found["n"] > 0 and list(shares) == list(eager_scores.SHARES)
    assert shares[0.0]["recall"] == shares[1.0]["recall"] > 0
    assert shares[1.0]["difference_p95"] < 1e-5 and shares[0.5]["difference_p95"] < 0.2
