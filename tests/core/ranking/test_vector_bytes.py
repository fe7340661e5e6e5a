"""A vector in bytes."""

import numpy as np
import pytest

from slowcat_memory.core.ranking.token_codes import as_kept


@pytest.mark.parametrize("dim", [3, 384])
def test_what_is_kept_is_near_as_long_and_does_not_change_when_it_is_kept_again(dim: int) -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        values = random.standard_normal(dim).astype(np.float32)
        values /= np.linalg.norm(values)
        kept = as_kept(values)
        assert np.linalg.norm(kept) == pytest.approx(1, abs=1e-5)
        assert kept @ values > 1 - 0.005
        assert np.allclose(as_kept(kept), kept, rtol=1e-5, atol=0)
    assert not as_kept(np.zeros(dim)).any()
