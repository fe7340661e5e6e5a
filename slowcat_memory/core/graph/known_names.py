"""Chooses the names that a prompt about turns shows as known, from what was said before them.

Only what was said before the first turn shown counts: a backlog that is read today must not see
what its people said later. A name's line is what it is to somebody ("Hana: sister of Mira"), or
else the latest fact that names it. Names in the turns come first, then people and animals, whom a
pronoun may mean; of either, those that were mentioned most lately.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from textwrap import shorten

from msgspec import Struct

from slowcat_memory.core.disclosure import is_uncertain, is_withheld
from slowcat_memory.core.extraction import known as knowledge
from slowcat_memory.core.extraction.clauses import language_of_texts
from slowcat_memory.core.extraction.derived_text import keepable
from slowcat_memory.core.extraction.grounding import sentences
from slowcat_memory.core.extraction.known import FACT_CHARS, KNOWN_TOKENS, Known, KnownLine
from slowcat_memory.core.facts.fact import is_fact
from slowcat_memory.core.graph.entities import TurnReading
from slowcat_memory.core.memory import FACT, READING, SESSION_SUMMARY, holds
from slowcat_memory.core.text.normalize import fingerprint, fold
from slowcat_memory.core.time.calendar import in_zone
from slowcat_memory.records import Memory, Turn

LINE_CHARS = 90  # of a fact that stands for a name


class _Person(Struct):
    """An entity by the turns before: its fullest name and the turn that has it, and all its names."""

    id: str
    name: str
    turn: int
    names: set[str]
    last: int = 0  # turn with any of its names
    speaks: bool = False
    alive: bool = False  # a person or an animal: whom "she" may mean


class _Scene(Struct, frozen=True):
    """The first turn that a prompt shows, and who was known before it, by entity."""

    first: Turn
    people: Mapping[str, _Person]
    roles: Mapping[str, str]
    zone: tzinfo


class KnownIndex:
    """What a namespace's memories state about names. A view of a ``WorkingSet``; not thread-safe."""

    beginnings = (f"{READING}/", f"{FACT}/", f"{SESSION_SUMMARY}/")

    def __init__(self) -> None:
        self._readings: dict[str, TurnReading] = {}
        self._facts: dict[str, Memory] = {}
        self._by_word = defaultdict[str, set[str]](set)  # ids of facts, by words and entities
        self._summaries: dict[str, Memory] = {}

    def put(self, memory: Memory, snapshot: object = None) -> None:
        """Add or replace a memory; local-only, muted, retired and uncertain ones are left out."""
        self.drop(memory.id)
        if is_withheld(memory) or is_uncertain(memory) or not memory.sources:
            return
        if is_fact(memory):  # a retired one may have been true when earlier turns were said
            self._facts[memory.id] = memory
            for word in _index_words(memory):
                self._by_word[word].add(memory.id)
        elif memory.retired_at is None and memory.id.startswith(f"{READING}/"):
            self._readings[memory.id] = TurnReading.of(memory)
        elif memory.retired_at is None and memory.id.startswith(f"{SESSION_SUMMARY}/"):
            self._summaries[memory.id] = memory

    def drop(self, id: str) -> None:
        if fact := self._facts.pop(id, None):
            for word in _index_words(fact):
                self._by_word[word].discard(id)
        self._readings.pop(id, None)
        self._summaries.pop(id, None)

    def before(self, turns: Sequence[Turn], zone: tzinfo, tokens: int = KNOWN_TOKENS) -> Known:
        """Return what was known before some turns of a conversation, in order, at least one.

        Args:
            tokens: Most tokens of its lines.
        """
        first, speakers = turns[0], {fold(turn.speaker) for turn in turns}
        people = _people((row for row in self._readings.values() if row.turn < first.id), speakers)
        language = language_of_texts(turn.text for turn in turns)
        scene = _Scene(first, people, language.facts.roles, zone)
        words = knowledge.named_words(" ".join(turn.text for turn in turns))
        others = [who for who in people.values() if not who.speaks and keepable(who.name)]
        others.sort(key=lambda who: (not words & _words(who.names), not who.alive, -who.last))
        every = (self._line(who, scene) for who in others)
        lines = (line for line in every if line and keepable(line.text))
        unshown = (KnownLine(who.name, who.name, first.at, "", (who.turn,)) for who in others)
        return knowledge.limited(lines, self._last(first.id), tuple(unshown), tokens)

    def _line(self, who: _Person, scene: _Scene) -> KnownLine | None:
        """Return what a name is to somebody, rather to a speaker, or else the latest fact about it."""
        ids = set(self._by_word[who.id])
        for words in (_words([name]) for name in who.names):
            ids |= set.intersection(*(self._by_word[word] for word in words or {who.id}))
        held = (fact for id in ids if self._held(fact := self._facts[id], scene.first))
        stated = ((*_role(fact, who, scene), fact) for fact in held)
        best = max(stated, key=lambda row: (row[0], row[2].sources[0], row[2].id), default=None)
        if not best:
            return None
        _, role, fact = best
        text = f"{who.name}: {role}" if role else shorten(fact.text, LINE_CHARS, placeholder="…")
        return KnownLine(text, who.name, fact.valid_from, fact.id, fact.sources)

    def _held(self, fact: Memory, first: Turn) -> bool:
        """Return whether a fact was known, and taken for true, when the turns were said."""
        if by := self._facts.get(fact.facets.get("superseded_by", "")):
            return fact.sources[0] < first.id <= by.sources[0]
        return fact.sources[0] < first.id and holds(fact, first.at)

    def _last(self, first: int) -> KnownLine | None:
        """Return the first sentence of the last conversation's summary."""
        before = [summary for summary in self._summaries.values() if max(summary.sources) < first]
        last = max(before, key=lambda summary: (summary.valid_from, summary.id), default=None)
        if last is None or not keepable(last.text):
            return None
        text = shorten(sentences(last.text)[0], FACT_CHARS, placeholder="…")
        return KnownLine(text, "", last.valid_from, last.id, last.sources)


