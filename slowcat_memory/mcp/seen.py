"""What a host may see of one person's memory.

A host is another machine's LLM unless the user says otherwise: local-only memories never reach it,
nor what was made from them, and muted memories reach nobody. Everything that a tool answers goes
through ``Seen``; what is hidden is not counted either.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice

from msgspec import Struct

from slowcat_memory.core.disclosure import Reader, disclose_found
from slowcat_memory.core.memory import BLOCK, SESSION_SUMMARY, chunk, chunk_id, searchable
from slowcat_memory.core.render.head_blocks import PROFILE
from slowcat_memory.engine.memory import Memory
from slowcat_memory.engine.search import SearchArguments
from slowcat_memory.mcp.listed_memories import ListedMemories, Test
from slowcat_memory.records import Disclosed, Hit, Turn
from slowcat_memory.records import Memory as MemoryRecord
from slowcat_memory.runtime.recall.scan import waiting_to_be_erased
from slowcat_memory.store import Snapshot

ABOUT_USER = (PROFILE, f"{BLOCK}/human")
LATEST_TURNS = 3000  # how many turns back ``talks`` looks
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
            sessions: dict[str, list[Turn]] = {}
            for turn in islice(view.snapshot.latest_turns(self.scope), LATEST_TURNS):
                if turn.at < since or (len(sessions) > most and turn.session not in sessions):
                    break
                sessions.setdefault(turn.session, []).append(turn)
            talks = (self._talk(id, turns[::-1], view) for id, turns in sessions.items())
            return [talk for talk in talks if talk.about][:most]

    def _talk(self, session: str, turns: list[Turn], view: View) -> Talk:
        """Return what a conversation was about: its summary, or else its longest turns."""
        snapshot, began = view.snapshot, turns[0].at
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
