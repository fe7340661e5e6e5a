import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slowcat_memory.index.table import Ids


@settings(deadline=None)  # it writes files
@given(st.sets(st.integers(1, 2**62)), st.sets(st.text("abc/-1", min_size=1)))
def test_ids_are_found_by_name_and_by_number(turns: set[int], names: set[str]) -> None:
    others = sorted(name for name in names if not name.startswith("chunk/"))
    with tempfile.TemporaryDirectory() as folder:
        Ids.write(np.array(sorted(turns), np.int64), others, Path(folder))
        made = Ids(Path(folder))
        names_in_order = [f"chunk/{turn}" for turn in sorted(turns)] + others
        for late in ("chunk/7", "note/é"):
            if late not in names_in_order:
                assert made.append(late) == len(names_in_order)
                names_in_order.append(late)
        assert [made[n] for n in range(len(made))] == names_in_order
        assert [made.find(name) for name in names_in_order] == list(range(len(made)))
        assert [made.find(name) for name in ("chunk/007", "chunk/", "", "zzz")] == [-1] * 4
