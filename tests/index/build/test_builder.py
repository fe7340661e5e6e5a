import numpy as np

from slowcat_memory.index.build.builder import number_sessions


def test_builder_long_sessions_are_numbered_by_their_first() -> None:
    chain = np.arange(-1, 9_999, dtype=np.int32)
    assert not number_sessions(chain).any()
    chain[5_000] = -1
    assert number_sessions(chain).tolist() == [0] * 5_000 + [5_000] * 5_000
    backwards = np.array([1, 2, 3, -1], np.int32)  # who named a neighbour that came later
    assert number_sessions(backwards).tolist() == [3] * 4
    assert number_sessions(np.zeros(0, np.int32)).tolist() == []
