"""The layouts that ranking.c and ranking.py share."""

import re

import pytest

from slowcat_memory.kernels import ranking
from slowcat_memory.kernels.ranking import COLUMNS, VIEWS, Asked, Result, Row, Weights
from slowcat_memory.kernels.sources import FOLDER

FILES = ("candidate_rows.h", "ranking.c")
SOURCE = "".join(
    re.sub(r"/\*.*?\*/", "", (FOLDER / name).read_text("utf-8"), flags=re.DOTALL) for name in FILES
)


def between(start: str) -> str:
    found = re.search(re.escape(start) + r"\s*{(.*?)\n?};", SOURCE, re.DOTALL)
    assert found, start
    return found[1]


@pytest.mark.parametrize(("name", "rows"), [("enum row", Row), ("enum result", Result)])
def test_ranking_has_the_rows_of_the_c_file(name: str, rows: type[Row] | type[Result]) -> None:
    assert re.findall(r"\w+", between(name)) == [row.name for row in rows]
    assert [row.value for row in rows] == [*range(len(rows))]


@pytest.mark.parametrize(
    ("name", "struct"), [("struct weights", Weights), ("struct question", Asked)]
)
def test_ranking_has_the_fields_of_the_c_file(
    name: str, struct: type[Weights] | type[Asked]
) -> None:
    types = {"double": ranking.DOUBLE, "int64_t": ranking.LONG, "const double": ranking.POINTER}
    fields = [
        (field.strip(" *\n"), types[kind.strip()])
        for kind, names in re.findall(r"(const double|double|int64_t)\s+([^;]+);", between(name))
        for field in names.split(",")
    ]
    assert fields == list(struct._fields_)


def test_ranking_views_and_columns_are_all_rows_in_order() -> None:
    assert [*VIEWS, *COLUMNS] == [row.name.lower() for row in Row]
    # The results have the views in the same places.
    assert [f"OF_{name.upper()}" for name in VIEWS] == [row.name for row in Result][: len(VIEWS)]
