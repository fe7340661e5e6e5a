"""The structs that C and Python share have the same fields in the same order."""

import ctypes
import re

import pytest

from slowcat_memory.kernels import dense, lexical
from slowcat_memory.kernels.sources import FOLDER


def fields_in_c(file: str, name: str) -> list[str]:
    source = re.sub(r"/\*.*?\*/", "", (FOLDER / file).read_text("utf-8"), flags=re.DOTALL)
    found = re.search(r"typedef struct {([^}]*)} " + name + ";", source)
    assert found, name
    return re.findall(r"\w+(?=\s*[,;])", found[1])


@pytest.mark.parametrize(
    ("file", "name", "fields"),
    [
        ("lexical.c", "lexical_view", lexical._Fields),
        ("vectors.h", "vector_arrays", dense._Fields),
    ],
)
def test_layouts_are_those_of_the_c_file(
    file: str, name: str, fields: type[ctypes.Structure]
) -> None:
    assert fields_in_c(file, name) == [field[0] for field in fields._fields_]
