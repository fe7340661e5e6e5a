"""Chooses the names that a prompt about turns shows as known, from what was said before them.

Only turns before the first one shown count: a backlog that is read today must not see what its
people said later. A name's line is what it is to somebody ("Hana: sister of Mira"), or the fact
that says most about it. Names in the turns, or whose line has words of the turns, come first, then
those that were mentioned often and lately.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from heapq import nlargest
from math import log2

from msgspec import Struct

from slowcat_memory.core.disclosure import is_uncertain, is_withheld
from slowcat_memory.core.extraction.clauses import language_of_texts
from slowcat_memory.core.extraction.derived_text import keepable
from slowcat_memory.core.extraction.evidence import words_of
from slowcat_memory.core.extraction.grounding import sentences
from slowcat_memory.core.extraction.known import (
    KNOWN_NAMES,
    KNOWN_TOKENS,
    Known,
    KnownLine,
    limited,
    named_words,
)
from slowcat_memory.core.extraction.slots import is_functional
from slowcat_memory.core.facts.fact import is_fact
from slowcat_memory.core.graph.readings import TurnReading
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.memory import ALWAYS, FACT, READING, SESSION_SUMMARY
from slowcat_memory.core.text.normalize import fingerprint, fold
from slowcat_memory.core.text_caches import text_cache
from slowcat_memory.core.time.calendar import in_zone
from slowcat_memory.records import Memory, Turn

STEM = "~"  # behind a stem
LIKELY = 40  # names of which facts are looked at
MOST_FACTS = 300  # with one word; a more frequent one says nothing
LINE_CHARS = 90  # of a fact that stands for a name
LAST_CHARS = 170  # of the last conversation
RECENT_DAYS = 10.0  # after which the weight of the last mention is halved
NAMED, NEAR, LATELY, ROLE, OTHERS = 4.0, 1.5, 2.0, 2.0, 0.6  # weights of a name or line
KINDS = {"person": 1.0, "pet": 1.0, "organisation": 1.0, "place": 0.0}  # weights; others -1
ALIVE = ("person", "pet")
TELLS_NOTHING = frozenset({"age", "name", "height", "weight"})  # of who somebody is


class KnownIndex:
    """What a namespace's memories state about names. Not thread-safe."""

    beginnings = (f"{READING}/", f"{FACT}/", f"{SESSION_SUMMARY}/")

    def __init__(self) -> None:
        self._readings: dict[str, TurnReading] = {}
        self._facts: dict[str, Memory] = {}
        self._by_word: dict[str, set[str]] = {}  # ids of facts, by words and stems
        self._summaries: dict[str, Memory] = {}

    def put(self, memory: Memory) -> None:
        """Add or replace a memory; local-only, muted, retired and uncertain ones are left out."""
        self.drop(memory.id)
        if is_withheld(memory) or is_uncertain(memory):
            return
        if memory.id.startswith(f"{FACT}/"):
            if is_fact(memory) and memory.sources:
                self._facts[memory.id] = memory
                for word in _index_words(memory.text):
                    self._by_word.setdefault(word, set()).add(memory.id)
        elif memory.retired_at is not None or not memory.sources:
            return
        elif memory.id.startswith(f"{SESSION_SUMMARY}/"):
            self._summaries[memory.id] = memory
        else:
            with suppress(ValueError):
                self._readings[memory.id] = TurnReading.of(memory)

    def drop(self, id: str) -> None:
        for word in _index_words(self._facts[id].text) if id in self._facts else ():
            self._by_word[word].discard(id)
        for rows in (self._readings, self._facts, self._summaries):
            rows.pop(id, None)

    def before(self, turns: Sequence[Turn], zone: tzinfo, tokens: int = KNOWN_TOKENS) -> Known:
        """Return what was known before some turns of a conversation, in order, at least one.

        Args:
            tokens: Most tokens of its lines.
        """
        first, at = turns[0].id, turns[0].at
        read = [reading for reading in self._readings.values() if reading.turn < first]
        scene = _Scene(turns, read, zone)
        lines = [*self._roles(scene), *self._sentences(scene)]
        names = _best_of_each(lines, scene)
        known = Known(tuple(names), self._last(first, at), unshown=tuple(_every_name(scene)))
        return limited(known, tokens)

    def _roles(self, scene: "_Scene") -> Iterator[tuple[str, KnownLine]]:
        for fact in self._facts.values():
            if not fact.statement.over and _may_matter(fact, scene) and self._held(fact, scene):
                yield from _role_of(fact, scene)

    def _sentences(self, scene: "_Scene") -> Iterator[tuple[str, KnownLine]]:
        for id in self._near(scene):
            if self._held(self._facts[id], scene):
                yield from _sentence_of(self._facts[id], scene)

    def _near(self, scene: "_Scene") -> set[str]:
        """Return the facts that have words of the turns, or name who may be shown."""
        wanted = set[str]()
        for stem in scene.words - scene.own:
            ids = self._by_word.get(f"{stem}{STEM}", set())
            wanted |= ids if len(ids) <= MOST_FACTS else set()
        for person in scene.likely.values():
            for name in person.names:
                groups = [self._by_word.get(word, set()) for word in fingerprint(name).split()]
                wanted |= min(groups, key=len, default=set())
        return wanted

    def _held(self, fact: Memory, scene: "_Scene") -> bool:
        """Return whether a fact was known, and taken for true, when the turns were said."""
        if fact.sources[0] >= scene.first:
            return False
        by = self._facts.get(fact.facets.get("superseded_by", ""))
        if by is not None:
            return by.sources[0] >= scene.first
        over = fact.valid_to is not None and fact.valid_to <= scene.at
        return fact.retired_at is None and not over

    def _last(self, first: int, at: datetime) -> KnownLine | None:
        """Return the first sentence of the last conversation's summary."""
        before = [summary for summary in self._summaries.values() if max(summary.sources) < first]
        last = max(before, key=lambda summary: (summary.valid_from, summary.id), default=None)
        if last is None or not keepable(last.text):
            return None
        text = _cut(sentences(last.text)[0], LAST_CHARS)
        return KnownLine(text, "", last.valid_from, last.id, last.sources) if text else None


