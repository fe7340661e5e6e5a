"""The part of one person's memory that an LLM with tools may see.

Local-only memories never reach an LLM on another machine, nor what was made from them, and muted
memories reach nobody. Everything that a tool answers goes through ``Seen``; what is hidden is not
counted either.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from itertools import islice

from msgspec import Struct

from slowcat_memory.config import tokenizer
from slowcat_memory.core.catalogue import Catalogue
from slowcat_memory.core.commands.corrections import mentions
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
    ICEBREAKER,
    SESSION_SUMMARY,
    chunk,
    chunk_id,
    held_at,
    searchable,
    types_of,
)
from slowcat_memory.core.render.head_blocks import PROFILE
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.search import SearchArguments
from slowcat_memory.records import Disclosed, Hit, Session, Turn
from slowcat_memory.records import Memory as MemoryRecord
from slowcat_memory.runtime.recall.time_travel import waiting_to_be_erased
from slowcat_memory.store import Snapshot

Test = Callable[[MemoryRecord], bool]
ABOUT_USER = (PROFILE, f"{BLOCK}/human")
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
        ids = (memory.id, *map(chunk_id, memory.sources)) if memory and self.gone else ()
        if memory is None or not self.gone.isdisjoint(ids):
            return None
        return disclose_found(memory, self.reader, self.snapshot.memory)


def _may_be_listed(row: MemoryRecord) -> bool:
    return is_listed(row) and searchable(row) and not is_uncertain(row)


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
    """

    engine: MemoryEngine
    scope: str
    turn: int = 0
    said: Turn | None = None
    now: datetime | None = None
    hidden: frozenset[str] = frozenset()
    local: bool = False
    keeps: bool = True
    shown: Callable[[Iterable[MemoryRecord]], object] = lambda memories: None
    private: bool = False


class Seen:
    """One person's memory, as the LLM of some calls may see it. Every method blocks.

    Attributes:
        private: Whether the LLM may know what is local-only: its notes are local-only then.
    """

    def __init__(self, call: Call) -> None:
        self.call, self.memory, self.scope, self.local = call, call.engine, call.scope, call.local
        self.private, self.config = call.private, call.engine.config
        self.language = language_of(self.config.memory.language)
        self._words = tokenizer(self.config).for_queries()

    @property
    def now(self) -> datetime:
        return self.call.now or self.memory.clock()

    def search(self, text: str, k: int, how: SearchArguments) -> list[Hit]:
        asked: SearchArguments = {**how, "local": self.local}
        if self.call.said and "kinds" not in how:  # what was said before it may be the answer
            asked["exclude"] = frozenset({chunk_id(self.call.said.id)})
        recall = self.memory.search(text, self.scope, k, **asked)
        with self._view() as view:
            return [hit for hit in recall.hits if view.show(hit.memory)]

    def meant(self, what: str, most: int) -> list[Disclosed]:
        """Return the memories that words surely mean, best first, and icebreakers with all of them.

        What is hidden counts as it would if it could be seen: the like of it is not meant instead.
        """
        how: SearchArguments = {"exclude": self.call.hidden, "local": self.local, "talk": True}
        how["floor"] = self.config.recall.floor
        hits = self.memory.search(what, self.scope, most, **how).hits
        asked, names = set(self._words(what)), mentions(what, self._words)
        with self._view() as view:
            with self._catalogue(view) as catalogue:
                common = catalogue.common(asked)
                hidden = [common[row.id] for row in catalogue.in_order() if is_withheld(row)]
            best = max(
                hits[0].coverage if hits else 0.0, max(hidden, default=0) / max(1, len(asked))
            )
            every = view.snapshot.memories(self.scope, ICEBREAKER)
            queued = [row for row in every if row.retired_at is None and names(row.text)]
            meant = [hit.memory for hit in hits if hit.coverage >= best / 2]
            return [shown for row in (*meant, *queued) if (shown := view.show(row))]

    def listed(self, wanted: Test, most: int, text: str = "") -> list[Disclosed]:
        """Return facts, notes and pinned memories: pinned ones first, then the latest.

        Args:
            text: Only those that share words with it, those with most of them first; "" for all.
        """
        asked = self._words(text)
        with self._view() as view:
            with self._catalogue(view) as catalogue:
                common = catalogue.common(asked)
                rows = [
                    row
                    for row in reversed(catalogue.in_order())
                    if (common[row.id] or not text) and _may_be_listed(row) and wanted(row)
                ]
            rows.sort(key=lambda row: (-common[row.id], not row.pinned))
            stored = (view.snapshot.memory(self.scope, row.id) for row in rows)
            return list(islice(filter(None, map(view.show, stored)), most))

    def types(self) -> Counter[str]:
        """Return how many facts that hold there are of each type."""
        now = self.now
        with self._view() as view:
            with self._catalogue(view) as catalogue:
                rows = [row for row in catalogue.in_order() if _may_be_listed(row)]
            shown = (fact for fact in rows if held_at(fact, now) and view.show(fact))
            return Counter(type_ for fact in shown for type_ in types_of(fact))

    def _catalogue(self, view: View) -> AbstractContextManager[Catalogue]:
        return self.memory.catalogue(self.scope, view.snapshot)

    def profile(self) -> list[Disclosed]:
        """Return what sums up the user: the profile and the block about them."""
        with self._view() as view:
            every = view.snapshot.memories(self.scope, f"{BLOCK}/")
            shown = (view.show(block) for block in every if block.retired_at is None)
            blocks = [block for block in shown if block and block.text.strip()]
        blocks.sort(key=lambda block: (block.recorded_at or block.valid_from, block.id))
        latest = {block.kind: block for block in blocks}
        return [latest[kind] for kind in ABOUT_USER if kind in latest]

    def talks(self, since: datetime, most: int) -> list[Talk]:
        """Return the conversations since a moment, the latest first.

        One of which nothing may be seen is left out.
        """
        with self._view() as view:
            every = view.snapshot.sessions(self.scope)  # an import logs old ones last
            recent = [session for session in every if session.turns and session.last >= since]
            recent.sort(key=lambda session: (session.last, session.id), reverse=True)
            talks = (self._talk(session, since, view) for session in recent)
            return list(islice((talk for talk in talks if talk and talk.about), most))

    def _talk(self, row: Session, since: datetime, view: View) -> Talk | None:
        """Return what a conversation was about: its summary, or else its longest turns since."""
        snapshot, session = view.snapshot, row.id
        logged = snapshot.turns(self.scope, row.first_turn - 1, row.last_turn)
        turns = [turn for turn in logged if turn.session == session and turn.at >= since]
        if not turns:
            return None
        began = turns[0].at
        summary = snapshot.memory(self.scope, f"{SESSION_SUMMARY}/{session}")
        if summary and summary.retired_at is None and (shown := view.show(summary)):
            return Talk(began, (shown,))
        own = [turn for turn in turns if turn.role == "user" and not turn.aside]
        chunks = (snapshot.memory(self.scope, chunk_id(turn.id)) or chunk(turn) for turn in own)
        seen = (view.show(chunk) for chunk in chunks if chunk.retired_at is None)
        memories = [chunk for chunk in seen if chunk]
        longest = sorted(memories, key=lambda chunk: -len(chunk.text))[:LEADS]
        return Talk(began, tuple(chunk for chunk in memories if chunk in longest))

    @contextmanager
    def _view(self) -> Iterator[View]:
        with self.memory.snapshot() as snapshot:
            reader = self.memory.reader(self.scope, local=self.local)
            yield View(snapshot, reader, waiting_to_be_erased(snapshot, self.scope))
