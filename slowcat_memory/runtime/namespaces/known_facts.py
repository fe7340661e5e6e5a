"""The facts about a scope's speaker by what may be asked: predicate, words, and days ahead.

Recall puts the turn that states the fact asked for before what the ranking finds. A question looks
at no more than ``LOOKED_AT`` facts of a list, however many are known.

They are read behind the opening of an index: reading takes time that grows with the facts, and the
rules for turns that idle work has not read yet compile some hundred patterns. No answer waits for
that, see ``KnownFacts.read``.
"""

import re
from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from msgspec import Struct

from slowcat_memory.core.disclosure import is_uncertain, is_withheld
from slowcat_memory.core.extraction.slots import Slot, canonical, ending_of, ends, exclude, slot_of
from slowcat_memory.core.facts.fact import is_fact, stated_in, type_of
from slowcat_memory.core.language import language_of
from slowcat_memory.core.memory import chunk_id, turn_of
from slowcat_memory.core.query.recall_gate import AskedFact, Wording, asked_fact, keys
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Ending, Memory, Statement, Turn
from slowcat_memory.runtime.namespaces.live_index import indexable

MOST = 3  # chunks for a fact that is asked for
LOOKED_AT = 128  # facts of a predicate, a word or the days ahead
# A relative whom no predicate names stands by its noun alone: "Anna is the sister of Emma".
_BY_NOUN = "has_"
_FORMER = "former "  # before the name of a list of facts that are over


