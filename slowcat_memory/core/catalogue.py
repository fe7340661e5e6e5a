"""A namespace's memories without their texts: what lists, searches and session starts choose from.

The store keeps memories by id, and ids are hashes, so a choice by time, words or subject would read
every memory. A row has no words, only hashes of them, so that it may outlive forgetting.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from datetime import datetime

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.memory import FACT, READING, chunk_id, family
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory

_IDS = ("covers", "source", "superseded_by", "why")  # facets that hold ids, or a check's name


def place(row: Memory) -> tuple[datetime, str]:
    """Return a row's place in the order of time."""
    return row.valid_from, row.id


def searched_text(memory: Memory) -> str:
    """Return a memory's text, after its name and topics."""
    facets = memory.facets
    return " ".join(filter(None, (facets.get("name"), facets.get("topics"), memory.text)))


class Catalogue:
    """The memories of a scope, but for readings. A view of a ``WorkingSet``; not thread-safe.

    What was dropped leaves hashes behind until all is read anew, as after every forgetting.
    """

    beginnings = ("",)

    def __init__(self, tokenize: Callable[[str], Iterable[str]]) -> None:
        self._tokenize = tokenize
        self._rows = list[Memory | None]()  # by number, None for one that was dropped
        self._since = array("d")  # by number
        self._numbers: dict[str, int] = {}  # by id
        self._having = defaultdict[int, array](lambda: array("I"))  # numbers by hash of a term
        self._in_order: list[Memory] | None = None

    def put(self, memory: Memory, snapshot: object = None) -> None:
        """Add or replace a memory."""
        self.drop(memory.id)
        if family(memory.kind) == READING:
            return
        number = self._numbers[memory.id] = len(self._rows)
        words = self._tokenize(f"{memory.speaker} {searched_text(memory)}")
        for term in {*map(hash, words), *map(hash, _terms(memory))}:
            self._having[term].append(number)
        self._rows.append(_without_words(memory))
        self._since.append(memory.valid_from.timestamp())
        self._in_order = None

    def drop(self, id: str) -> None:
        """Remove a memory, if it is there."""
        number = self._numbers.pop(id, None)
        if number is not None:
            self._rows[number] = self._in_order = None

    def in_order(self) -> list[Memory]:
        """Return all rows in the order of time."""
        if self._in_order is None:
            self._in_order = sorted(filter(None, self._rows), key=place)
        return self._in_order

    def having(self, *terms: Hashable) -> Iterator[Memory]:
        """Yield the rows that have any of some terms.

        Args:
            terms: A word, ("kind", a kind or its family), ("turn", an id), ("by", the id of what
                superseded it), ("about", an entity's id or a folded subject), or "/pinned".
        """
        numbers = set[int]().union(*(self._having.get(hash(term), ()) for term in terms))
        return (row for number in sorted(numbers) if (row := self._rows[number]))

    def common(self, words: Iterable[str]) -> Counter[str]:
        """Return how many of some words each row has, by id."""
        return Counter(row.id for word in set(words) for row in self.having(word))

    def ranked(
        self, kinds: Iterable[str], words: Mapping[str, float], turns: Mapping[str, float]
    ) -> Iterator[tuple[Memory, float, float]]:
        """Yield the rows of some kinds, best first; of equal ones the latest.

        Args:
            words: Weights by word.
            turns: Weights by id of a turn's chunk.

        Returns:
            Each row with the sum of its words' weights, and the greatest of its turns'.
        """
        own, behind = np.zeros(len(self._rows)), np.zeros(len(self._rows))
        for word, weight in words.items():
            own[self._with(word)] += weight
        for turn, weight in turns.items():
            numbers = self._with(("turn", turn))
            behind[numbers] = np.maximum(behind[numbers], weight)
        numbers = np.unique(np.concatenate([self._with(("kind", kind)) for kind in kinds]))
        since = np.array(self._since)[numbers]
        for number in reversed(numbers[np.lexsort((since, (own + behind)[numbers]))]):
            if row := self._rows[number]:
                yield row, float(own[number]), float(behind[number])

    def _with(self, term: Hashable) -> np.ndarray:
        return np.array(self._having.get(hash(term), ()), np.uint32)


def _terms(memory: Memory) -> Iterator[Hashable]:
    fact, kind = memory.statement, family(memory.kind)
    yield from (("turn", chunk_id(turn)) for turn in memory.sources)
    yield from (("kind", memory.kind), ("kind", kind))
    if memory.pinned:
        yield "/pinned"
    if by := memory.facets.get("superseded_by"):
        yield "by", by
    if kind == FACT:
        yield from (("about", key) for key in {fold(fact.subject), fact.subject_id, fact.object_id})


def _without_words(memory: Memory) -> Memory:
    fact, facets = memory.statement, memory.facets
    fact = replace(fact, subject="", predicate="", object="", quote="", ends=())
    ids = {name: facets[name] for name in _IDS if name in facets}
    return replace(memory, speaker="", text="", context="", statement=fact, facets=ids)
