"""The current facts of a namespace, indexed by what lets two of them be one.

Comparing a new fact with every known one takes the square of their number. Two facts can only be
one if they are of the same speaker, trust and subject, and then share a predicate, have near
vectors, or share words: to reach a Jaccard similarity of t, a text of n words must share one of its
n - ceil(t n) + 1 rarest (the prefix filter of set-similarity joins: Chaudhuri et al., "A Primitive
Operator for Similarity Joins in Data Cleaning", 2006).
"""

from collections.abc import Iterable, Iterator
from heapq import nsmallest
from itertools import islice
from math import ceil

import numpy as np

from slowcat_memory.core.extraction.options import MergeOptions
from slowcat_memory.core.extraction.slots import Slot, content, is_functional, slot_of
from slowcat_memory.core.facts.fact import is_fact, subject_of
from slowcat_memory.core.facts.holding import claim_of, ended_subjects
from slowcat_memory.core.facts.matter import Tokenize, without_values
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.records import Memory, Statement

_KIN = "has_"  # beginning of predicates that name a relative by a noun


MOST_SHARING = 64  # facts that share a word, the latest ones: a word of more tells nothing
UNREAD = "?"  # in place of a predicate
Near = tuple[Memory, float | None]
Group = tuple[str, str, str]  # speaker, trust, subject


def _kin_of(fact: Memory) -> Group | None:
    """Return what a fact calls its object, where it names a relative: "anna's sister"."""
    claim = fact.statement
    if claim.over or not claim.object or not claim.predicate.startswith(_KIN):
        return None
    noun = claim.predicate.removeprefix(_KIN).replace("_", " ")
    return fact.speaker, fact.trust, f"{subject_of(fact)}'s {noun}"


class FactIndex:
    """Current facts, and their vectors where they have one. Not thread-safe."""

    def __init__(self, tokenize: Tokenize) -> None:
        self._tokenize = tokenize
        self._groups: dict[Group, _Group] = {}
        self._group_of: dict[str, _Group] = {}
        self._ending: dict[str, Memory] = {}  # those that hold until a day
        self._enders: dict[Group, dict[str, None]] = {}  # ids of those that end another subject's
        # Ids of the entities that have a subject's name, by speaker and trust, and by name.
        self._subjects: dict[tuple[str, str], dict[str, set[str]]] = {}
        self._kin: dict[Group, dict[str, str]] = {}  # "anna's sister": names, by id of a fact

    def get(self, id: str) -> Memory | None:
        group = self._group_of.get(id)
        return group.facts[id] if group else None

    def put(self, fact: Memory, vector: np.ndarray | None) -> None:
        """Add or replace a memory; one that is no current fact is removed."""
        self.drop(fact.id)
        if not is_fact(fact) or fact.retired_at is not None:
            return
        if fact.valid_to is not None:
            self._ending[fact.id] = fact
            return
        at = (fact.speaker, fact.trust, subject_of(fact))
        group = self._group_of[fact.id] = self._groups.setdefault(at, _Group())
        ids = self._subjects.setdefault(at[:2], {}).setdefault(at[2], set())
        ids.update(filter(None, (fact.statement.subject_id,)))
        if kin := _kin_of(fact):
            self._kin.setdefault(kin, {})[fact.id] = fold(fact.statement.object)
        group.add(fact, set(self._tokenize(fact.text)), vector)
        for other in self._ended_groups(fact):
            self._enders.setdefault(other, {})[fact.id] = None

    def drop(self, id: str) -> None:
        self._ending.pop(id, None)
        if group := self._group_of.pop(id, None):
            for other in self._ended_groups(group.facts[id]):
                self._enders.get(other, {}).pop(id, None)
            self._kin.get(_kin_of(group.facts[id]) or ("", "", ""), {}).pop(id, None)
            group.remove(id, set(self._tokenize(group.facts[id].text)))

    def ending_by(self, id: str) -> list[Memory]:
        """Return the facts that hold until the one with an id begins."""
        return [fact for fact in self._ending.values() if fact.facets.get("superseded_by") == id]

    def rivals(self, new: Memory) -> list[Memory]:
        """Return the facts that may exclude a new one, or be ended by it, the earliest first."""
        claim, facts = claim_of(new), dict[str, Memory]()
        for subject in ended_subjects(claim):
            for group in self._of_subject(new, subject):
                facts |= {id: group.facts[id] for id in group.rivals(claim)}
        enders = self._enders.get((new.speaker, new.trust, subject_of(new)), {})
        facts |= {id: self._group_of[id].facts[id] for id in enders}
        return [fact for id, fact in facts.items() if id != new.id]

    def of_one_subject(self, fact: Memory, other: Memory) -> bool:
        """Return whether the subjects of two facts are two names of one, or equal."""
        return subject_of(other) in self._names(fact, subject_of(fact))

    def _of_subject(self, new: Memory, subject: str) -> list["_Group"]:
        """Return the groups of a subject, and of its other names."""
        names = self._names(new, subject)
        groups = (self._groups.get((new.speaker, new.trust, name)) for name in names)
        return [group for group in groups if group]

    def _names(self, fact: Memory, subject: str) -> list[str]:
        """Return a subject's name, and the other names of the one whom a fact's speaker means."""
        of = (fact.speaker, fact.trust)
        known, meant = self._subjects.get(of, {}), self._meant(*of, subject)
        others = sorted(known.keys() - {subject})
        return [subject, *(name for name in others if self._meant(*of, name) == meant)]

    def _meant(self, speaker: str, trust: str, name: str) -> str:
        """Return the only entity with a name, or that is a relative ("anna's sister"); else it."""
        relatives = set(self._kin.get((speaker, trust, name), {}).values())
        name = relatives.pop() if len(relatives) == 1 else name
        ids = self._subjects.get((speaker, trust), {}).get(name, set())
        return next(iter(ids)) if len(ids) == 1 else name

    def _ended_groups(self, fact: Memory) -> list[Group]:
        """Return the groups of other subjects, whose facts a fact may end: "our dog died"."""
        subjects = [name for name in ended_subjects(claim_of(fact)) if name != subject_of(fact)]
        return [(fact.speaker, fact.trust, name) for name in subjects]

    def candidates(self, new: Memory, options: MergeOptions) -> list[Near]:
        """Return the facts that a fact may be merged with, each with its cosine if known.

        First those with the same predicate, then the nearest; without vectors, those that share
        words. The number is limited, whatever the number of facts.
        """
        pairs = list[Near]()
        for group in self._of_subject(new, subject_of(new)):
            pairs += self._in_group(group, new, options)
        return pairs

    def _in_group(self, group: "_Group", new: Memory, options: MergeOptions) -> list[Near]:
        claim, own = claim_of(new), self._group_of.get(new.id)
        cosines = group.cosines(new.id, own.vectors.get(new.id) if own else None)
        same = group.by_predicate.get(claim.predicate, {}) if claim.predicate else {}
        alike = [id for id in cosines if id in same]
        others = [id for id in cosines if id not in same]
        if not is_functional(claim.predicate):
            same = group.by_object.get((claim.predicate, content(claim.object)), {})
        near = dict.fromkeys(islice(reversed(same), MOST_SHARING))
        for ids, most in ((alike, options.fallback_top_k), (others, options.top_k)):
            near |= dict.fromkeys(nsmallest(most, ids, key=lambda id: (-cosines[id], id)))
        shared = self._sharing(group, new, options)
        near |= {id: None for id in shared if id not in cosines}
        return [(group.facts[id], cosines.get(id)) for id in near if id != new.id]

    def _sharing(self, group: "_Group", new: Memory, options: MergeOptions) -> Iterator[str]:
        words = set(self._tokenize(new.text))
        others = set(self._tokenize(without_values(new.text)))
        for terms, least in ((words, options.check_low), (others, options.auto_update)):
            most = len(terms) - ceil(least * len(terms)) + 1
            for word in sorted(terms, key=lambda word: (group.frequency(word), word))[:most]:
                yield from islice(reversed(group.by_word.get(word, {})), MOST_SHARING)