def _people(readings: Iterable[TurnReading], speakers: set[str]) -> dict[str, _Person]:
    people: dict[str, _Person] = {}
    for reading in readings:
        for mention in reading.mentions:
            if mention.entity:
                name, turn = mention.name, reading.turn
                who = people.setdefault(mention.entity, _Person(mention.entity, name, turn, set()))
                if len(name.split()) > len(who.name.split()):
                    who.name, who.turn = name, turn
                who.names.add(name)
                who.last, who.speaks = max(who.last, turn), who.speaks or fold(name) in speakers
                who.alive |= mention.type in ("person", "pet")
    return people


def _role(fact: Memory, who: _Person, scene: _Scene) -> tuple[int, str]:
    """Return what somebody is to whom by a fact, behind 2 for a speaker, else 1; (0, "") for nothing."""
    claim, roles, whom = fact.statement, scene.roles, None
    if claim.object_id == who.id:
        whom = scene.people.get(claim.subject_id)
    elif claim.subject_id == who.id and claim.predicate.endswith("_of"):  # both are friends
        whom = scene.people.get(claim.object_id)
    if whom is None or claim.over or claim.predicate not in roles:
        return 0, ""
    text = f"{roles[claim.predicate]} {roles['of']} {whom.name}"
    if fact.valid_from > scene.first.at:
        text += f" {roles['from']} {in_zone(fact.valid_from, scene.zone).date()}"
    if fact.valid_to and max(fact.sources) < scene.first.id:
        text += f" {roles['until']} {in_zone(fact.valid_to, scene.zone).date()}"
    return 1 + whom.speaks, text


def _words(texts: Iterable[str]) -> set[str]:
    return set(fingerprint(" ".join(texts)).split())


def _index_words(fact: Memory) -> set[str]:
    claim = fact.statement
    return {*_words([fact.text]), claim.subject_id, claim.object_id} - {""}
