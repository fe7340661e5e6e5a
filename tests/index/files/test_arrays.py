import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.index import table
from slowcat_memory.index.table import Column, Ids


@pytest.mark.parametrize("kind", ["int8", "float64", "bool", "uint64"])
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (5, 3)])
def test_arrays_open_array_reads_as_numpy_reads_it(tmp_path, kind, shape):
    values = np.random.default_rng(1).integers(0, 2, shape).astype(kind)
    np.save(tmp_path / "a.npy", values)
    found = table.open_array(tmp_path / "a.npy")
    assert found.dtype == values.dtype and found.shape == shape
    assert np.array_equal(found, values)
    assert not found.flags.writeable


@pytest.mark.parametrize("cut", [0, 5, 40, 128, 1000])
def test_arrays_open_array_of_a_cut_file_is_an_error_not_a_crash(tmp_path, cut):
    np.save(tmp_path / "a.npy", np.arange(5000))
    os.truncate(tmp_path / "a.npy", cut)
    with pytest.raises((ValueError, TypeError)):
        table.open_array(tmp_path / "a.npy")


@given(st.lists(st.integers(-1000, 1000)))
def test_column_holds_what_was_appended(values):
    column = Column(np.array(values[:3], np.int32))
    for value in values[3:]:
        column.append(value)
    assert [column[n] for n in range(len(column))] == values
    assert column.values.tolist() == values
    for n in range(len(values)):
        column[n] = n
    assert column.values.tolist() == list(range(len(values)))


@given(st.sets(st.integers(1, 2**62)), st.sets(st.text("abc/-1", min_size=1)))
def test_ids_are_found_by_name_and_by_number(turns, names):
    others = sorted(name for name in names if not name.startswith("chunk/"))
    with tempfile.TemporaryDirectory() as folder:
        names_in_order = [f"chunk/{turn}" for turn in sorted(turns)] + others
        written = Ids()
        assert [written.append(name) for name in names_in_order] == list(range(len(written)))
        written.write(Path(folder))
        made = Ids(Path(folder))
        for late in ("chunk/7", "note/é"):
            if late not in names_in_order:
                assert made.append(late) == len(names_in_order)
                names_in_order.append(late)
        assert [made[n] for n in range(len(made))] == names_in_order
        assert [made.find(name) for name in names_in_order] == list(range(len(made)))
        assert [made.find(name) for name in ("chunk/007", "chunk/", "", "zzz")] == [-1] * 4
