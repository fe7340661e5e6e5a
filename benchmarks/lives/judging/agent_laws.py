"""The laws of what the agent brings up by itself, keeps in its head, and speaks about the user."""

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from benchmarks.lives.judging.truth import (
    OVER,
    Finding,
    Truth,
    Verdict,
    carries,
    exchanges,
    finding,
)
from benchmarks.lives.model import Claim
from benchmarks.lives.playing.record import Opener, Record

WENT = re.compile(r"how (?:this|it|that|did)|\bwent\b|\bwie\b.*\b(?:war|lief|gelaufen)\b", re.I)
SETTLED = re.compile(  # a fact that says itself that something is over
    r"\b(?:cancelled|called off|dealt with|died|out of work|abgesagt|erledigt|gestorben|arbeitslos)\b",
    re.IGNORECASE,
)
QUOTED = re.compile(r"[“„\"»](.+?)[”“\"«]")
BEFORE = timedelta(seconds=1)  # an icebreaker is taken before the session's first words
FEW = 6  # claims, of which any may be spoken
STANDING = frozenset({"home", "job", "employer", "partner"})


def icebreakers(truth: Truth, record: Record) -> Verdict:
    """An icebreaker asks about what has happened, stands, and was not asked about before."""
    wrong, asked = list[Finding](), dict[str, Opener]()
    for opener in record.openers:
        claims = _claims_of(truth, opener)
        if why := _untimely(truth, opener, claims, asked):
            chain = (f"icebreaker: {opener.text}",)
            wrong.append(finding(truth, "icebreakers", opener.at, opener.sources, why, chain))
        asked |= {claim.id: opener for claim in claims} | {opener.text: opener}
    return Verdict(len(record.openers), len(record.openers) - len(wrong), tuple(wrong))


def _untimely(truth: Truth, opener: Opener, claims: list[Claim], asked: dict[str, Opener]) -> str:
    """Return what is wrong with an icebreaker, "" if nothing is.

    Of a turn that moves an event, only one of its two days must be right.
    """
    if opener.text in asked or any(claim.id in asked for claim in claims):
        return "asked before"
    reasons = [_untimely_claim(truth, opener, claim) for claim in claims]
    return "; ".join(reasons) if reasons and all(reasons) else ""


def _untimely_claim(truth: Truth, opener: Opener, claim: Claim) -> str:
    today = opener.at.date()
    if truth.is_over(claim, opener.at - BEFORE):
        return f"{claim.value}: {claim.outcome or 'over'}, as was said"
    if claim.on and (claim.on > today or claim.on == today and WENT.search(opener.text)):
        return f"{claim.value} is on {claim.on:%a %d %b %Y}"
    return ""


def told_already(truth: Truth, record: Record) -> Verdict:
    """An icebreaker does not ask how a plan went when that was told."""
    wrong = list[Finding]()
    for opener in record.openers:
        for claim in _claims_of(truth, opener):
            planned = claim.slot in ("appointment", "plan") and claim.on is not None
            if planned and truth.told_since(claim, claim.on or date.min, opener.at):
                chain = (f"icebreaker: {opener.text}",)
                wrong.append(
                    finding(truth, "told_already", opener.at, opener.sources, "not asked", chain)
                )
                break
    return Verdict(len(record.openers), len(record.openers) - len(wrong), tuple(wrong))


def heads(truth: Truth, record: Record) -> Verdict:
    """The head says where the user lives, their work and partner, once it was said."""
    cases, wrong = 0, list[Finding]()
    for head in record.heads:
        for claim in truth.holding(head.at):
            if claim.subject != "user" or claim.slot not in STANDING:
                continue
            cases += 1
            if not carries(head.text, claim):
                places = [p for p, x in exchanges(truth) if claim.id in x.says][:1]
                wrong.append(
                    finding(truth, "heads", head.at, places, f"{claim.slot} {claim.value}", ())
                )
    return Verdict(cases, cases - len(wrong), tuple(wrong))


def spoken(truth: Truth, record: Record) -> Verdict:
    """What is known is spoken as facts that hold, a new one among them, and no other records."""
    wrong = list[Finding]()
    for said in record.spoken:
        if why := _wrong_summary(truth, record, said.text, said.at):
            wrong.append(finding(truth, "spoken", said.at, [], why, (said.text,)))
    return Verdict(len(record.spoken), len(record.spoken) - len(wrong), tuple(wrong))


def _wrong_summary(truth: Truth, record: Record, text: str, at: datetime) -> str:
    now = truth.holding(at)
    items = QUOTED.findall(text) or re.split(r"(?<=[.;])\s+", text)
    for item in items:
        over = [
            c
            for c in truth.life.claims
            if truth.is_over(c, at) and carries(item, c) and not _says_end(truth, record, item, c)
        ]
        if (
            over
            and not (OVER.search(item) or SETTLED.search(item))
            and not any(carries(item, claim) for claim in now)
        ):
            return f"{over[0].value} is over: {item}"
    facts = [item for item in items if any(carries(item, c) for c in truth.life.claims)]
    if now and not facts:
        return "no fact at all"
    others = [
        item for item in items if item not in facts and not _ends_something(truth, record, item)
    ]
    if QUOTED.search(text) and others:
        return f"no fact: {others[0]}"
    return _wrong_count(truth, text, at) or _nothing_new(truth, facts, at)


def _says_end(truth: Truth, record: Record, item: str, claim: Claim) -> bool:
    """Return whether an item is a fact from the turn that said that a claim is over: "Max died"."""
    return any(
        claim.id in truth.exchange(one.sources[0]).ends
        for held in record.held
        for one in held.derived
        if one.sources and one.text.rstrip(".") == item.rstrip(".")
    )


def _ends_something(truth: Truth, record: Record, item: str) -> bool:
    """Return whether an item is a fact from a turn that only says what is over: "is out of work"."""
    return any(
        one.text.rstrip(".") == item.rstrip(".")
        for held in record.held
        for one in held.derived
        if one.sources
        and truth.exchange(one.sources[0]).ends
        and not truth.exchange(one.sources[0]).says
    )


def _wrong_count(truth: Truth, text: str, at: datetime) -> str:
    """Return what is wrong with a number of known things: more than were ever stated."""
    said = sum(truth.said(claim, at) for claim in truth.life.claims)
    told = max((int(one) for one in re.findall(r"\d+", QUOTED.sub("", text))), default=0)
    return f"{told} things of {said} that were stated" if told > said else ""


def _nothing_new(truth: Truth, facts: Sequence[str], at: datetime) -> str:
    """Return "nothing new" if what is spoken leaves out the newest half of what holds."""
    now = sorted(truth.holding(at), key=lambda claim: truth.last_said(claim, at))
    newest = now[len(now) // 2 :]
    if len(now) < FEW or any(carries(item, claim) for item in facts for claim in newest):
        return ""
    return "nothing new"


def _claims_of(truth: Truth, opener: Opener) -> list[Claim]:
    """Return the dated claims and open matters that an icebreaker is about."""
    ids = {id for place in opener.sources for id in truth.exchange(place).says}
    claims = [truth.claims[id] for id in ids]
    return [one for one in claims if one.on or one.slot == "thread"]
