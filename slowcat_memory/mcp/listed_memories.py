"""The facts, notes and pinned memories of a scope by their words, kept between calls.

A store of a hundred thousand turns has ten thousand facts, and reading all of them for each call
would take most of a second. So each is read once, and afterwards only what changed. Texts are not
kept, only stems, and these go when anything is forgotten.
"""

from collections.abc import Callable, Iterator
from threading import Lock

from msgspec.structs import replace

from slowcat_memory.core.disclosure import is_listed, is_uncertain
from slowcat_memory.core.memory import CHUNK, FACT, NOTE
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.engine.memory import Memory
from slowcat_memory.records import Memory as MemoryRecord
from slowcat_memory.records import MemoryEvent
from slowcat_memory.store import Snapshot

BEGINNINGS = tuple(f"{kind}/" for kind in (FACT, NOTE, CHUNK))  # of the ids of what may be listed
Test = Callable[[MemoryRecord], bool]


class ListedMemories:
    """What may be listed of one scope, without texts. Safe to use from several threads."""

    def __init__(self, memory: Memory, scope: str) -> None:
        self._scope, self._lock = scope, Lock()
        self._words = Tokenizer(memory.config.memory.language)
        self._rows: dict[str, tuple[MemoryRecord, frozenset[str]]] = {}
        self._upto, self._epoch = -1, -1  # of the last change and of the last forgetting read
        memory.subscribe(on_event=self._on_event)

    def matching(self, snapshot: Snapshot, wanted: Test) -> list[str]:
        """Return the ids of what passes a test: pinned ones first, then the latest.

        Args:
            wanted: A test of a memory whose text is left out.
        """
        rows = [row for row, _ in self._current(snapshot) if wanted(row)]
        rows.sort(key=lambda row: (row.pinned, row.valid_from, row.id), reverse=True)
        return [row.id for row in rows]

    def about(self, snapshot: Snapshot, text: str, wanted: Test) -> list[str]:
        """Return the ids of what passes a test and shares words with a text, the most first."""
        asked = frozenset(self._words(text))
        found = [
            (len(asked & words), row.pinned, row.valid_from, row.id)
            for row, words in self._current(snapshot)
            if not asked.isdisjoint(words) and wanted(row)
        ]
        return [one[-1] for one in sorted(found, reverse=True)]

    def _current(self, snapshot: Snapshot) -> list[tuple[MemoryRecord, frozenset[str]]]:
        """Return every row as of a snapshot; an older one than the last leaves them."""
        with self._lock:
            number, epoch = snapshot.last_change(), snapshot.forget_epoch()
            if epoch != self._epoch or self._is_trimmed(snapshot):
                self._rows.clear()
                for memory in _all(snapshot, self._scope):
                    self._put(memory.id, memory)
            else:
                for id in snapshot.changed(self._scope, self._upto):
                    if id.startswith(BEGINNINGS):
                        self._put(id, snapshot.memory(self._scope, id))
            self._upto, self._epoch = max(number, self._upto), epoch
            return list(self._rows.values())

    def _is_trimmed(self, snapshot: Snapshot) -> bool:
        """Return whether changes were dropped that are not read yet: an index holds them now."""
        sealed = snapshot.manifest(self._scope)
        return sealed is not None and sealed.changes > self._upto

    def _put(self, id: str, memory: MemoryRecord | None) -> None:
        if memory is None or not is_listed(memory) or is_uncertain(memory):
            self._rows.pop(id, None)
            return
        words = frozenset(self._words(f"{memory.speaker} {memory.text}"))
        self._rows[id] = replace(memory, text="", facets={}), words

    def _on_event(self, event: MemoryEvent) -> None:
        if event.what == "forgotten":
            with self._lock:
                self._rows.clear()
                self._upto = self._epoch = -1


def _all(snapshot: Snapshot, scope: str) -> Iterator[MemoryRecord]:
    for beginning in BEGINNINGS:
        yield from snapshot.memories(scope, beginning)
