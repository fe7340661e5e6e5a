"""The facts about a scope's speaker by what may be asked: predicate, words, and days ahead.

Recall puts the turn that states the fact asked for before what the ranking finds. A question looks
at no more than ``LOOKED_AT`` facts of a list, however many are known.
"""

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from msgspec import Struct

from slowcat_memory.core.disclosure import is_uncertain, is_withheld
from slowcat_memory.core.extraction.predicates import canonical
from slowcat_memory.core.extraction.slots import Slot, ending_of, ends, exclude, slot_of
from slowcat_memory.core.extraction.stated import stated_by
from slowcat_memory.core.facts.fact import is_fact, stated_in, type_of
from slowcat_memory.core.language import language_of
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.query.asked_facts import (
    MOST_CHARS,
    AskedFact,
    asked_about,
    asked_fact,
    keys,
)
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Ending as Ended
from slowcat_memory.records import Memory, Statement, Turn

Item = TypeVar("Item", bound=tuple[Any, ...])


class SortedLists(Generic[Item]):
    """Sorted lists of tuples, by name.

    One thread changes them while others read: a reader takes a slice, which is one operation.
    """

    def __init__(self) -> None:
        self._lists = defaultdict[str, list[Item]](list)

    def __contains__(self, name: str) -> bool:
        """Whether a list has any item."""
        return name in self._lists

    def add(self, name: str, item: Item) -> None:
        insort(self._lists[name], item)

    def remove(self, name: str, item: Item) -> None:
        """Remove an item that is there."""
        items = self._lists[name]
        del items[bisect_left(items, item)]
        if not items:
            del self._lists[name]

    def first(self, name: str, start: tuple[Any, ...], most: int) -> Sequence[Item]:
        """Return the first items from a place in the order on."""
        items = self._lists.get(name, [])
        place = bisect_left(items, start)
        return items[place : place + most]

    def last(self, name: str, most: int) -> Sequence[Item]:
        """Return the last items, the last one at the end."""
        return self._lists.get(name, [])[-most:]


MOST = 3  # chunks for a fact that is asked for
LOOKED_AT = 128  # facts of a predicate, a word or the days ahead
# A relative whom no predicate names stands by its noun alone: "Anna is the sister of Emma".
_BY_NOUN = "has_"
_FORMER = "former "  # before the name of a list of facts that are over
_ANY = ""  # the list of everything that has a day


class _Known(Struct, frozen=True):
    """A fact: the memory that states it, since when, beginnings of its words and of those behind it, its day and its end."""

    id: str
    chunk: str
    at: datetime
    words: frozenset[str]
    names: tuple[str, ...]
    date: str
    over: bool

    @property
    def place(self) -> tuple[datetime, str, str]:
        """Its place among facts by age."""
        return self.at, self.chunk, self.id

    @property
    def day(self) -> tuple[str, float, str, str]:
        """Its place among what has a day; of one day, the latest statement first."""
        return self.date, -self.at.timestamp(), self.chunk, self.id

    def lists(self) -> tuple[str, ...]:
        """Return the lists by age that have it."""
        mark = _FORMER if self.over else ""
        return tuple(mark + name for name in (*self.names, *(f"word:{one}" for one in self.words)))

    def days(self) -> tuple[str, ...]:
        """Return the lists by day that have it."""
        return (_ANY, *self.words) if self.date and not self.over else ()