class _Person(Struct):
    """An entity by the turns before: its fullest name, all its names, and how often and when.

    Attributes:
        turn: Log id of the turn with the fullest name.
    """

    name: str
    kind: str
    names: set[str]
    count: int
    last: datetime
    turn: int


class _Scene:
    """The turns that a prompt shows, and who was known before them.

    Attributes:
        words: Stems of what is said in them; ``said_words``: its words.
        speakers: Folded names of those who speak.
        likely: Those who are named in the turns, or were often or lately.
        names: Stems of all names; ``own``: of the speakers'.
    """

    def __init__(self, turns: Sequence[Turn], read: Sequence[TurnReading], zone: tzinfo) -> None:
        self.first, self.at, self.zone = turns[0].id, turns[0].at, zone
        self.people = people = _people(read)
        self.language = language_of_texts(turn.text for turn in turns)
        self.speakers = frozenset(fold(turn.speaker) for turn in turns)
        text = " ".join(turn.text for turn in turns)
        self.words, self.said_words = words_of(text).keys(), named_words(text)
        self._said = {reading.turn: reading.said for reading in read}
        self.own = {stem for name in self.speakers for stem in words_of(name)}
        self.names = self.own | {
            stem for person in people.values() for name in person.names for stem in words_of(name)
        }
        others = [(id, person) for id, person in people.items() if not self.speakers & person.names]
        self.likely = dict(nlargest(LIKELY, others, key=lambda pair: _name_score(pair[1], self)))
        self.by_word: dict[str, list[str]] = {}
        for id, person in others:
            for word in {fingerprint(name).partition(" ")[0] for name in person.names}:
                self.by_word.setdefault(word, []).append(id)

    def said(self, turn: int) -> datetime:
        """Return when an earlier turn was said; when these turns were, if that is not known."""
        return self._said.get(turn, self.at)

    def speaks(self, id: str) -> bool:
        """Return whether an entity is one of the speakers."""
        person = self.people.get(id)
        return person is not None and bool(self.speakers & person.names)

    def name_of(self, id: str) -> str:
        """Return an entity's name; a value is its own name, "" for an entity of later."""
        person = self.people.get(id)
        return person.name if person else "" if id.startswith("entity/") else id


def _people(readings: Iterable[TurnReading]) -> dict[str, _Person]:
    people: dict[str, _Person] = {}
    for reading in readings:
        for mention in reading.mentions:
            if not mention.entity or mention.confidence == "low":
                continue
            name, at = mention.name, reading.said
            new = _Person(name, mention.type, set(), 0, at, reading.turn)
            person = people.setdefault(mention.entity, new)
            person.names.add(fold(name))
            person.count, person.last = person.count + 1, max(person.last, at)
            capital = person.name.islower() and not name.islower()
            if (len(name.split()), capital) > (len(person.name.split()), False):
                person.name, person.turn = name, reading.turn
    return people


def _every_name(scene: _Scene) -> Iterator[KnownLine]:
    """Yield the names of all others who were known, with the turn that has each in full."""
    for person in scene.people.values():
        if not scene.speakers & person.names and keepable(person.name):
            yield KnownLine(person.name, person.name, person.last, "", (person.turn,))


def _may_matter(row: Memory, scene: _Scene) -> bool:
    """Return whether a fact relates somebody likely, or has a role that the turns name."""
    claim = row.statement
    if claim.object_id in scene.likely or claim.subject_id in scene.likely:
        return True
    role = fold(scene.language.facts.roles.get(claim.predicate, ""))
    return bool(claim.subject_id) and role in scene.said_words


