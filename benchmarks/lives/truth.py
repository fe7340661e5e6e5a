"""A life as the oracle sees it: what was said when, and what a line of a block states.

Provenance decides, not words alone: a line states a claim if it carries the claim's words and was
made from a turn that states it.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime

from msgspec import Struct

from benchmarks.lives.model import Claim, Exchange, Life
from benchmarks.lives.record import Line, Place

FACTUAL = frozenset({"fact", "correction", "other"})
OVER = re.compile(
    r"\buntil\b|\bno longer\b|\bused to\b|\bformerly\b|\bany ?more\b|\bbis\b|\bnicht mehr\b"
    r"|\bfrüher\b|\bkein\w* mehr\b|\bended\b|\bvorbei\b",
    re.IGNORECASE,
)


class Finding(Struct, frozen=True, kw_only=True):
    """A wrong case.

    Attributes:
        law: Which law it breaks.
        said: The sentences of the life that it is about.
        expected: What would be right.
        chain: From the turn to what was shown, a line each.
        wording: Id of the first sentence's wording, "" for what was written by hand.
    """

    law: str
    at: datetime | date
    said: tuple[str, ...]
    expected: str
    chain: tuple[str, ...] = ()
    wording: str = ""


class Verdict(Struct, frozen=True):
    """The number of cases of a law, how many of them count, and the wrong ones."""

    cases: int
    hits: int
    findings: tuple[Finding, ...] = ()


class Truth:
    """A life, with what the oracle looks up in it."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.claims = {claim.id: claim for claim in life.claims}
        self._ended = dict[str, datetime]()  # when it was first said that a claim is over
        self._said = dict[str, list[datetime]]()
        for session in life.sessions:
            for turn in session.turns:
                for id in turn.ends:
                    self._ended.setdefault(id, session.at)
                for id in turn.says:
                    self._said.setdefault(id, []).append(session.at)
        subjects = {claim.subject for claim in life.claims} - {"user"}
        named = {c.value for c in life.claims if len(c.value.split()) == 1 and c.slot in _PEOPLE}
        self.others = {name.lower() for name in subjects | named}

    def exchange(self, place: Place) -> Exchange:
        return self.life.sessions[place[0]].turns[place[1]]

    def day(self, place: Place) -> date:
        return self.life.sessions[place[0]].at.date()

    def is_over(self, claim: Claim, at: datetime) -> bool:
        """Return whether a claim does not hold at a time, and that was said before."""
        said = self._ended.get(claim.id)
        return said is not None and said <= at and (claim.ends is None or claim.ends <= at.date())

    def said(self, claim: Claim, at: datetime) -> bool:
        """Return whether a claim was stated before a time."""
        return any(one < at for one in self._said.get(claim.id, ()))

    def last_said(self, claim: Claim, at: datetime) -> datetime:
        return max((one for one in self._said.get(claim.id, ()) if one <= at), default=datetime.min)

    def holding(self, at: datetime) -> list[Claim]:
        """Return the claims that were stated and hold at a time."""
        every = self.claims.values()
        return [claim for claim in every if self.said(claim, at) and claim.holds(at.date())]

    def sentences(self, places: Iterable[Place]) -> tuple[str, ...]:
        return tuple(
            f"{self.life.sessions[p[0]].at:%a %d %b %Y} "
            f"{'agent' if p[2] else 'user'}: "
            f"{self.exchange(p).agent if p[2] else self.exchange(p).user}"
            for p in places
        )

    def states(self, line: Line, claim: Claim) -> bool:
        """Return whether a line states a claim: by its words, and by where it comes from."""
        if not carries(line.text, claim):
            return False
        if not line.sources:
            return True
        for place in line.sources:
            exchange = self.exchange(place)
            if claim.id in exchange.says:
                return True
            if place[2] and exchange.kind == "question":
                return True
        return False


_PEOPLE = frozenset(
    "friend colleague boss partner sister brother mother father son daughter aunt uncle".split()
)


def carries(text: str, claim: Claim) -> bool:
    """Return whether a text has one of a claim's words, at a word's beginning."""
    return any(re.search(rf"(?<!\w){re.escape(word)}", text, re.I) for word in claim.words)


def finding(
    truth: Truth, law: str, at: datetime | date, places: Iterable[Place], expected: str,
    chain: tuple[str, ...],
) -> Finding:  # fmt: skip
    known = list(dict.fromkeys(places))
    wording = truth.exchange(known[0]).wording if known else ""
    return Finding(
        law=law, at=at, said=truth.sentences(known), expected=expected, chain=chain, wording=wording
    )  # fmt: skip


def exchanges(truth: Truth, factual: bool = True) -> Iterator[tuple[Place, Exchange]]:
    for n, session in enumerate(truth.life.sessions):
        for k, turn in enumerate(session.turns):
            if (turn.kind in FACTUAL) is factual and turn.kind != "command":
                yield (n, k, False), turn


def named(claims: Iterable[Claim]) -> str:
    return ", ".join(f"{c.slot} {c.value}{f' on {c.on}' if c.on else ''}" for c in claims)
