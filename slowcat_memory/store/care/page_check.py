"""Judges a data file without LMDB, where no canary can run; as strict as ``disk.canary``."""

import json
from pathlib import Path

from slowcat_memory.store.disk.canary import DAMAGED, OTHER_FORMAT, WHOLE
from slowcat_memory.store.disk.envelope import (
    FORMAT_KEY,
    HEADER,
    intact,
    is_of_another_format,
)
from slowcat_memory.store.disk.page_reader import PageMap, PageReader, Row, Tree, tables


def check(file: Path) -> int:
    """Read every record and compare the row counts; return an exit code of the canary.

    Raises:
        OSError: The file cannot be opened.
    """
    with PageReader(file) as reader:
        if len(reader.metas) < 2:
            return DAMAGED  # LMDB would refuse it
        meta, pages = reader.metas[0], PageMap(reader)
        pages.read_free_tree(meta)
        found, whole = tables(reader, pages, meta)
        if not (pages.free_known and whole):
            return DAMAGED
        meta_rows: list[Row] = []
        if "meta" in found:
            walk = pages.walk(found.pop("meta"))
            meta_rows = list(walk)
            if not walk.whole:
                return DAMAGED
        if is_of_another_format(dict(meta_rows).get(FORMAT_KEY)):
            return OTHER_FORMAT
        counts = {name: _count(pages, tree) for name, tree in found.items()}
        return _compare(meta_rows, counts)


def _count(pages: PageMap, tree: Tree) -> int | None:
    """Return the number of rows of a table, None if one is damaged or cannot be reached."""
    walk = pages.walk(tree)
    count = 0
    for row in walk:
        if not intact(*row):
            return None
        count += 1
    return count if walk.whole else None


def _compare(meta: list[Row], counts: dict[str, int | None]) -> int:
    if None in counts.values() or not all(intact(*row) for row in meta):
        return DAMAGED
    written = dict(meta).get(b"counts")
    if written is None:  # a store that was being made
        return WHOLE if not any(counts.values()) else DAMAGED
    expected = json.loads(written[HEADER.size :])
    return WHOLE if all(counts.get(name) == n for name, n in expected.items()) else DAMAGED
