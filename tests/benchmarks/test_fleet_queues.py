"""What the benchmark of a fleet's tasks and log compares: pages that differ, rows in parts."""

import msgspec
import numpy as np

from benchmarks.fleet import shipping
from benchmarks.fleet.shipping import PAGE, VECTORS, Row


def pages(*fills: int) -> np.ndarray:
    return np.repeat(np.array(fills, np.uint64), PAGE // 8).reshape(-1, PAGE // 8)


def test_fleet_queues_pages_that_differ_and_pages_that_are_new_are_shipped():
    before, after = pages(1, 2, 3), pages(1, 9, 3, 4)
    assert shipping._differing(before, after) == pages(9, 4).tobytes()


def test_fleet_queues_a_file_that_shrinks_ships_what_differs():
    assert shipping._differing(pages(1, 2, 3), pages(1, 9)) == pages(9).tobytes()
    assert shipping._differing(pages(1, 2), pages(1, 2)) == b""


def test_fleet_queues_parts_hold_every_row_once_in_order(monkeypatch):
    monkeypatch.setattr(shipping, "PART_BYTES", 100)
    rows = [("log", b"%03d" % n, bytes(30)) for n in range(20)]
    rows += [(VECTORS, b"%03d" % n, bytes(30)) for n in range(20)]
    for vectors in (False, True):
        parts = list(shipping._parts(rows, vectors=vectors))
        found = [row for part in parts for row in msgspec.msgpack.decode(part, type=list[Row])]
        assert found == [row for row in rows if (row[0] == VECTORS) is vectors]
        assert len(parts) > 4