class _Known(Struct, frozen=True):
    """A fact: what states it, since when, and what it may be asked for by; its end and what follows.

    Attributes:
        words: Beginnings of its words and of those behind it.
        date: Its day, "" if it has none or is not asked for.
        until: When it ends, ``by`` the fact that superseded it.
        text: An LLM's words for what holds.
    """

    id: str
    chunks: tuple[str, ...]
    at: datetime
    statement: Statement
    words: frozenset[str]
    names: tuple[str, ...]
    date: str
    over: bool
    holds: bool
    until: datetime | None
    by: str
    text: str

    @property
    def chunk(self) -> str:
        return self.chunks[0]

    def places(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield the lists that have it, each with its place there.

        First those by age, then those by day, where of one day the latest statement comes first.
        """
        mark, age = _FORMER if self.over else "", (self.at, self.chunk, self.id)
        for name in (*self.names, *(f"word:{word}" for word in self.words)):
            yield mark + name, age
        if self.date and not self.over:
            day = (self.date, -self.at.timestamp(), self.chunk, self.id)
            for word in ("", *self.words):  # "" is the list of everything that has a day
                yield f"day:{word}", day


MOST_LINKS = 20  # of a chain of facts, each superseded by the next


class Overtaken(Struct, frozen=True):
    """The end of something that a turn states.

    Attributes:
        until: When it was over.
        quote: The words of the turn that state it; "" if unknown.
        newer: Id of the chunk that states what holds instead, "" for none.
    """

    until: datetime
    quote: str = ""
    newer: str = ""


MOST_TURNS = 8  # latest turns kept for a word
MOST_FOUND = 6  # chunks returned for a query


Change = Callable[["KnownFacts"], object]


class KnownFacts:
    """A scope's facts by what they are about, and their ends by chunk; none before ``read``.

    What changes before that is kept in order, and applied to what was read. Changed under the
    namespace's lock; answers take no lock.
    """

    def __init__(self, language: str = "english") -> None:
        self._language = language
        self._facts: dict[str, _Known] = {}
        # The facts' places in order, by predicate, type and word, and by "day:" and word. One thread
        # changes a list while others read: a reader takes a slice, which is one operation.
        self._lists = defaultdict[str, list[tuple[Any, ...]]](list)
        # By word, the latest turns that may change an earlier one.
        self._changing: dict[str, tuple[int, ...]] = {}
        self._stated: dict[str, tuple[_Known, ...]] = {}  # by chunk
        # By speaker and subject, by slot: the chunk of the latest statement, and the statement.
        self._said_last = defaultdict[tuple[str, str], dict[Slot, tuple[str, Statement]]](dict)
        self._heard = dict[str, Overtaken]()  # by chunk, from turns that idle work has yet to read
        self._read_to = 0  # log id of the latest turn that a fact was read from
        # Until ``read`` is done: each change, with the log id of a turn that is heard, else 0.
        self._missed: list[tuple[int, Change]] | None = []

    def read(
        self, facts: Iterable[Memory], turns: Iterable[Turn], lock: AbstractContextManager[object]
    ) -> None:
        """Take the stored facts and the latest stored turns, and all changes since the opening.

        Takes microseconds a fact, a millisecond a turn, and half a second for the first turns of a
        process. The facts and turns must have been read from the store after the opening.

        Args:
            turns: The oldest first.
            lock: The namespace's; held only for what changed meanwhile.
        """
        known, latest = KnownFacts(self._language), 0  # a reading that fails leaves nothing here
        for fact in sorted(facts, key=lambda fact: fact.valid_from):
            known.put(fact)
        for turn in turns:
            known.hear(turn)
            latest = turn.id
        with lock:
            for id_, change in self._missed or ():
                if not 0 < id_ <= latest:  # else it was among the turns
                    change(known)
            known._missed = None
            vars(self).update(vars(known))

    def change(self, change: Change, turn: int = 0) -> None:
        """Make a change now, or once the facts are read; ``turn`` is the log id of one it hears."""
        if self._missed is None:
            change(self)
        else:
            self._missed.append((turn, change))

    def put(self, fact: Memory) -> None:
        """Add or replace a fact of which a turn is known; drop what another memory says no more."""
        if not is_fact(fact) and indexable(fact):
            return  # a turn with another context says what it said
        self.drop(fact.id)
        if not is_fact(fact) or not fact.sources or fact.facets.get("why") == "same":
            return
        statement, by = fact.statement, fact.facets.get("superseded_by", "")
        until = fact.valid_to or (fact.retired_at if by else None)
        gone = fact.retired_at is not None and not fact.valid_to
        asked = statement.subject and statement.confidence != "low" and not gone
        told = " ".join((fact.text, statement.quote, statement.object)) if asked else ""
        holds = until is None and fact.retired_at is None
        sure = holds and not (is_uncertain(fact) or is_withheld(fact))
        known = self._facts[fact.id] = _Known(
            id=fact.id,
            chunks=stated_in(fact),
            at=fact.valid_from,
            statement=statement,
            words=frozenset(keys(told, self._language)),
            names=_names(fact) if asked else (),
            date=(statement.last or statement.date) if asked else "",
            over=fact.valid_to is not None or statement.over,
            holds=holds,
            until=until,
            by=by,
            text=fact.text if sure and fact.made is not None and fact.made.model else "",
        )
        for name, place in known.places():
            insort(self._lists[name], place)
        for chunk in known.chunks:
            self._stated[chunk] = (*self._stated.get(chunk, ()), known)
            if not holds:
                self._heard.pop(chunk, None)
        self._read_to = max(self._read_to, *fact.sources)
        if holds:
            self._hold(fact.speaker, statement, known.chunk)

    def drop(self, memory_id: str) -> None:
        """Remove a fact, or what a turn's chunk states."""
        if gone := turn_of(memory_id):
            for key, turns in self._changing.items():
                self._changing[key] = tuple(turn for turn in turns if turn != gone)
        self._heard = {c: e for c, e in self._heard.items() if memory_id not in (c, e.newer)}
        known = self._facts.pop(memory_id, None)
        if known is None:
            return
        for name, place in known.places():
            places = self._lists[name]
            del places[bisect_left(places, place)]
            if not places:
                del self._lists[name]
        for chunk in known.chunks:
            self._stated[chunk] = tuple(fact for fact in self._stated[chunk] if fact is not known)

    def stating(self, query: str, now: datetime) -> list[str]:
        """Return the chunks that state what a query asks for: the latest, or the next to come."""
        asked = asked_fact(query, self._language) if self._facts else None
        if asked is None:
            return []
        coming = self._named_ahead(query)
        return self.answering(asked, now) or (self.answering(coming, now) if coming else [])

    def _named_ahead(self, query: str) -> AskedFact | None:
        """Return a question for what is ahead by a query's words: "do I have a driving lesson"."""
        talk, line = language_of(self._language).talk, fold(query.replace("’", "'"))
        words = frozenset(keys(talk.ahead_words.sub(" ", line), self._language))
        past = talk.past.search(line)
        return AskedFact(words=words, ahead=True) if words and not past else None

    def answering(self, asked: AskedFact, now: datetime) -> list[str]:
        """Return the chunks that state a fact about the speaker."""
        if asked.ahead:
            return self._ahead(asked, now)
        mark = _FORMER if asked.former else ""
        facts = self._latest(f"{mark}{name}" for name in asked.predicates)
        right = self._latest(f"{mark}word:{word}" for word in asked.words)
        right = [fact for fact in right if not asked.predicates.isdisjoint(fact.names)]
        if not facts and any(name.startswith(_BY_NOUN) for name in asked.predicates):
            persons = self._latest(f"word:{word}" for word in asked.words)
            right = [fact for fact in persons if "type:person" in fact.names]
        return list(dict.fromkeys(fact.chunk for fact in right or facts))[:MOST]

    def _latest(self, names: Iterable[str]) -> list[_Known]:
        """Return the facts of any of some lists, the latest first."""
        places = {place for name in names for place in self._lists.get(name, [])[-LOOKED_AT:]}
        return self._in_order(place[-1] for place in sorted(places, reverse=True))

    def _ahead(self, asked: AskedFact, now: datetime) -> list[str]:
        """Return the chunks of what is still ahead: by common words, then by day."""
        common = Counter[tuple[Any, ...]]()
        for word in asked.words or ("",):
            days = self._lists.get(f"day:{word}", [])
            today = bisect_left(days, (now.date().isoformat(),))
            common.update(days[today : today + LOOKED_AT])
        most = max(common.values(), default=0)
        best = sorted(day for day, words in common.items() if words == most)
        coming = self._in_order(day[-1] for day in best)
        return list(dict.fromkeys(fact.chunk for fact in coming))[:MOST]

    def _in_order(self, ids: Iterable[str]) -> list[_Known]:
        """Return facts by their ids, without those that were dropped meanwhile."""
        return [known for id_ in ids if (known := self._facts.get(id_))]

    def hear(self, turn: Turn) -> None:
        """End what a turn replaces by its own words, before idle work has read it.

        Takes a millisecond for a user's turn, off the frame path.
        """
        from slowcat_memory.core.extraction.stated import stated_by  # 0.1 s: not at every start

        if turn.role == "user" and not turn.aside:
            self._note_change(turn)
        if turn.id <= self._read_to:
            return
        chunk = chunk_id(turn.id)
        for new in stated_by(turn):
            for ending in (*new.ends, *((ending_of(new),) if new.over and not new.ends else ())):
                self._end(turn, ending)
            if new.over:
                continue
            before = self._hold(turn.speaker, new, chunk)
            if before and self._holds(before):
                self._heard[before] = Overtaken(turn.at, newer=chunk)

    def _note_change(self, turn: Turn) -> None:
        read = Wording(turn.text, self._language)
        for key in read.keys if read.may_revise else ():
            kept = self._changing.get(key, ())
            self._changing[key] = tuple(sorted({*kept, turn.id}))[-MOST_TURNS:]

    def changing(self, keys: Iterable[str]) -> list[str]:
        """Return the chunks of statements of a change or a value, the latest first.

        Args:
            keys: Of a query, as in ``core.query.recall_gate.keys``; each chunk has one of them.
        """
        turns = {turn for key in keys for turn in self._changing.get(key, ())}
        return [chunk_id(turn) for turn in sorted(turns, reverse=True)[:MOST_FOUND]]

    def _end(self, turn: Turn, ending: Ending) -> None:
        """End the latest statements that a turn says are over."""
        latest, predicates = self._said_last[turn.speaker, fold(ending.subject)], ending.predicates
        gone = [
            (slot, chunk)
            for slot, (chunk, statement) in latest.items()
            if (not predicates or statement.predicate in predicates) and ends(ending, statement)
        ]
        for slot, chunk in gone:
            del latest[slot]
            if chunk != chunk_id(turn.id) and self._holds(chunk):
                self._heard[chunk] = Overtaken(turn.at, newer=chunk_id(turn.id))

    def _hold(self, speaker: str, statement: Statement, chunk: str) -> str:
        """Keep the latest statement of a slot; return the chunk of one that it excludes, or ""."""
        if not (predicate := canonical(statement.predicate)):
            return ""
        new = Statement(subject=statement.subject, predicate=predicate, object=statement.object)
        latest, slot = self._said_last[speaker, fold(new.subject)], slot_of(new)
        before, old = latest.get(slot, ("", new))
        latest[slot] = (chunk, new)
        return before if before not in ("", chunk) and exclude(new, old) else ""

    def endings(self, chunk: str, now: datetime) -> tuple[Overtaken, ...]:
        """Return what of a chunk is over at a time; nothing for most. Takes a microsecond."""
        return tuple(ending for ending in self._endings_of(chunk) if ending.until <= now)

    def _holds(self, chunk: str) -> bool:
        """Return whether nothing that a chunk states is over by a fact."""
        return all(fact.holds for fact in self._stated.get(chunk, ()))

    def written(self, chunk: str) -> tuple[str, ...]:
        """Return what an LLM wrote about a chunk that holds; nothing without an LLM."""
        return tuple(fact.text for fact in self._stated.get(chunk, ()) if fact.text)

    def _endings_of(self, chunk: str) -> Iterator[Overtaken]:
        facts = self._stated.get(chunk, ())
        for fact in facts:
            if fact.until is not None:
                newer, quote = self._newest(fact.by), fact.statement.quote
                if any(other.holds and other.statement.quote == quote for other in facts):
                    # "I moved to Graz with my boyfriend Tom"
                    own = re.search(rf"(?:\w+ )?{re.escape(fact.statement.object)}", quote)
                    quote = own[0] if own else quote
                yield Overtaken(fact.until, quote, newer if newer != chunk else "")
        if heard := self._heard.get(chunk):
            yield heard

    def _newest(self, fact_id: str) -> str:
        """Return the chunk of the last fact of a chain, or ""."""
        fact = self._facts.get(fact_id)
        for _ in range(MOST_LINKS):
            following = self._facts.get(fact.by) if fact and fact.by else None
            if following is None:
                break
            fact = following
        return fact.chunk if fact else ""


def _names(fact: Memory) -> tuple[str, ...]:
    """Return the names of the lists that have a fact; none of one about somebody else."""
    if fold(fact.statement.subject) != fold(fact.speaker):
        return ()
    predicate = canonical(fact.statement.predicate).replace(" ", "_")
    return tuple(filter(None, (predicate, f"type:{type_of(fact)}")))
