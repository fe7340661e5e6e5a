"""The facts about a scope's speaker by what may be asked: predicate, words, and days ahead.

Recall puts the turn that states the fact asked for before what the ranking finds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from slowcat_memory.core.extraction.predicates import canonical
from slowcat_memory.core.facts.fact import stated_in, type_of
from slowcat_memory.core.language import language_of
from slowcat_memory.core.query.asked_facts import AskedFact, asked_about, asked_fact
from slowcat_memory.core.query.revisions import keys
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory

MOST = 3  # chunks for a fact that is asked for
# A relative whom no predicate names stands by its noun alone: "Anna is the sister of Emma".
_BY_NOUN = "has_"


class _Known(Struct, frozen=True):
    """A fact: the memory that states it, since when, beginnings of its words and of those behind it, its day and its end."""

    chunk: str
    at: datetime
    words: frozenset[str]
    names: tuple[str, ...]
    date: str
    over: bool


class KnownFacts:
    """A scope's facts, by what they are about. Changed under the namespace's lock."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._facts: dict[str, _Known] = {}
        self._by_name: dict[str, set[str]] = {}  # by predicate and type: ids of facts
        self._dated: set[str] = set()

    def put(self, fact: Memory) -> None:
        """Add or replace a fact of which a turn is known, about its speaker or with a day."""
        self.drop(fact.id)
        facets = fact.facets
        date = facets.get("last", "") or facets.get("date", "")
        own = fold(facets.get("subject", "")) == fold(fact.speaker)
        over = fact.valid_to is not None or facets.get("over") == "yes"
        if not fact.sources or (fact.retired_at is not None and not fact.valid_to):
            return
        subject = fold(facets.get("subject", ""))
        if facets.get("confidence") == "low" or not subject:
            return
        predicate = canonical(facets.get("predicate", "")).replace(" ", "_")
        kind = type_of(fact)
        event = date and kind != "health"
        state = "" if event or predicate == "allergic_to" else f"state:{kind}"
        names = tuple(name for name in (predicate, f"type:{kind}", state) if name)
        if not own:
            names = tuple(f"{subject}/{name}" for name in (*names, ""))
        said = " ".join((fact.text, facets.get("quote", ""), facets.get("object", "")))
        words = frozenset(keys(said, self._language))
        self._facts[fact.id] = _Known(stated_in(fact)[0], fact.valid_from, words, names, date, over)
        for name in names:
            self._by_name.setdefault(name, set()).add(fact.id)
        if date and not over:
            self._dated.add(fact.id)

    def drop(self, fact_id: str) -> None:
        known = self._facts.pop(fact_id, None)
        for name in known.names if known else ():
            self._by_name[name].discard(fact_id)
        self._dated.discard(fact_id)

    def somebody(self, query: str) -> str:
        """Return the name of somebody else in a query about whom facts are known, or ""."""
        words = fold(query.replace("’", "'")).replace("'s ", " ").rstrip("?!. ").split()
        names = (form for word in words for form in (word, word.removesuffix("s")))
        return next((name for name in names if self._by_name.get(f"{name}/")), "")

    def stating(self, query: str, now: datetime) -> list[str]:
        """Return the chunks that state what a query asks for: the latest, or the next to come."""
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
        predicates = [f"{about}/{name}" for name in asked.predicates] if about else asked.predicates
        found = [one for one in self._named(predicates) if one.over == asked.former]
        right = [one for one in found if not asked.words.isdisjoint(one.words)]
        if not found and not about and any(name.startswith(_BY_NOUN) for name in asked.predicates):
            persons = (one for one in self._named(("type:person",)) if not one.over)
            right = [one for one in persons if not asked.words.isdisjoint(one.words)]
        chosen = right or (() if asked.about_thing else found)
        latest = sorted(chosen, key=lambda one: (one.at, one.chunk), reverse=True)
        return list(dict.fromkeys(one.chunk for one in latest))[:MOST]

    def _named(self, names: Iterable[str]) -> Iterator[_Known]:
        ids = set[str]().union(*(self._by_name.get(name, ()) for name in names))
        return (self._facts[id_] for id_ in ids)

    def _ahead(self, asked: AskedFact, now: datetime) -> list[str]:
        """Return the chunks of what is still ahead: by common words, then by day."""
        today = now.date().isoformat()
        coming = [self._facts[one] for one in self._dated if self._facts[one].date >= today]
        common = Counter({one: len(one.words & asked.words) for one in coming})
        most = max(common.values(), default=0)
        if asked.words and not most:
            return []
        best = [one for one in coming if common[one] == most]
        best.sort(key=lambda one: (one.date, -one.at.timestamp(), one.chunk))
        return list(dict.fromkeys(one.chunk for one in best))[:MOST]
