"""What a source counted: its vocabulary, and each document's own terms."""

from collections import Counter
from pathlib import Path

from slowcat_memory.index.postings import Forward
from slowcat_memory.index.tail import Counts
from slowcat_memory.index.vocabulary import Vocabulary


class Source:
    """One source's counts, sealed and of the tail."""

    def __init__(self, sealed: Path | None, name: str) -> None:
        """Open what is sealed, or start with nothing.

        Args:
            sealed: Folder of the sealed index.
            name: The source.
        """
        self.vocabulary = Vocabulary(sealed, name)
        self._forward = Forward(sealed, name)
        self._tail: dict[int, Counts] = {}

    def add(self, document: int, counts: Counts) -> None:
        """Keep a tail document's own terms.

        Args:
            document: Its number.
            counts: Occurrences by term.
        """
        self._tail[document] = counts

    def remove(self, document: int) -> None:
        """Forget a tail document's terms.

        Args:
            document: Its number.
        """
        self._tail.pop(document, None)

    def counts(self, document: int) -> Counts:
        """Return a document's own terms.

        Args:
            document: Its number.

        Returns:
            Occurrences by term; not to be changed.
        """
        held = self._tail.get(document)
        if held is not None:
            return held
        name = self.vocabulary.name
        return {name(row): times for row, times in self._forward.counts(document).items()}

    def joined(self, documents: list[int]) -> tuple[Counter[str], list[int]]:
        """Sum sealed documents' terms.

        Args:
            documents: Their numbers.

        Returns:
            Occurrences by term, and the terms' rows.
        """
        total: Counter[int] = Counter()
        for document in documents:
            total.update(self._forward.counts(document))
        name = self.vocabulary.name
        return Counter({name(row): times for row, times in total.items()}), list(total)
