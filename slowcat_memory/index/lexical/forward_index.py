"""What a source counted: its vocabulary, and each document's own terms and those of its keys."""

from collections import Counter
from pathlib import Path

from slowcat_memory.index.lexical.sealed_postings import Forward
from slowcat_memory.index.lexical.tail_postings import Counts
from slowcat_memory.index.lexical.vocabulary import Vocabulary

NONE: Counts = {}


class ForwardIndex:
    """One source's counts, sealed and of the tail."""

    def __init__(self, sealed: Path | None, name: str) -> None:
        """Open what is sealed, or start with nothing.

        Args:
            sealed: Folder of the sealed index.
            name: The source.
        """
        self.vocabulary = Vocabulary(sealed, name)
        self._own, self._keys = Forward(sealed, f"{name}.own"), Forward(sealed, f"{name}.keys")
        self._tail: dict[int, Counts] = {}
        self._tail_keys: dict[int, Counts] = {}  # those that have any

    def add(self, document: int, counts: Counts, keys: Counts = NONE) -> None:
        """Keep a tail document's own terms.

        Args:
            document: Its number.
            counts: Occurrences by term.
            keys: The same of its keys.
        """
        self._tail[document] = counts
        self.set_keys(document, keys)

    def set_keys(self, document: int, keys: Counts) -> None:
        """Keep the terms of a tail document's keys.

        Args:
            document: Its number.
            keys: Occurrences by term.
        """
        self._tail_keys.pop(document, None)
        if keys:
            self._tail_keys[document] = keys

    def remove(self, document: int) -> None:
        """Forget a tail document's terms.

        Args:
            document: Its number.
        """
        self._tail.pop(document, None)
        self._tail_keys.pop(document, None)

    def counts(self, document: int) -> Counts:
        """Return a document's own terms.

        Args:
            document: Its number.

        Returns:
            Occurrences by term; not to be changed.
        """
        held = self._tail.get(document)
        return self._named(self._own.counts(document)) if held is None else held

    def keys(self, document: int) -> Counts:
        """Return the terms of a document's keys; see ``counts``."""
        if document in self._tail:
            return self._tail_keys.get(document, NONE)
        return self._named(self._keys.counts(document))

    def _named(self, counts: dict[int, int]) -> Counts:
        name = self.vocabulary.name
        return {name(row): times for row, times in counts.items()}

    def joined(self, documents: list[int], keys: list[int]) -> tuple[Counter[str], list[int]]:
        """Sum sealed documents' terms.

        Args:
            documents: Numbers of those whose own terms count.
            keys: Numbers of those whose keys' terms count.

        Returns:
            Occurrences by term, and the terms' rows.
        """
        total: Counter[int] = Counter()
        for document in documents:
            total.update(self._own.counts(document))
        for document in keys:
            total.update(self._keys.counts(document))
        return Counter(self._named(total)), list(total)
