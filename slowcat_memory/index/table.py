"""A row of columns for each document: everything but its words and vectors.

Documents are numbered in the order of addition; a number is never used again. A sealed index's rows
come first. The columns are read into memory, 64 bytes a document; the file stays as it is.

All else of a sealed index is arrays in mapped files. The kernel may drop a clean page of a mapped file
at any time. It counts as this process's memory while it is mapped, and costs a soft fault of about
a microsecond when it is mapped again. Where the kernel keeps files in pieces of 2 MB, one access
maps the whole piece: a query that reads 400 scattered rows maps 300 MB at a million memories.
``madvise(MADV_RANDOM)`` does not help: without huge pages it still maps 220 MB, and is slower.
"""

import mmap
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from slowcat_memory.core.memory import CHUNK, chunk_id, turn_of
from slowcat_memory.core.ranking.score import Row
from slowcat_memory.index.format import COLUMNS, Document, Header


def open_array(path: Path) -> np.ndarray:
    """Map a stored array, read-only.

    Takes 0.05 ms, a tenth of ``np.load``: an index has some thirty of them. Returns a plain array
    over the map: slicing a ``memmap`` costs 2 us.

    Args:
        path: An ``.npy`` file of version 1.0.

    Raises:
        ValueError: The file is not of that format.
        TypeError: The file is shorter than its header says.
    """
    with path.open("rb") as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"{path.name} is an array of another version")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        offset = file.tell()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.ndarray(shape, dtype, buffer=mapped, offset=offset)


def open_or_empty(folder: Path | None, name: str, dtype: type | str) -> np.ndarray:
    """Map an array of a sealed index's folder; without a folder it is empty."""
    return open_array(folder / f"{name}.npy") if folder else np.zeros(0, dtype)