class _Group:
    """The facts of one speaker and trust about one subject."""

    def __init__(self) -> None:
        self.facts: dict[str, Memory] = {}
        self.by_predicate: dict[str, dict[str, None]] = {}  # under "", those that end others
        self.by_object: dict[tuple[str, frozenset[str]], dict[str, None]] = {}
        self.by_word: dict[str, dict[str, None]] = {}
        self.by_slot: dict[Slot, dict[str, None]] = {}
        self.vectors: dict[str, np.ndarray] = {}

    def add(self, fact: Memory, words: Iterable[str], vector: np.ndarray | None) -> None:
        self.facts[fact.id] = fact
        for index, key in self._entries(fact, words):
            index.setdefault(key, {})[fact.id] = None
        if vector is not None:
            self.vectors[fact.id] = np.array(vector)

    def remove(self, id: str, words: Iterable[str]) -> None:
        for index, key in self._entries(self.facts.pop(id), words):
            index[key].pop(id, None)
            if not index[key]:
                del index[key]
        self.vectors.pop(id, None)

    def frequency(self, word: str) -> int:
        return len(self.by_word.get(word, ()))

    def cosines(self, new: str, vector: np.ndarray | None) -> dict[str, float]:
        """Return the cosines of a new fact's vector with all others, by id; none without it."""
        if vector is None:
            return {}
        rows = {id: row for id, row in self.vectors.items() if len(row) == len(vector)}
        values = np.array([*rows.values()]).reshape(-1, len(vector)) @ vector
        return {id: x for id, x in zip(rows, values.tolist(), strict=True) if id != new}

    def rivals(self, claim: Statement) -> dict[str, None]:
        """Return the ids of facts in a claim's slot, and of those that end or are ended by it."""
        rivals = dict(self.by_slot.get(slot_of(claim), {})) | self.by_predicate.get("", {})
        if claim.corrects:
            rivals |= self.by_predicate.get(claim.predicate, {})
        for ending in claim.ends:
            for predicate in ending.predicates or tuple(self.by_predicate):
                rivals |= self.by_predicate.get(predicate or UNREAD, {})
        return rivals

    def _entries(self, fact: Memory, words: Iterable[str]) -> Iterator[tuple[dict, object]]:
        claim = claim_of(fact)
        if not claim.predicate:
            yield self.by_predicate, UNREAD
        else:
            yield self.by_slot, slot_of(claim)
            yield self.by_predicate, claim.predicate
            yield self.by_object, (claim.predicate, content(claim.object))
        if claim.ends:
            yield self.by_predicate, ""
        for word in words:
            yield self.by_word, word
