"""Which turns state what no longer holds, and which turn states what holds instead.

A turn's chunk stays in the index after its fact is over, since the words were said. The facts know
their end: this is their way back to the turns. Idle work may be hours away, so a turn that states a
new value by rule ("I moved to Porto") ends the earlier one here at once, until facts say the same.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from slowcat_memory.core.extraction.predicates import canonical, is_functional
from slowcat_memory.core.extraction.stated import stated_by
from slowcat_memory.core.facts.fact import is_fact
from slowcat_memory.core.memory import chunk_id, turn_of
from slowcat_memory.core.query.asked_facts import AskedFact
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory, Turn

MOST_STATED = 3  # chunks for a fact that is asked for
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
    """A fact's chunks, its end, and the fact that superseded it."""

    chunks: tuple[str, ...]
    quote: str
    until: datetime | None
    by: str


class Endings:
    """The ends of a scope's facts, by chunk. Changed under the namespace's lock."""

    def __init__(self, facts: Iterable[Memory] = ()) -> None:
        self._facts: dict[str, _Stated] = {}
        self._ended: dict[str, tuple[str, ...]] = {}  # by chunk: ids of facts with an end
        # By speaker, subject and functional predicate: the chunk of the latest value, and the value.
        self._latest: dict[tuple[str, str, str], tuple[str, str]] = {}
        # By predicate: chunk and text of each current fact about its speaker, by the fact's id.
        self._about_speaker: dict[str, dict[str, tuple[str, str]]] = {}
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
        chunks = tuple(map(chunk_id, memory.sources))
        until = memory.valid_to or (memory.retired_at if by else None)
        stated = _Stated(chunks, memory.facets.get("quote", ""), until, by)
        self._facts[memory.id] = stated
        self._read_to = max(self._read_to, *memory.sources)
        if stated.until is None and memory.retired_at is None:
            self._know(memory.id, memory, chunks[0])
            self._hold(
                memory.speaker,
                memory.facets.get("subject", ""),
                memory.facets.get("predicate", ""),
                memory.facets.get("object", ""),
                chunks[0],
            )
            return
        for chunk in chunks:
            self._ended[chunk] = (*self._ended.get(chunk, ()), memory.id)
            self._heard.pop(chunk, None)

    def _know(self, id_: str, fact: Memory, chunk: str) -> None:
        names = (fact.facets.get("subject", ""), fact.facets.get("predicate", ""))
        if names[1] and fold(names[0]) == fold(fact.speaker):
            known = self._about_speaker.setdefault(canonical(names[1]).replace(" ", "_"), {})
            known[id_] = (chunk, fact.text)

    def stating(self, asked: AskedFact) -> list[str]:
        """Return the chunks that state a fact which a speaker asks for, the latest first."""
        names = (name for name in asked.predicates if name in self._about_speaker)
        found = [one for name in names for one in self._about_speaker[name].values()]
        about = [one for one in found if asked.thing and asked.thing in fold(one[1])]
        chunks = dict.fromkeys(chunk for chunk, _ in about or found)
        return sorted(chunks, key=turn_of, reverse=True)[:MOST_STATED]

    def drop(self, memory_id: str) -> None:
        for known_facts in self._about_speaker.values():
            known_facts.pop(memory_id, None)
        known = self._facts.pop(memory_id, None)
        for chunk in known.chunks if known else ():
            left = tuple(id_ for id_ in self._ended.get(chunk, ()) if id_ != memory_id)
            if left:
                self._ended[chunk] = left
            else:
                self._ended.pop(chunk, None)
        self._heard.pop(memory_id, None)

    def hear(self, turn: Turn) -> None:
        """End what a turn replaces by its own words, before idle work has read it.

        Takes a millisecond for a user's turn, off the frame path.
        """
        if turn.id <= self._read_to:
            return
        for one in stated_by(turn):
            predicate, chunk = canonical(one.predicate), chunk_id(turn.id)
            if one.over or not is_functional(predicate):
                continue
            before = self._hold(turn.speaker, one.subject, predicate, one.object, chunk)
            if before and before not in self._ended:
                self._heard[before] = Ending(turn.at, newer=chunk)

    def _hold(self, speaker: str, subject: str, predicate: str, value: str, chunk: str) -> str:
        """Keep the latest value; return the chunk of another one that it replaces, or ""."""
        predicate = canonical(predicate)
        if not predicate or not is_functional(predicate):
            return ""
        key = (speaker, fold(subject), predicate)
        before, old = self._latest.get(key, ("", ""))
        self._latest[key] = (chunk, fold(value))
        return before if before not in ("", chunk) and old != fold(value) else ""

    def of(self, chunk: str, now: datetime) -> tuple[Ending, ...]:
        """Return what of a chunk is over at a time; nothing for most. Takes a microsecond."""
        if chunk not in self._ended and chunk not in self._heard:
            return ()
        return tuple(one for one in self._endings(chunk) if one.until <= now)

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