class Column:
    """One value per row, in an array that grows; a row may be an array itself."""

    def __init__(self, rows: np.ndarray) -> None:
        """Start with a copy of some rows, of the type and shape of all that follow."""
        self._rows = np.array(rows)
        self._length = len(rows)

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> np.ndarray:
        """All values, writable."""
        return self._rows[: self._length]

    def __getitem__(self, row: int) -> float:
        return self.values[row].item()

    def __setitem__(self, row: int, value: float) -> None:
        self.values[row] = value

    def append(self, value: float | np.ndarray) -> None:
        if self._length == len(self._rows):
            grown = max(64, self._length // 4)
            self._rows = np.concatenate(
                (self._rows, np.zeros_like(self._rows, shape=(grown, *self._rows.shape[1:])))
            )
        self._rows[self._length] = value
        self._length += 1


class Texts:
    """Texts by row, in two arrays of a sealed index: their bytes, and where each begins."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self._starts = open_or_empty(folder, f"{name}.starts", np.int64)
        self._bytes = open_or_empty(folder, f"{name}.texts", np.uint8)

    @staticmethod
    def write(encoded: Sequence[bytes], folder: Path, name: str) -> None:
        starts = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=starts[1:])
        np.save(folder / f"{name}.starts.npy", starts)
        np.save(folder / f"{name}.texts.npy", np.frombuffer(b"".join(encoded), np.uint8))

    def __len__(self) -> int:
        return max(0, len(self._starts) - 1)

    def __getitem__(self, row: int) -> str:
        return self._bytes[self._starts[row] : self._starts[row + 1]].tobytes().decode()


IDS, TURNS = "ids", "ids.turns"  # names of the files


def chunk_of(memory_id: str) -> int:
    """Return the turn number in a chunk's id, 0 for any other id."""
    turn = turn_of(memory_id)
    return turn if turn and turn < 2**63 and chunk_id(turn) == memory_id else 0


class Ids:
    """Document numbers by id, in the order of addition: those of a sealed index first."""

    def __init__(self, sealed: Path | None = None) -> None:
        self._turns = open_or_empty(sealed, TURNS, np.int64)
        self._others = Texts(sealed, IDS)
        self._chunks = len(self._turns)
        self.base = self._chunks + len(self._others)
        self._tail: list[str] = []
        self._number: dict[str, int] = {}

    def write(self, folder: Path) -> None:
        """Store the ids, all of them appended: chunks, by their turns' numbers, then others, by id.

        Raises:
            ValueError: They are in another order.
        """
        turns = [chunk_of(memory_id) for memory_id in self._tail]
        chunks = (*turns, 0).index(0)
        others = self._tail[chunks:]
        for ids in (turns[:chunks], others):
            if any(first >= second for first, second in pairwise(ids)):  # type: ignore[operator]
                raise ValueError("documents out of order")
        np.save(folder / f"{TURNS}.npy", np.array(turns[:chunks], np.int64))
        Texts.write([memory_id.encode() for memory_id in others], folder, IDS)

    def __len__(self) -> int:
        return self.base + len(self._tail)

    def append(self, memory_id: str) -> int:
        """Return the next number; an earlier number of the same id is no longer found."""
        number = len(self)
        self._tail.append(memory_id)
        self._number[memory_id] = number
        return number

    def of(self, numbers: np.ndarray) -> list[str]:
        """Return the ids of documents, whose numbers rise."""
        cut = int(numbers.searchsorted(self._chunks))
        chunks = [f"{CHUNK}/{turn}" for turn in self._turns[numbers[:cut]].tolist()]
        return chunks + [self[number] for number in numbers[cut:].tolist()]

    def drop(self, number: int) -> None:
        """Make an appended id unfindable. For a sealed one the caller keeps the tombstone."""
        if number >= self.base:
            self._number.pop(self._tail[number - self.base], None)
            self._tail[number - self.base] = ""

    def __getitem__(self, number: int) -> str:
        if number >= self.base:
            return self._tail[number - self.base]
        if number < self._chunks:
            return chunk_id(self._turns.item(number))
        return self._others[number - self._chunks]

    def find(self, memory_id: str) -> int:
        """Return an id's latest number, -1 when there is none. A sealed one may be dead."""
        number = self._number.get(memory_id)
        return self._find_sealed(memory_id) if number is None else number

    def _find_sealed(self, memory_id: str) -> int:
        turn = chunk_of(memory_id)
        place = bisect_left(self._turns, turn) if turn else self._chunks
        if place < self._chunks and self._turns[place] == turn:
            return place
        place = bisect_left(self._others, memory_id)
        is_other = place < len(self._others) and self._others[place] == memory_id
        return self._chunks + place if is_other else -1


RANKED = [row for row in Row if Row.AT <= row <= Row.ABOUT_UNTIL]
"""The columns that ranking reads, by their names."""


class DocumentTable:
    """The documents of one namespace, living and dead."""

    def __init__(self, sealed: Path | None, header: Header | None) -> None:
        self.ids = Ids(sealed)
        self.sealed_count = self.ids.base
        columns = self._columns = {
            name: Column(open_or_empty(sealed, name, kind)) for name, kind in COLUMNS.items()
        }
        self.before, self.after = columns["before"], columns["after"]
        self.at = columns["at"]
        self.pinned, self.asks = columns["pinned"], columns["asks"]
        self.substance, self.agent = columns["substance"], columns["agent"]
        self.words, self.digest = columns["words"], columns["digest"]
        self.session, self.speaker = columns["session"], columns["speaker"]
        self.about = columns["about_from"], columns["about_until"]
        self.local = columns["local"]
        self._ranked = [(row, columns[row.name.lower()]) for row in RANKED]
        self.speakers = list(header.speakers) if header else []
        self.alive = Column(np.ones(self.sealed_count, bool))
        self.living = self.sealed_count
        self.total_words = header.words if header else 0

    def write(self, folder: Path) -> None:
        """Store a table that has no sealed part; raises ``ValueError`` as ``Ids.write`` does."""
        self.ids.write(folder)
        for name, column in self._columns.items():
            np.save(folder / f"{name}.npy", column.values)

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
        place = {"before": -1, "after": -1, "digest": hashed, "session": len(self)}
        own = document.columns(self._speaker_number(document.speaker))
        return self._append(document.id, own | place)

    def append_copy(self, number: int) -> int:
        """Add a document once more, in its place in the session; return its new number."""
        row = {name: column[number] for name, column in self._columns.items()}
        return self._append(self.ids[number], row)

    def _append(self, memory_id: str, row: Mapping[str, float]) -> int:
        for name, value in row.items():
            self._columns[name].append(value)
        self.alive.append(True)
        self.living += 1
        self.total_words += int(row["words"])
        return self.ids.append(memory_id)

    def update(self, number: int, document: Document) -> None:
        """Set the columns of a living document whose text is unchanged."""
        self.total_words += document.words - int(self.words[number])
        self.set_columns(number, document.columns(self._speaker_number(document.speaker)))

    def set_columns(self, number: int, values: Mapping[str, float]) -> None:
        """Set some columns of a document, by their names."""
        for name, value in values.items():
            self._columns[name][number] = value

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
        says = self.substance.values[numbers] > 0
        answers = np.flatnonzero(self.agent.values[numbers] & says)
        before = self.before.values[numbers[answers]]
        says[answers] = (before < 0) | ~self.asks.values[before]
        return says | self.pinned.values[numbers]

    def columns(self, numbers: np.ndarray) -> np.ndarray:
        """Return a block of documents with what is known of them here, NaN for all else."""
        block = np.full((len(Row), len(numbers)), np.nan)
        block[Row.BEFORE] = _positions(numbers, self.before.values[numbers])
        block[Row.AFTER] = _positions(numbers, self.after.values[numbers])
        for row, column in self._ranked:
            block[row] = column.values[numbers]
        return block

    def _speaker_number(self, name: str) -> int:
        if name not in self.speakers:
            self.speakers.append(name)
        return self.speakers.index(name)

    def speaker_numbers(self, names: Iterable[str]) -> list[int]:
        """Return the numbers of known speakers in the column ``speaker``."""
        return [self.speakers.index(name) for name in names if name in self.speakers]


def _positions(numbers: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return each wanted number's position in the sorted ``numbers``, -1 if missing."""
    if not len(numbers):
        return np.zeros(0, np.int64)
    at = np.searchsorted(numbers, wanted)
    at[at == len(numbers)] = 0
    return np.where(numbers[at] == wanted, at, -1)
