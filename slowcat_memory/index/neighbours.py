"""Previous/next links between documents of a session, and the window terms that depend on them.

Each document is linked to the previous and the next one, because a window joins the three. A sealed
document never changes: one that must is *promoted* to the tail, under a new number.

A change of links follows this order, as ``Searcher.add`` and ``Searcher.remove`` do:

1. ``detach`` or ``make_room`` cuts links; both ends are promoted, so earlier numbers are invalid.
2. The document is removed from, or added to, the windows, without neighbours.
3. ``link`` joins it to its neighbours, and adds each one's terms to the other's windows.
"""

from collections.abc import Iterable

from slowcat_memory.index.lexical.windows import Windows
from slowcat_memory.index.table import Column, DocumentTable
from slowcat_memory.index.vectors.key_view import KeyView
from slowcat_memory.index.vectors.vector_view import VectorView

NONE = -1  # no neighbour


class Links:
    """Links between the documents of a namespace. Numbers are document numbers, ``NONE`` for none."""

    def __init__(
        self, table: DocumentTable, words: Windows, dense: VectorView, keys: Iterable[KeyView]
    ) -> None:
        """Connect the parts that store a promoted document."""
        self._table, self._words, self._dense, self._keys = table, words, dense, tuple(keys)

    def make_room(self, before: int, after: int) -> tuple[int, int]:
        """Cut the link after ``before``, or else the one before ``after``.

        Returns the two documents, in order, between which a new one is inserted.
        """
        if before >= 0:
            return self.unlink(before, _at(self._table.after, before))
        return self.unlink(_at(self._table.before, after), after)

    def detach(self, number: int) -> tuple[int, int]:
        """Remove a document from every view. Its keys remain, for its replacement.

        Returns its neighbours, which are not linked to each other yet.
        """
        before, number = self.unlink(_at(self._table.before, number), number)
        number, after = self.unlink(number, _at(self._table.after, number))
        self._words.remove(number)
        self._dense.remove(number)
        self._table.remove(number)
        return before, after

    def link(self, before: int, after: int) -> tuple[int, int]:
        """Make two documents neighbours; each one's terms are added to the other's windows.

        Returns their numbers, which change when they are promoted.
        """
        if before >= 0 and after >= 0:
            before, after = self.promote_to_tail(before), self.promote_to_tail(after)
            self._table.after[before], self._table.before[after] = after, before
            self._words.exchange_terms(before, after, 1)
        return before, after

    def unlink(self, before: int, after: int) -> tuple[int, int]:
        """Undo ``link``, with the same arguments and results."""
        if before >= 0 and after >= 0:
            before, after = self.promote_to_tail(before), self.promote_to_tail(after)
            self._table.after[before] = self._table.before[after] = NONE
            self._words.exchange_terms(before, after, -1)
        return before, after

    def promote_to_tail(self, number: int) -> int:
        """Copy a sealed document to the tail, where it can change, and tombstone the original.

        Returns its new number; unchanged when it was in the tail.
        """
        table, words = self._table, self._words
        if number >= table.sealed_count:
            return number
        before, after = int(table.before[number]), int(table.after[number])
        terms, around = words.forward.own(number), words.remove(number)
        table.remove(number)
        promoted = table.append_copy(number)
        words.add(promoted, terms)
        words.change(promoted, around)
        if before >= 0:
            table.after[before] = promoted
        if after >= 0:
            table.before[after] = promoted
        self._dense.renumber(number, promoted)
        for keys in self._keys:
            keys.renumber(number, promoted)
        return promoted


def _at(column: Column, number: int) -> int:
    return int(column[number]) if number >= 0 else NONE
