"""Lists by name that stay sorted, so that their ends are read without looking at the rest."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

Item = TypeVar("Item", bound=tuple[Any, ...])


class SortedLists(Generic[Item]):
    """Sorted lists of tuples, by name.

    One thread changes them while others read: a reader takes a slice, which is one operation.
    """

    def __init__(self) -> None:
        self._lists = defaultdict[str, list[Item]](list)

    def __contains__(self, name: str) -> bool:
        """Whether a list has any item."""
        return name in self._lists

    def add(self, name: str, item: Item) -> None:
        insort(self._lists[name], item)

    def remove(self, name: str, item: Item) -> None:
        """Remove an item that is there."""
        items = self._lists[name]
        del items[bisect_left(items, item)]
        if not items:
            del self._lists[name]

    def first(self, name: str, start: tuple[Any, ...], most: int) -> Sequence[Item]:
        """Return the first items from a place in the order on."""
        items = self._lists.get(name, [])
        place = bisect_left(items, start)
        return items[place : place + most]

    def last(self, name: str, most: int) -> Sequence[Item]:
        """Return the last items, the last one at the end."""
        return self._lists.get(name, [])[-most:]
