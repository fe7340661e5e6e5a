"""The facts of a namespace by turn: which of them are over, and which turn states what holds now.

Recall offers the words of turns. A turn whose fact is over must not be offered as current: here a
turn's facts are found without reading the store.
"""

from datetime import datetime

from msgspec import Struct

from slowcat_memory.core.facts.fact import is_fact
from slowcat_memory.records import Memory

MOST_LINKS = 32  # from a fact to the one that holds now


class EndedFact(Struct, frozen=True):
    """A fact that is over.

    Attributes:
        text: Its sentence: "Anna lives in Leeds."
        until: Since when it is over.
        turn: Log id of the turn that states what holds now, or that it is over; 0 if unknown.
        now: The sentence of that: "Anna lives in Bristol.", "Anna no longer lives in Leeds."
    """

    text: str
    until: datetime
    turn: int
    now: str


class TurnState(Struct, frozen=True):
    """What a turn states that is over, and the sentences of what still holds."""

    over: tuple[EndedFact, ...] = ()
    holds: tuple[str, ...] = ()


class TurnFacts:
    """Facts, retired ones included, by id and by turn. Not thread-safe to change."""

    def __init__(self) -> None:
        self._facts: dict[str, Memory] = {}
        self._by_turn: dict[int, dict[str, None]] = {}

    def put(self, memory: Memory) -> None:
        """Add or replace a memory; one that is no fact is ignored."""
        if not is_fact(memory):
            return
        self.drop(memory.id)
        self._facts[memory.id] = memory
        for turn in memory.sources:
            self._by_turn.setdefault(turn, {})[memory.id] = None

    def drop(self, id: str) -> None:
        memory = self._facts.pop(id, None)
        for turn in memory.sources if memory else ():
            self._by_turn[turn].pop(id, None)
            if not self._by_turn[turn]:
                del self._by_turn[turn]

    def state(self, turn: int, now: datetime) -> TurnState:
        """Return the state of a turn's facts at a moment; empty for a turn without facts."""
        over, holds = list[EndedFact](), list[str]()
        for id in tuple(self._by_turn.get(turn, ())):
            stated = self._facts.get(id)
            if stated is None or _is_elsewhere(stated, turn):
                continue
            if (fact := self._same(stated)) and not _is_over(fact, now):
                holds.append(stated.text)
            else:
                over.append(self._ended(fact or stated, now))
        return TurnState(tuple(over), tuple(holds))

    def _same(self, fact: Memory) -> Memory:
        """Return the fact that an equal one was merged into, or the fact."""
        for _ in range(MOST_LINKS):
            by = self._facts.get(fact.facets.get("superseded_by", ""))
            if fact.facets.get("why") != "same" or by is None:
                break
            fact = by
        return fact

    def _ended(self, fact: Memory, now: datetime) -> EndedFact:
        last = fact
        for _ in range(MOST_LINKS):
            by = self._facts.get(last.facets.get("superseded_by", ""))
            if by is None or not _is_over(last, now):
                break
            last = by
        until = fact.valid_to or fact.retired_at or now
        known = last is not fact
        turn = last.sources[0] if known and last.sources else 0
        return EndedFact(fact.text, until, turn, last.text if known else "")


def _is_over(fact: Memory, now: datetime) -> bool:
    return fact.retired_at is not None or (fact.valid_to is not None and fact.valid_to <= now)


def _is_elsewhere(fact: Memory, turn: int) -> bool:
    """Return whether a turn only helped to understand a fact that another turn states."""
    return bool(fact.sources) and fact.sources[0] != turn and "sources" not in fact.facets
