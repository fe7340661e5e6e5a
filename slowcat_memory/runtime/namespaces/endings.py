"""Which turns state what no longer holds, and which turn states what holds instead.

A turn's chunk stays in the index after its fact is over, since the words were said. The facts know
their end: this is their way back to the turns. Idle work may be hours away, so a turn that states a
new value by rule ("I moved to Porto") ends the earlier one here at once, until facts say the same.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from slowcat_memory.core.disclosure import is_uncertain, is_withheld
from slowcat_memory.core.extraction.predicates import canonical
from slowcat_memory.core.extraction.slots import Slot, ending_of, ends, exclude, slot_of
from slowcat_memory.core.extraction.stated import stated_by
from slowcat_memory.core.facts.fact import is_fact, stated_in
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Ending as Ended
from slowcat_memory.records import Memory, Statement, Turn
from slowcat_memory.runtime.namespaces.known_facts import KnownFacts

MOST_LINKS = 20  # of a chain of facts, each superseded by the next


class Ending(Struct, frozen=True):
    """The end of something that a turn states.

    Attributes:
        until: When it was over.
        quote: The words of the turn that state it; "" if unknown.
        newer: Id of the chunk that states what holds instead, "" for none.
    """

    until: datetime
    quote: str = ""
    newer: str = ""


class _Stated(Struct, frozen=True):
    """A fact's chunks, its end, the fact that superseded it, and an LLM's words for it."""

    chunks: tuple[str, ...]
    quote: str
    until: datetime | None
    by: str
    text: str = ""


class Endings:
    """The ends of a scope's facts, by chunk. Changed under the namespace's lock."""

    def __init__(self, facts: Iterable[Memory] = (), language: str = "english") -> None:
        self._known = KnownFacts(language)
        self._facts: dict[str, _Stated] = {}
        self._ended: dict[str, tuple[str, ...]] = {}  # by chunk: ids of facts with an end
        self._written: dict[str, tuple[str, ...]] = {}  # by chunk: ids of facts by an LLM that hold
        # By speaker, subject and slot: the chunk of the latest statement, and the statement.
        self._latest: dict[tuple[str, str, Slot], tuple[str, Statement]] = {}
        self._heard: dict[str, Ending] = {}  # by chunk, from turns that idle work has not read yet
        self._read_to = 0  # log id of the latest turn that a fact was read from
        for fact in sorted(facts, key=lambda one: one.valid_from):
            self.put(fact)

    def put(self, memory: Memory) -> None:
        """Add or replace a fact; other memories are ignored."""
        self.drop(memory.id)
        if not is_fact(memory) or not memory.sources or memory.facets.get("why") == "same":
            return
        by = memory.facets.get("superseded_by", "")
        chunks = stated_in(memory)
        until = memory.valid_to or (memory.retired_at if by else None)
        self._known.put(memory)
        holds = until is None and memory.retired_at is None
        text = memory.text if holds and _is_written(memory) else ""
        stated = _Stated(chunks, memory.statement.quote, until, by, text)
        self._facts[memory.id] = stated
        if text:
            for chunk in chunks:
                self._written[chunk] = (*self._written.get(chunk, ()), memory.id)
        self._read_to = max(self._read_to, *memory.sources)
        if stated.until is None and memory.retired_at is None:
            self._hold(memory.speaker, memory.statement, chunks[0])
            return
        for chunk in chunks:
            self._ended[chunk] = (*self._ended.get(chunk, ()), memory.id)
            self._heard.pop(chunk, None)

    def stating(self, query: str, now: datetime) -> list[str]:
        """Return the chunks that state a fact which a query asks for."""
        return self._known.stating(query, now)

    def drop(self, memory_id: str) -> None:
        self._known.drop(memory_id)
        known = self._facts.pop(memory_id, None)
        for chunk in known.chunks if known else ():
            _remove(self._ended, chunk, memory_id)
            _remove(self._written, chunk, memory_id)
        self._heard.pop(memory_id, None)

    def hear(self, turn: Turn) -> None:
        """End what a turn replaces by its own words, before idle work has read it.

        Takes a millisecond for a user's turn, off the frame path.
        """
        if turn.id <= self._read_to:
            return
        chunk = chunk_id(turn.id)
        for one in stated_by(turn):
            for ending in (*one.ends, *((ending_of(one),) if one.over and not one.ends else ())):
                self._end(turn, ending)
            if one.over:
                continue
            before = self._hold(turn.speaker, one, chunk)
            if before and before not in self._ended:
                self._heard[before] = Ending(turn.at, newer=chunk)

    def _end(self, turn: Turn, ending: Ended) -> None:
        """End the latest statements that a turn says are over."""
        gone = [
            (key, chunk)
            for key, (chunk, one) in self._latest.items()
            if key[:2] == (turn.speaker, fold(ending.subject)) and ends(ending, one)
        ]
        for key, chunk in gone:
            del self._latest[key]
            if chunk != chunk_id(turn.id) and chunk not in self._ended:
                self._heard[chunk] = Ending(turn.at, newer=chunk_id(turn.id))

    def _hold(self, speaker: str, one: Statement, chunk: str) -> str:
        """Keep the latest statement of a slot; return the chunk of one that it excludes, or ""."""
        if not (predicate := canonical(one.predicate)):
            return ""
        new = Statement(subject=one.subject, predicate=predicate, object=one.object)
        key = (speaker, fold(new.subject), slot_of(new))
        before, old = self._latest.get(key, ("", new))
        self._latest[key] = (chunk, new)
        return before if before not in ("", chunk) and exclude(new, old) else ""

    def of(self, chunk: str, now: datetime) -> tuple[Ending, ...]:
        """Return what of a chunk is over at a time; nothing for most. Takes a microsecond."""
        if chunk not in self._ended and chunk not in self._heard:
            return ()
        return tuple(one for one in self._endings(chunk) if one.until <= now)

    def written(self, chunk: str) -> tuple[str, ...]:
        """Return what an LLM wrote about a chunk that holds; nothing without an LLM."""
        ids = self._written.get(chunk, ())
        return tuple(one.text for id_ in ids if (one := self._facts.get(id_)))

    def _endings(self, chunk: str) -> Iterator[Ending]:
        for id_ in self._ended.get(chunk, ()):
            fact = self._facts.get(id_)
            if fact is not None and fact.until is not None:
                newer = self._newest(fact.by)
                yield Ending(fact.until, fact.quote, newer if newer != chunk else "")
        if heard := self._heard.get(chunk):
            yield heard

    def _newest(self, fact_id: str) -> str:
        """Return the chunk of the last fact of a chain, or ""."""
        found = self._facts.get(fact_id)
        for _ in range(MOST_LINKS):
            following = self._facts.get(found.by) if found and found.by else None
            if following is None:
                break
            found = following
        return found.chunks[0] if found else ""


def _is_written(fact: Memory) -> bool:
    return (
        not (is_uncertain(fact) or is_withheld(fact))
        and fact.made is not None
        and bool(fact.made.model)
    )


def _remove(by_chunk: dict[str, tuple[str, ...]], chunk: str, fact: str) -> None:
    left = tuple(id_ for id_ in by_chunk.get(chunk, ()) if id_ != fact)
    if left:
        by_chunk[chunk] = left
    else:
        by_chunk.pop(chunk, None)