def _role_of(row: Memory, scene: _Scene) -> Iterator[tuple[str, KnownLine]]:
    """Yield an entity and what a fact says that it is."""
    claim, roles = row.statement, scene.language.facts.roles
    object_id, in_words = claim.object_id or claim.object, claim.predicate.replace("_", " ")
    subject, object_ = scene.name_of(claim.subject_id), scene.name_of(object_id)
    noun = roles.get(claim.predicate, "")
    if not subject or not object_ or claim.predicate in TELLS_NOTHING:
        return
    other = object_id in scene.people and not scene.speaks(object_id)
    if other and noun:
        about, text = object_id, f"{object_}: {noun} {roles['of']} {subject}"
    elif other and scene.speaks(claim.subject_id):
        about, text = object_id, f"{subject} {in_words} {object_}"
    elif claim.subject_id in scene.people and not scene.speaks(claim.subject_id):
        is_ = f"{noun} {roles['of']}" if noun and scene.speaks(object_id) else in_words
        about, text = claim.subject_id, f"{subject}: {is_} {object_}"
    else:
        return
    text += _times(row, scene)
    if len(text) <= LINE_CHARS:
        at = scene.said(min(row.sources))
        yield about, KnownLine(text, scene.name_of(about), at, row.id, row.sources)


def _times(row: Memory, scene: _Scene) -> str:
    """Return since when and until when, as far as it was known before the turns."""
    words = scene.language.facts.roles
    if not is_functional(row.statement.predicate):
        return ""
    text = ""
    if row.valid_from != ALWAYS and row.valid_from != scene.said(min(row.sources)):
        text = f" {words['from']} {in_zone(row.valid_from, scene.zone).date().isoformat()}"
    if row.valid_to is not None and max(row.sources) < scene.first:
        text += f" {words['until']} {in_zone(row.valid_to, scene.zone).date().isoformat()}"
    return text


def _sentence_of(fact: Memory, scene: _Scene) -> Iterator[tuple[str, KnownLine]]:
    """Yield the entities that a fact names, each with its sentence."""
    text = _cut(fact.text, LINE_CHARS)
    whole = f" {fingerprint(fact.text)} "
    for word in set(whole.split()):
        for id in scene.by_word.get(word, ()):
            person = scene.people[id]
            if any(f" {fingerprint(name)} " in whole for name in person.names):
                at = scene.said(fact.sources[0])
                yield id, KnownLine(text, person.name, at, fact.id, fact.sources)


def _best_of_each(lines: Iterable[tuple[str, KnownLine]], scene: _Scene) -> list[KnownLine]:
    """Return a line for each name, the most relevant names first; no sentence twice."""
    best: dict[str, tuple[float, KnownLine]] = {}
    for id, line in lines:
        score = _line_score(line, scene)
        if id not in best or (score, line.said) > (best[id][0], best[id][1].said):
            best[id] = (score, line)
    scored = [
        (score + _name_score(scene.people[id], scene), id, line)
        for id, (score, line) in best.items()
    ]
    scored.sort(key=lambda row: (-row[0], row[2].name))
    kept = dict[str, KnownLine]()
    for _, id, line in scored:
        shown = any(line.name in other.text for other in kept.values())
        if (not shown or scene.people[id].kind in ALIVE) and keepable(line.text):
            kept.setdefault(line.memory, line)
        if len(kept) == KNOWN_NAMES:
            break
    return list(kept.values())


def _line_score(line: KnownLine, scene: _Scene) -> float:
    """Return how well a line says what a name is, and how near it is to the turns."""
    near = len((words_of(line.text).keys() - scene.names) & scene.words)
    role = ROLE if _says_role(line, scene) else 0.0
    others = len((words_of(line.text).keys() & scene.names) - words_of(line.name).keys())
    return NEAR * min(2, near) + role + OTHERS * min(3, others) - len(line.text) / 60


def _says_role(line: KnownLine, scene: _Scene) -> bool:
    """Return whether a line says what a name is to a speaker: "Hana is Mira's little sister"."""
    words = fingerprint(line.text.replace("’s ", "s ").replace("'s ", "s "))
    rest = words.removeprefix(f"{fingerprint(line.name)} ")
    return rest != words and bool(_role_pattern(scene.language.name, scene.speakers).match(rest))


def _name_score(person: _Person, scene: _Scene) -> float:
    named = any(set(fingerprint(name).split()) & scene.said_words for name in person.names)
    days = max(0.0, (scene.at - person.last) / timedelta(days=1))
    used = log2(1 + person.count) / 2 + LATELY * 0.5 ** (days / RECENT_DAYS)
    return NAMED * named + used + KINDS.get(person.kind, -1.0)


@text_cache(64)
def _role_pattern(language: str, speakers: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern of the words behind a name that say what it is to a speaker."""
    table = next(known.facts.roles for known in LANGUAGES if known.name == language)
    nouns = "|".join(fold(noun) for name, noun in table.items() if "_" in name)
    who = "|".join(map(re.escape, sorted(map(fingerprint, speakers))))
    return re.compile(
        rf"(?:(?:{nouns}) {table['of']} (?:{who})$|(?:is|ist) (?:{who})s? (?:\w+ ){{0,2}}(?:{nouns})\b)"
    )


def _index_words(text: str) -> set[str]:
    """Return the words of a text, and their stems, marked as such."""
    return {*fingerprint(text).split(), *(f"{stem}{STEM}" for stem in words_of(text))}


def _cut(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
