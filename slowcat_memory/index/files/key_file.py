"""Keys in files: short texts that point back to documents, by document and name.

A key's text is not kept, only what tells whether it changed; its words are among the document's
(see ``views``), its vector is in files of its own (see ``vectors``).
"""

from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from slowcat_memory.index.files.mapped import open_array

KEYS, ASKED = "keys", "asked"
VIEWS = (KEYS, ASKED)


def view_of(kind: str) -> str:
    """Tell in which view a key is found.

    Args:
        kind: As in ``records.Key``.

    Returns:
        One of ``VIEWS``: real queries that were judged say something else than what an LLM wrote.
    """
    return ASKED if kind == "asked" else KEYS


def parts(key: str) -> tuple[str, str]:
    """Take a key's id apart, ``<memory>?<name>``.

    Args:
        key: An id.

    Returns:
        The memory's id, "" when it is no key's, and the key's own name.
    """
    memory_id, _, name = key.rpartition("?")
    return memory_id, name


class Pointer(Struct, frozen=True):
    """A key as the index takes it.

    Attributes:
        name: Its own name, unique among the document's keys.
        kind: As in ``records.Key``.
        text: Its text.
        weight: 0 to 1; below 0 for what the document does not answer.
    """

    name: str
    kind: str
    text: str
    weight: float = 1.0


class SealedKeys:
    """One view's keys, in order of their documents and names."""

    def __init__(self, sealed: Path | None, view: str) -> None:
        """Map what is stored, or start with nothing.

        Args:
            sealed: Folder of the sealed index.
            view: One of ``VIEWS``.
        """
        self.targets, self.digests = np.zeros(0, np.int32), np.zeros(0, np.int64)
        self.weights = np.zeros(0, np.float32)
        self._starts, self._names = np.zeros(1, np.int64), np.zeros(0, np.uint8)
        if sealed is not None:
            self.targets = open_array(sealed / f"{view}.targets.npy")
            self.digests = open_array(sealed / f"{view}.digests.npy")
            self.weights = open_array(sealed / f"{view}.weights.npy", private=True)
            self._starts = open_array(sealed / f"{view}.starts.npy")
            self._names = open_array(sealed / f"{view}.names.npy")

    def __len__(self) -> int:
        return len(self.targets)

    def name(self, number: int) -> str:
        """Return a key's own name."""
        return self._names[self._starts[number] : self._starts[number + 1]].tobytes().decode()

    def of(self, target: int) -> range:
        """Tell which keys point to a document.

        Args:
            target: Its number.

        Returns:
            Their numbers.
        """
        wanted = np.array([target, target + 1], self.targets.dtype)
        return range(*self.targets.searchsorted(wanted).tolist())


class KeyWriter:
    """Gathers one view's keys, document by document, and stores them."""

    def __init__(self) -> None:
        """Start with none."""
        self._targets, self._digests = array("i"), array("q")
        self._weights, self._starts, self._names = array("f"), array("q", [0]), bytearray()

    def __len__(self) -> int:
        return len(self._targets)

    def add(self, target: int, pointers: Sequence[tuple[Pointer, int]]) -> None:
        """Take the keys of the next document.

        Args:
            target: Its number, higher than any before.
            pointers: Its keys, each with its text's digest.
        """
        for pointer, hashed in sorted(pointers, key=lambda one: one[0].name):
            self._targets.append(target)
            self._digests.append(hashed)
            self._weights.append(pointer.weight)
            self._names.extend(pointer.name.encode())
            self._starts.append(len(self._names))

    def find(self, target: int, name: str) -> int:
        """Find a key.

        Args:
            target: Its document's number.
            name: Its own name.

        Returns:
            Its number, -1 for none.
        """
        held = np.frombuffer(self._targets, np.int32)
        first, last = held.searchsorted(np.array([target, target + 1], np.int32)).tolist()
        wanted = name.encode()
        starts = self._starts
        for number in range(first, last):
            if self._names[starts[number] : starts[number + 1]] == wanted:
                return number
        return -1

    def finish(self, folder: Path, view: str) -> None:
        """Store everything.

        Args:
            folder: Where the files go.
            view: One of ``VIEWS``.
        """
        for name, values, kind in (
            ("targets", self._targets, np.int32),
            ("digests", self._digests, np.int64),
            ("weights", self._weights, np.float32),
            ("starts", self._starts, np.int64),
            ("names", self._names, np.uint8),
        ):
            np.save(folder / f"{view}.{name}.npy", np.frombuffer(values, kind))
