"""Who was said before and after whom: the chains that are sessions, and what changes along them.

Each document knows the one said before and after it, because a window joins the three. What is
sealed does not change: a sealed document that must is *lifted* into the tail, under a new number.
"""

from collections.abc import Iterable

from slowcat_memory.index.files.column import Column
from slowcat_memory.index.lexical.view_set import LexicalViews
from slowcat_memory.index.table import Table
from slowcat_memory.index.vectors.key_view import KeyView
from slowcat_memory.index.vectors.vector_view import VectorView


class Neighbours:
    """Links between the documents of a namespace."""

    def __init__(
        self, table: Table, words: LexicalViews, dense: VectorView, keys: Iterable[KeyView]
    ) -> None:
        """Wire the parts.

        Args:
            table: The documents.
            words: Their words.
            dense: Their vectors.
            keys: What points to them.
        """
        self._table, self._words, self._dense, self._keys = table, words, dense, tuple(keys)

    def around(self, before: int, after: int = -1) -> tuple[int, int]:
        """Make room behind a document, or else ahead of one.

        Args:
            before: The number of the one, -1 for none.
            after: The number of the other, -1 for none.

        Returns:
            Its number and that of its neighbour there, in order, who are no neighbours any more;
            -1 for nobody.
        """
        if before >= 0:
            return self.unlink(before, _at(self._table.after, before))
        return self.unlink(_at(self._table.before, after), after)

    def remove(self, number: int) -> tuple[int, int]:
        """Take a document out of every view. Its keys are still there, for who comes in its place.

        Args:
            number: Its number.

        Returns:
            Its neighbours, who are not yet neighbours of each other; -1 for nobody.
        """
        before, number = self.unlink(_at(self._table.before, number), number)
        number, after = self.unlink(number, _at(self._table.after, number))
        if number >= self._table.sealed_count:
            self._words.remove(number)
        else:
            self._words.tombstone(number)
        self._dense.remove(number)
        self._kill(number)
        return before, after

    def link(self, before: int, after: int) -> tuple[int, int]:
        """Make two documents neighbours: each one's words enter the other's views that look there.

        Args:
            before: The number of the one said first, -1 for nobody.
            after: The same for the one said next.

        Returns:
            Their numbers, which change when they are lifted.
        """
        if before >= 0 and after >= 0:
            before, after = self.promote_to_tail(before), self.promote_to_tail(after)
            self._table.after[before], self._table.before[after] = after, before
            self._words.exchange_terms(before, after, 1)
        return before, after

    def unlink(self, before: int, after: int) -> tuple[int, int]:
        """Undo ``link``; takes and returns the same."""
        if before >= 0 and after >= 0:
            before, after = self.promote_to_tail(before), self.promote_to_tail(after)
            self._table.after[before] = self._table.before[after] = -1
            self._words.exchange_terms(before, after, -1)
        return before, after

    def promote_to_tail(self, number: int) -> int:
        """Bring a document into the tail, where it can change.

        Args:
            number: Its number.

        Returns:
            Its number from now on; the same when it was there.
        """
        table, words = self._table, self._words
        if number >= table.sealed_count:
            return number
        before, after = int(table.before[number]), int(table.after[number])
        own, held = words.own(number), words.tombstone(number)
        document, hashed = table.document(number), int(table.digest[number])
        self._kill(number)
        lifted = table.append(document, hashed)
        words.add(lifted, own)
        words.add_neighbour_terms(lifted, held, own)
        table.before[lifted], table.after[lifted] = before, after
        table.session[lifted] = table.session[number]
        if before >= 0:
            table.after[before] = lifted
        if after >= 0:
            table.before[after] = lifted
        self._dense.move(number, lifted)
        for keys in self._keys:
            keys.move(number, lifted)
        return lifted

    def _kill(self, number: int) -> None:
        self._words.forget(number)
        self._table.kill(number)


def _at(column: Column, number: int) -> int:
    return int(column[number]) if number >= 0 else -1
