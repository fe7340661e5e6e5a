"""The part of one person's memory that an LLM with tools may see.

Local-only memories never reach an LLM on another machine, nor what was made from them, and muted
memories reach nobody. Everything that a tool answers goes through ``Seen``; what is hidden is not
counted either.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import chain, islice

from msgspec import Struct

from slowcat_memory.core.commands.mentions import mentions
from slowcat_memory.core.disclosure import (
    Reader,
    disclose_found,
    is_listed,
    is_uncertain,
    is_withheld,
)
from slowcat_memory.core.language import language_of
from slowcat_memory.core.memory import (
    BLOCK,
    CHUNK,
    FACT,
    ICEBREAKER,
    NOTE,
    SESSION_SUMMARY,
    chunk,
    chunk_id,
    family,
    searchable,
)
from slowcat_memory.core.render.head_blocks import PROFILE
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.engine.memory import Memory
from slowcat_memory.engine.search import SearchArguments
from slowcat_memory.records import Disclosed, Hit, Session, Turn
from slowcat_memory.records import Memory as MemoryRecord
from slowcat_memory.runtime.recall.scan import waiting_to_be_erased
from slowcat_memory.store import Snapshot

Test = Callable[[MemoryRecord], bool]
ABOUT_USER = (PROFILE, f"{BLOCK}/human")
LATEST_ROWS = 50  # of the ledger, which has those of every scope
LEADS = 3  # turns of a conversation that say what it is about


class View(Struct, frozen=True):
    """A snapshot of the store, and who looks at it.

    Attributes:
        gone: Ids of memories forgotten by a voice command that can still be undone.
    """

    snapshot: Snapshot
    reader: Reader
    gone: frozenset[str]

    def show(self, memory: MemoryRecord | None) -> Disclosed | None:
        """Return a memory as it may be seen; None if it must not be, or there is none."""
        if memory is None or memory.id in self.gone:
            return None
        if self.gone and any(chunk_id(turn) in self.gone for turn in memory.sources):
            return None
        return disclose_found(memory, self.reader, self.snapshot.memory)


class Talk(Struct, frozen=True):
    """A conversation: when it began, and what it was about."""

    began: datetime
    about: tuple[Disclosed, ...]


class Call(Struct, frozen=True):
    """One call, and the state when it was made.

    Attributes:
        engine: Whose memory.
        scope: The namespace; "" for guests and several speakers, who have no memory.
        turn: Number of the current user turn. With a realtime service, which answers before the
            turn is known, a turn counts when the user starts to speak.
        said: That turn, None if it is not known yet.
        now: When it was made; None for the memory's clock.
        hidden: Memories that are the user's own messages in the LLM's context.
        local: The LLM runs on this machine.
        keeps: The conversation is on the record.
        shown: Called, on the handler's thread, with the memories of an answer.
        private: Whether the LLM could read local-only memories for this reply: what it asks to
            remember is local-only then.
        logged: Returns a turn with its id in the log, once that is known.
    """

    engine: Memory
    scope: str
    turn: int = 0
    said: Turn | None = None
    now: datetime | None = None
    hidden: frozenset[str] = frozenset()
    local: bool = False
    keeps: bool = True
    shown: Callable[[Iterable[MemoryRecord]], object] = lambda memories: None
    private: bool = False
    logged: Callable[[Turn], Turn] = lambda turn: turn


class Seen:
    """One person's memory, as the LLM of some calls may see it. Every method blocks.

    Attributes:
        private: Whether the LLM may know what is local-only: its notes are local-only then.
    """

    def __init__(self, call: Call) -> None:
        self.call, self.memory, self.scope, self.local = call, call.engine, call.scope, call.local
        self.private, self.config = call.private, call.engine.config
        self.language = language_of(self.config.memory.language)
        self._words = Tokenizer(self.config.memory.language)

    @property
    def now(self) -> datetime:
        return self.call.now or self.memory.clock()

    def search(self, text: str, k: int, how: SearchArguments) -> list[Hit]:
        asked: SearchArguments = {**how, "local": self.local}
        if self.call.said and "kinds" not in how:  # what was said before it may be the answer
            asked["exclude"] = frozenset({chunk_id(self.call.logged(self.call.said).id)})
        found = self.memory.search(text, self.scope, k, **asked)
        with self._view() as view:
            return [hit for hit in found.hits if view.show(hit.memory)]

    def meant(self, what: str, most: int) -> list[Disclosed]:
        """Return the memories that words surely mean, best first, and icebreakers with all of them.

        What is hidden counts as it would if it could be seen: the like of it is not meant instead.
        """
        hits = self.memory.search(
            what,
            self.scope,
            most,
            floor=self.config.recall.floor,
            exclude=self.call.hidden,
            local=self.local,
            talk=True,
        ).hits
        asked, names = frozenset(self._words(what)), mentions(what, self._words)
        best = hits[0].coverage if hits else 0.0
        queued = list[MemoryRecord]()
        with self._view() as view:
            for one in view.snapshot.memories(self.scope):
                if is_withheld(one) and (shared := asked.intersection(self._words(one.text))):
                    best = max(best, len(shared) / len(asked))
                if family(one.kind) == ICEBREAKER and one.retired_at is None and names(one.text):
                    queued.append(one)
            meant = [hit.memory for hit in hits if hit.coverage >= best / 2]
            return [shown for one in (*meant, *queued) if (shown := view.show(one))]

    def listed(self, wanted: Test, most: int | None = None) -> list[Disclosed]:
        """Return facts, notes and pinned memories: pinned ones first, then the latest."""
        with self._view() as view:
            rows = [row for row in self._rows(view) if wanted(row)]
            rows.sort(key=lambda row: (row.pinned, row.valid_from, row.id), reverse=True)
            return list(islice(filter(None, map(view.show, rows)), most))

    def about(self, text: str, wanted: Test, most: int | None = None) -> list[Disclosed]:
        """Return those that share words with a text, those with most of them first."""
        asked, found = frozenset(self._words(text)), list[tuple[int, MemoryRecord]]()
        with self._view() as view:
            for row in filter(wanted, self._rows(view)):
                if shared := asked.intersection(self._words(f"{row.speaker} {row.text}")):
                    found.append((len(shared), row))
            found.sort(key=lambda one: (one[0], one[1].pinned, one[1].valid_from, one[1].id))
            rows = (row for _, row in reversed(found))
            return list(islice(filter(None, map(view.show, rows)), most))

    def _rows(self, view: View) -> Iterator[MemoryRecord]:
        kinds = (view.snapshot.memories(self.scope, f"{kind}/") for kind in (FACT, NOTE, CHUNK))
        for memory in chain.from_iterable(kinds):
            if is_listed(memory) and not is_uncertain(memory) and searchable(memory):
                yield memory

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

    @contextmanager
    def _view(self) -> Iterator[View]:
        with self.memory.snapshot() as snapshot:
            reader = self.memory.reader(self.scope, local=self.local)
            gone = waiting_to_be_erased(snapshot, self.scope)
            yield View(snapshot, reader, gone)
