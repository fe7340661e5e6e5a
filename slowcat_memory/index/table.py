"""A row of columns for each document: everything but its words and vectors.

Documents are numbered in the order of addition; a number is never used again. A sealed index's rows
come first; their columns are mapped copy-on-write, so changes stay in memory.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from slowcat_memory.index.files.arrays import Column, open_array
from slowcat_memory.index.files.document import NO_TIME, Document
from slowcat_memory.index.files.header import COLUMNS, Header
from slowcat_memory.index.files.ids import Ids


class Table:
    """The documents of one namespace, living and dead."""

    def __init__(self, sealed: Path | None, header: Header | None) -> None:
        self.ids = Ids(sealed)
        self.sealed_count = self.ids.base
        columns = {
            name: Column(kind, open_array(sealed / f"{name}.npy", private=True) if sealed else None)
            for name, kind in COLUMNS.items()
        }
        self.before, self.after = columns["before"], columns["after"]
        self.at, self.importance = columns["at"], columns["importance"]
        self.pinned = columns["pinned"]
        self.substance, self.asks = columns["substance"], columns["asks"]
        self.agent = columns["agent"]
        self.words, self.digest = columns["words"], columns["digest"]
        self.session, self.speaker = columns["session"], columns["speaker"]
        self.about = columns["about_from"], columns["about_until"]
        self.speakers = list(header.speakers) if header else []
        self.alive = Column("bool", np.ones(self.sealed_count, bool))
        self.living = self.sealed_count
        self.total_words = header.words if header else 0

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, memory_id: str) -> int:
        number = self.ids.find(memory_id) if memory_id else -1
        return number if number >= 0 and self.alive[number] else -1

    def items(self) -> Iterator[tuple[str, int]]:
        for number in range(len(self.ids)):
            if self.alive[number]:
                yield self.ids[number], number

    def append(self, document: Document, hashed: int) -> int:
        """Add a document without neighbours, a session of its own; return its number.

        ``hashed`` is the digest of its text.
        """
        number = self.ids.append(document.id)
        self.before.append(-1)
        self.after.append(-1)
        self.at.append(document.at)
        self.importance.append(document.importance)
        self.pinned.append(document.pinned)
        self.substance.append(document.substance)
        self.asks.append(document.asks)
        self.agent.append(document.agent)
        self.words.append(document.words)
        self.digest.append(hashed)
        self.session.append(number)
        self.speaker.append(self._speaker_number(document.speaker))
        for column, time in zip(self.about, document.about or NO_TIME, strict=True):
            column.append(time)
        self.alive.append(True)
        self.living += 1
        self.total_words += document.words
        return number

    def update(self, number: int, document: Document) -> None:
        """Set the columns of a living document whose text is unchanged."""
        self.total_words += document.words - int(self.words[number])
        self.at[number] = document.at
        self.importance[number] = document.importance
        self.pinned[number] = document.pinned
        self.substance[number], self.asks[number] = document.substance, document.asks
        self.agent[number] = document.agent
        self.words[number] = document.words
        self.speaker[number] = self._speaker_number(document.speaker)
        self.set_about(number, document.about)

    def set_about(self, number: int, about: tuple[float, float] | None) -> None:
        for column, time in zip(self.about, about or NO_TIME, strict=True):
            column[number] = time

    def remove(self, number: int) -> None:
        self.ids.drop(number)
        self.alive[number] = False
        self.living -= 1
        self.total_words -= int(self.words[number])

    def says(self, numbers: np.ndarray) -> np.ndarray:
        """Return which living documents may be proposed: they say something of their own.

        Not so are those without substance, and the agent's answer to a mere question, which repeats
        what the agent was given. ``numbers`` are sorted, shape (n,); the result is bool.
        """
        before = self.before.take(numbers)
        asked, place = np.unique(np.maximum(before, 0), return_inverse=True)  # ``take`` wants order
        repeats = self.agent.take(numbers) & (before >= 0) & self.asks.take(asked)[place]
        return (self.substance.take(numbers) > 0) & ~repeats | self.pinned.take(numbers)

    def document(self, number: int) -> Document:
        """Return a document's columns, without its text and its neighbours."""
        return Document(
            id=self.ids[number],
            text="",
            at=self.at[number],
            importance=self.importance[number],
            pinned=bool(self.pinned[number]),
            substance=float(self.substance[number]),
            asks=bool(self.asks[number]),
            agent=bool(self.agent[number]),
            words=int(self.words[number]),
            speaker=self.speakers[int(self.speaker[number])],
            about=(self.about[0][number], self.about[1][number]),
        )

    def _speaker_number(self, name: str) -> int:
        if name not in self.speakers:
            self.speakers.append(name)
        return self.speakers.index(name)

    def speaker_numbers(self, names: Iterable[str]) -> list[int]:
        """Return the numbers of known speakers in the column ``speaker``."""
        return [self.speakers.index(name) for name in names if name in self.speakers]
