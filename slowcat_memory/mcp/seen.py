"""What a host may see of one person's memory.

A host is another machine's LLM unless the user says otherwise: local-only memories never reach it,
nor what was made from them, and muted memories reach nobody. Everything that a tool answers goes
through ``Seen``; what is hidden is not counted either.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from threading import Lock

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.disclosure import Reader, disclose_found, is_listed, is_uncertain
from slowcat_memory.core.memory import (
    BLOCK,
    CHUNK,
    FACT,
    NOTE,
    SESSION_SUMMARY,
    chunk,
    chunk_id,
    searchable,
)
from slowcat_memory.core.render.head_blocks import PROFILE
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.engine.memory import Memory
from slowcat_memory.engine.search import SearchArguments
from slowcat_memory.records import Disclosed, Hit, MemoryEvent, Session
from slowcat_memory.records import Memory as MemoryRecord
from slowcat_memory.runtime.recall.scan import waiting_to_be_erased
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


ABOUT_USER = (PROFILE, f"{BLOCK}/human")
LATEST_ROWS = 50  # of the ledger, which has those of every scope
LEADS = 3  # turns of a conversation that say what it is about


class View(Struct, frozen=True):
    """A snapshot of the store, and who looks at it.

    Attributes:
        gone: Ids of memories forgotten by a voice command that can still be undone.
        on_private: Called with each local-only memory that is shown.
    """

    snapshot: Snapshot
    reader: Reader
    gone: frozenset[str]
    on_private: Callable[[Disclosed], object]

    def show(self, memory: MemoryRecord | None) -> Disclosed | None:
        """Return a memory as it may be seen; None if it must not be, or there is none."""
        if memory is None or memory.id in self.gone:
            return None
        if self.gone and any(chunk_id(turn) in self.gone for turn in memory.sources):
            return None
        shown = disclose_found(memory, self.reader, self.snapshot.memory)
        if shown is not None and shown.local_only:
            self.on_private(shown)
        return shown


class Talk(Struct, frozen=True):
    """A conversation: when it began, and what it was about."""

    began: datetime
    about: tuple[Disclosed, ...]


class Seen:
    """One person's memory, as one host may see it. Every method blocks."""

    def __init__(self, memory: Memory, scope: str, *, local: bool) -> None:
        """Look at a scope.

        Args:
            local: Whether the host's LLM is on this machine.
        """
        self.memory, self.scope, self.local = memory, scope, local
        self._lists = ListedMemories(memory, scope)
        self.showed_private = False  # whether the host's LLM may know what is local-only

    def search(self, text: str, k: int, how: SearchArguments) -> list[Hit]:
        asked: SearchArguments = {**how, "local": self.local}
        found = self.memory.search(text, self.scope, k, **asked)
        with self._view() as view:
            return [hit for hit in found.hits if view.show(hit.memory)]

    def listed(self, wanted: Test, most: int | None = None) -> list[Disclosed]:
        """Return facts, notes and pinned memories: pinned ones first, then the latest.

        Args:
            wanted: A test of a memory whose text is left out.
        """
        with self._view() as view:
            ids = self._lists.matching(view.snapshot, wanted)
            return list(islice(self._read(ids, view), most))

    def about(self, text: str, wanted: Test, most: int | None = None) -> list[Disclosed]:
        """Return those that share words with a text, those with most of them first."""
        with self._view() as view:
            ids = self._lists.about(view.snapshot, text, wanted)
            return list(islice(self._read(ids, view), most))

    def _read(self, ids: Iterable[str], view: View) -> Iterator[Disclosed]:
        for id in ids:
            memory = view.snapshot.memory(self.scope, id)
            if memory and searchable(memory) and (shown := view.show(memory)):
                yield shown

    def profile(self) -> list[Disclosed]:
        """Return what sums up the user: the profile and the block about them."""
        with self._view() as view:
            every = view.snapshot.memories(self.scope, f"{BLOCK}/")
            shown = (view.show(one) for one in every if one.retired_at is None)
            blocks = [one for one in shown if one and one.text.strip()]
        blocks.sort(key=lambda one: (one.recorded_at or one.valid_from, one.id))
        latest = {one.kind: one for one in blocks}
        return [latest[kind] for kind in ABOUT_USER if kind in latest]

    def talks(self, since: datetime, most: int) -> list[Talk]:
        """Return the conversations since a moment, the latest first.

        One of which nothing may be seen is left out.
        """
        with self._view() as view:
            every = view.snapshot.sessions(self.scope)  # an import logs old ones last
            recent = [one for one in every if one.turns and one.last >= since]
            recent.sort(key=lambda one: (one.last, one.id), reverse=True)
            talks = (self._talk(one, since, view) for one in recent)
            return list(islice((talk for talk in talks if talk and talk.about), most))

    def _talk(self, row: Session, since: datetime, view: View) -> Talk | None:
        """Return what a conversation was about: its summary, or else its longest turns since."""
        snapshot, session = view.snapshot, row.id
        logged = snapshot.turns(self.scope, row.first_turn - 1, row.last_turn)
        turns = [one for one in logged if one.session == session and one.at >= since]
        if not turns:
            return None
        began = turns[0].at
        summary = snapshot.memory(self.scope, f"{SESSION_SUMMARY}/{session}")
        if summary and summary.retired_at is None and (shown := view.show(summary)):
            return Talk(began, (shown,))
        own = [turn for turn in turns if turn.role == "user" and not turn.aside]
        chunks = (snapshot.memory(self.scope, chunk_id(turn.id)) or chunk(turn) for turn in own)
        seen = (view.show(one) for one in chunks if one.retired_at is None)
        said = [one for one in seen if one]
        longest = sorted(said, key=lambda one: -len(one.text))[:LEADS]
        return Talk(began, tuple(one for one in said if one in longest))

    def offered_at(self, turn: int) -> list[Disclosed] | None:
        """Return the memories that were injected at a user's turn; None where none is recorded.

        Args:
            turn: Its log id; 0 for the latest of the scope.
        """
        with self._view() as view:
            snapshot = view.snapshot
            rows = [snapshot.ledger(turn)] if turn else snapshot.ledger_tail(LATEST_ROWS)
            entry = next((row for row in rows if row and row.scope == self.scope), None)
            if entry is None:
                return None
            read = (snapshot.read(one.scope or self.scope, one.memory) for one in entry.offers)
            return [shown for one in read if (shown := view.show(one))]

    def warm(self) -> None:
        """Read what is listed, so that the first call need not."""
        self.listed(lambda memory: False)

    @contextmanager
    def _view(self) -> Iterator[View]:
        with self.memory.snapshot() as snapshot:
            reader = self.memory.reader(self.scope, local=self.local)
            gone = waiting_to_be_erased(snapshot, self.scope)
            yield View(snapshot, reader, gone, self._on_private)

    def _on_private(self, memory: Disclosed) -> None:
        self.showed_private = True