class KnownFacts:
    """A scope's facts, by what they are about. Changed under the namespace's lock."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._facts: dict[str, _Known] = {}
        self._by_age = SortedLists[tuple[datetime, str, str]]()  # by predicate, type and word
        self._by_day = SortedLists[tuple[str, float, str, str]]()  # by word

    def put(self, fact: Memory) -> None:
        """Add or replace a fact of which a turn is known, about its speaker or with a day."""
        self.drop(fact.id)
        said, subject = fact.statement, fold(fact.statement.subject)
        date, own = said.last or said.date, subject == fold(fact.speaker)
        over = fact.valid_to is not None or said.over
        if not fact.sources or (fact.retired_at is not None and not fact.valid_to):
            return
        if said.confidence == "low" or not subject:
            return
        predicate = canonical(said.predicate).replace(" ", "_")
        kind = type_of(fact)
        event = date and kind != "health"
        state = "" if event or predicate == "allergic_to" else f"state:{kind}"
        names = tuple(name for name in (predicate, f"type:{kind}", state) if name)
        if not own:
            names = tuple(f"{subject}/{name}" for name in (*names, ""))
        told = " ".join((fact.text, said.quote, said.object))
        words = frozenset(keys(told, self._language))
        known = _Known(fact.id, stated_in(fact)[0], fact.valid_from, words, names, date, over)
        self._facts[fact.id] = known
        for name in known.lists():
            self._by_age.add(name, known.place)
        for name in known.days():
            self._by_day.add(name, known.day)

    def drop(self, fact_id: str) -> None:
        known = self._facts.pop(fact_id, None)
        if known is None:
            return
        for name in known.lists():
            self._by_age.remove(name, known.place)
        for name in known.days():
            self._by_day.remove(name, known.day)

    def somebody(self, query: str) -> str:
        """Return the name of somebody else in a query about whom facts are known, or ""."""
        words = fold(query.replace("’", "'")).replace("'s ", " ").rstrip("?!. ").split()
        names = (form for word in words for form in (word, word.removesuffix("s")))
        lists = ((name, f"{name}/") for name in names)
        known = (n for n, one in lists if one in self._by_age or _FORMER + one in self._by_age)
        return next(known, "")

    def stating(self, query: str, now: datetime) -> list[str]:
        """Return the chunks that state what a query asks for: the latest, or the next to come."""
        if len(query) > MOST_CHARS or not self._facts:
            return []
        if asked := asked_fact(query, self._language):
            coming = self._named_ahead(query)
            return self.of(asked, now) or (self.of(coming, now) if coming else [])
        about = self.somebody(query)
        asked = asked_about(query, about, self._language) if about else None
        return self.of(asked, now, about) if asked else []

    def _named_ahead(self, query: str) -> AskedFact | None:
        """Return a question for what is ahead by a query's words: "do I have a driving lesson"."""
        talk, line = language_of(self._language).talk, fold(query.replace("’", "'"))
        words = frozenset(keys(talk.ahead_words.sub(" ", line), self._language))
        past = talk.past.search(line)
        return AskedFact(words=words, ahead=True) if words and not past else None

    def of(self, asked: AskedFact, now: datetime, about: str = "") -> list[str]:
        """Return the chunks that state a fact about the speaker, or about somebody else."""
        if asked.ahead:
            return self._ahead(asked, now)
        predicates = {f"{about}/{name}" if about else name for name in asked.predicates}
        mark = _FORMER if asked.former else ""
        found = self._latest(f"{mark}{name}" for name in predicates)
        right = self._latest(f"{mark}word:{word}" for word in asked.words)
        right = [one for one in right if not predicates.isdisjoint(one.names)]
        if not found and not about and any(name.startswith(_BY_NOUN) for name in asked.predicates):
            persons = self._latest(f"word:{word}" for word in asked.words)
            right = [one for one in persons if "type:person" in one.names]
        chosen = right or (() if asked.about_thing else found)
        return list(dict.fromkeys(one.chunk for one in chosen))[:MOST]

    def _latest(self, names: Iterable[str]) -> list[_Known]:
        """Return the facts of any of some lists, the latest first."""
        places = {place for name in names for place in self._by_age.last(name, LOOKED_AT)}
        return self._in_order(place[-1] for place in sorted(places, reverse=True))

    def _ahead(self, asked: AskedFact, now: datetime) -> list[str]:
        """Return the chunks of what is still ahead: by common words, then by day."""
        today = (now.date().isoformat(),)
        lists = asked.words or (_ANY,)
        common = Counter(
            day for name in lists for day in self._by_day.first(name, today, LOOKED_AT)
        )
        most = max(common.values(), default=0)
        best = sorted(day for day, words in common.items() if words == most)
        coming = self._in_order(day[-1] for day in best)
        return list(dict.fromkeys(one.chunk for one in coming))[:MOST]

    def _in_order(self, ids: Iterable[str]) -> list[_Known]:
        """Return facts by their ids, without those that were dropped meanwhile."""
        return [known for id_ in ids if (known := self._facts.get(id_))]


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
    """The ends of a scope's facts, by chunk. Changed under the namespace's lock.

    ``known`` are the facts by what may be asked about them.
    """

    def __init__(self, facts: Iterable[Memory] = (), language: str = "english") -> None:
        self.known = KnownFacts(language)
        self._facts: dict[str, _Stated] = {}
        self._ended: dict[str, tuple[str, ...]] = {}  # by chunk: ids of facts with an end
        self._written: dict[str, tuple[str, ...]] = {}  # by chunk: ids of facts by an LLM that hold
        # By speaker and subject, by slot: the chunk of the latest statement, and the statement.
        self._latest = defaultdict[tuple[str, str], dict[Slot, tuple[str, Statement]]](dict)
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
        self.known.put(memory)
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

    def drop(self, memory_id: str) -> None:
        self.known.drop(memory_id)
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
        latest, predicates = self._latest[turn.speaker, fold(ending.subject)], ending.predicates
        gone = [
            (slot, chunk)
            for slot, (chunk, one) in latest.items()
            if (not predicates or one.predicate in predicates) and ends(ending, one)
        ]
        for slot, chunk in gone:
            del latest[slot]
            if chunk != chunk_id(turn.id) and chunk not in self._ended:
                self._heard[chunk] = Ending(turn.at, newer=chunk_id(turn.id))

    def _hold(self, speaker: str, one: Statement, chunk: str) -> str:
        """Keep the latest statement of a slot; return the chunk of one that it excludes, or ""."""
        if not (predicate := canonical(one.predicate)):
            return ""
        new = Statement(subject=one.subject, predicate=predicate, object=one.object)
        latest, slot = self._latest[speaker, fold(new.subject)], slot_of(new)
        before, old = latest.get(slot, ("", new))
        latest[slot] = (chunk, new)
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
