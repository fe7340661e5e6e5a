from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index import IndexOptions
from slowcat_memory.index.build.builder import number_sessions
from slowcat_memory.index.format import FORMAT, read_header, write_header
from tests.support.index_oracle import build


def test_builder_long_sessions_are_numbered_by_their_first() -> None:
    chain = np.arange(-1, 9_999, dtype=np.int32)
    assert not number_sessions(chain).any()
    chain[5_000] = -1
    assert number_sessions(chain).tolist() == [0] * 5_000 + [5_000] * 5_000
    backwards = np.array([1, 2, 3, -1], np.int32)  # who named a neighbour that came later
    assert number_sessions(backwards).tolist() == [3] * 4
    assert number_sessions(np.zeros(0, np.int32)).tolist() == []


def test_builder_an_index_of_another_format_is_not_read(tmp_path: Path) -> None:
    header = build([], {}, 0, tmp_path, Tokenizer("none"), IndexOptions())
    assert read_header(tmp_path, IndexOptions()).format == FORMAT
    for other in (FORMAT - 1, FORMAT + 1):
        write_header(replace(header, format=other), tmp_path)
        with pytest.raises(IndexDamagedError):
            read_header(tmp_path, IndexOptions())
