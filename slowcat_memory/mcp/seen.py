"""What a host may see of one person's memory.

A host is another machine's LLM unless the user says otherwise: local-only memories never reach it,
nor what was made from them, and muted memories reach nobody. Everything that a tool answers goes
through ``Seen``; what is hidden is not counted either.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

from msgspec import Struct

from slowcat_memory.core.disclosure import Reader, disclose_found
from slowcat_memory.core.memory import BLOCK, CHUNK, SESSION_SUMMARY, chunk
from slowcat_memory.core.render.head_blocks import PROFILE
from slowcat_memory.engine.memory import Memory
from slowcat_memory.engine.search import SearchArguments
from slowcat_memory.mcp.listed_memories import ListedMemories, Test
from slowcat_memory.records import Disclosed, Hit, Turn
from slowcat_memory.store import Snapshot

ABOUT_USER = (PROFILE, f"{BLOCK}/human")
LATEST_TURNS = 3000  # how many turns back ``talks`` looks
LATEST_ROWS = 50  # of the ledger, which has those of every scope
LEADS = 3  # turns of a conversation that say what it is about


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

    def search(self, text: str, k: int, how: SearchArguments) -> list[Hit]:
        asked: SearchArguments = {**how, "local": self.local}
        found = self.memory.search(text, self.scope, k, **asked)
        with self.memory.snapshot() as snapshot:
            reader = self._reader()
            return [
                hit for hit in found.hits if disclose_found(hit.memory, reader, snapshot.memory)
            ]

    def listed(self, wanted: Test, most: int | None = None) -> list[Disclosed]:
        """Return facts, notes and pinned memories: pinned ones first, then the latest.

        Args:
            wanted: A test of a memory whose text is left out.
        """
        with self.memory.snapshot() as snapshot:
            ids = self._lists.matching(snapshot, wanted)
            return list(islice(self._read(ids, snapshot), most))

    def about(self, text: str, wanted: Test, most: int | None = None) -> list[Disclosed]:
        """Return those that share words with a text, those with most of them first."""
        with self.memory.snapshot() as snapshot:
            ids = self._lists.about(snapshot, text, wanted)
            return list(islice(self._read(ids, snapshot), most))

    def _read(self, ids: Iterable[str], snapshot: Snapshot) -> Iterator[Disclosed]:
        reader = self._reader()
        for id in ids:
            memory = snapshot.memory(self.scope, id)
            if memory and (shown := disclose_found(memory, reader, snapshot.memory)):
                yield shown

    def profile(self) -> list[Disclosed]:
        """Return what sums up the user: the profile and the blocks about them."""
        with self.memory.snapshot() as snapshot:
            reader = self._reader()
            blocks = [
                shown
                for one in snapshot.memories(self.scope, f"{BLOCK}/")
                if one.retired_at is None
                and (shown := disclose_found(one, reader, snapshot.memory))
            ]
        blocks.sort(key=lambda one: (one.recorded_at or one.valid_from, one.id))
        latest = {one.kind: one for one in blocks if one.text.strip()}
        return [latest[kind] for kind in ABOUT_USER if kind in latest]

    def talks(self, since: datetime, most: int) -> list[Talk]:
        """Return the conversations since a moment, the latest first.

        One of which nothing may be seen is left out.
        """
        with self.memory.snapshot() as snapshot:
            sessions: dict[str, list[Turn]] = {}
            for turn in islice(snapshot.latest_turns(self.scope), LATEST_TURNS):
                if turn.at < since or (len(sessions) > most and turn.session not in sessions):
                    break
                sessions.setdefault(turn.session, []).append(turn)
            reader = self._reader()
            talks = (self._talk(session, turns[::-1], reader, snapshot)
                     for session, turns in sessions.items())  # fmt: skip
            return [talk for talk in talks if talk.about][:most]

    def _talk(self, session: str, turns: list[Turn], reader: Reader, snapshot: Snapshot) -> Talk:
        began = turns[0].at
        summary = snapshot.memory(self.scope, f"{SESSION_SUMMARY}/{session}")
        if summary is not None and summary.retired_at is None:
            if shown := disclose_found(summary, reader, snapshot.memory):
                return Talk(began, (shown,))
        chunks = (
            snapshot.memory(self.scope, f"{CHUNK}/{turn.id}") or chunk(turn)
            for turn in turns
            if turn.role == "user" and not turn.aside
        )
        said = [shown for one in chunks if (shown := disclose_found(one, reader, snapshot.memory))]
        longest = sorted(said, key=lambda one: -len(one.text))[:LEADS]
        return Talk(began, tuple(one for one in said if one in longest))

    def offered_at(self, turn: int) -> list[Disclosed] | None:
        """Return the memories that were injected at a user's turn; None where none is recorded.

        Args:
            turn: Its log id; 0 for the latest of the scope.
        """
        with self.memory.snapshot() as snapshot:
            if turn:
                rows = [row for row in (snapshot.ledger(turn),) if row]
            else:
                rows = snapshot.ledger_tail(LATEST_ROWS)
            entry = next((row for row in rows if row.scope == self.scope), None)
            if entry is None:
                return None
            reader = self._reader()
            read = (
                snapshot.memory(offer.scope or self.scope, offer.memory)
                or snapshot.read(offer.scope or self.scope, offer.memory)
                for offer in entry.offers
            )
            return [
                shown
                for one in read
                if one and (shown := disclose_found(one, reader, snapshot.memory))
            ]

    def warm(self) -> None:
        """Read what is listed, so that the first call need not."""
        self.listed(lambda memory: False)

    def _reader(self) -> Reader:
        return self.memory.reader(self.scope, local=self.local)
