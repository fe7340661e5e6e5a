"""Which stretches of a long row are summed up together: so many at a time, each once."""

from collections.abc import Collection, Sequence
from itertools import groupby
from typing import TypeVar

Item = TypeVar("Item", int, str)


def stretches(
    row: Sequence[Item], covered: Collection[Item], length: int, least: int = 1
) -> list[tuple[Item, ...]]:
    """Cut what is not covered into stretches.

    What stands at the end of the row waits until it is a whole stretch. What is left between two
    covered stretches, because some of it was forgotten, is one of its own.

    Args:
        row: All of it, in order.
        covered: What has been summed up.
        length: Of a stretch.
        least: Of a shorter one that stands between others.

    Returns:
        The stretches that are due, in order.
    """
    found: list[tuple[Item, ...]] = []
    done = set(covered)
    for is_covered, group in groupby(row, key=lambda one: one in done):
        run = tuple(group)
        if is_covered:
            continue
        last = run[-1] == row[-1]
        for start in range(0, len(run), length):
            part = run[start : start + length]
            if len(part) == length or (not last and len(part) >= least):
                found.append(part)
    return found
