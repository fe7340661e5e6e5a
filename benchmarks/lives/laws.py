"""The laws of a life: what is derived, what is offered for a question, what the agent brings up.

Each law counts its cases and finds the wrong ones; those with a limit must reach it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta

from benchmarks.lives.model import EXCLUSIVE, Ask, Claim, Exchange
from benchmarks.lives.player import Played
from benchmarks.lives.record import Answer, Derived, Line, Opener, Place, Record
from benchmarks.lives.truth import (
    FACTUAL,
    OVER,
    Finding,
    Truth,
    Verdict,
    carries,
    exchanges,
    finding,
    named,
)

VAGUE = re.compile(r"week|fortnight|woche|vierzehn", re.IGNORECASE)  # names a day roughly
NEAR_DAYS = 3
NEGATED = re.compile(
    r"\bnot\b|n['’]t\b|\bdislike|\bhates?\b|\bgone off\b|\bno (?:fan|longer)\b|\bover\b|\bavoids?\b"
    r"|\bnicht\b|\bkein|\bhass|\bgenug\b|\bmag .* nicht\b|\bcan(?:no|')t stand\b|\bausstehen\b",
    re.IGNORECASE,
)
NARRATIVE = re.compile(  # of a head: what happened, and what is no statement about the user
    r"^(?:That time|What was going on|You have talked|Bring this up|Between|The (?:week|month|year)|How you|Who you are"
    r"|Beim letzten Mal|Was zuletzt|Ihr habt|Sprich das|Zwischen|Die Woche|Der Monat|Das Jahr|Wie (?:du|ihr)|Wer du bist|<)"
)
EARLIER = ("- (earlier", "- (früher")  # the block's mark of a turn that a later one changed
WENT = re.compile(r"how (?:this|it|that|did)|\bwent\b|\bwie\b.*\b(?:war|lief|gelaufen)\b", re.I)
SETTLED = re.compile(  # a fact that says itself that something is over
    r"\b(?:cancelled|called off|dealt with|died|out of work|abgesagt|erledigt|gestorben|arbeitslos)\b",
    re.IGNORECASE,
)
QUOTED = re.compile(r"[“„\"»](.+?)[”“\"«]")
BEFORE = timedelta(seconds=1)  # an icebreaker is taken before the session's first words
FEW = 6  # claims, of which any may be spoken


def _verdict(cases: int, wrong: Iterable[Finding]) -> Verdict:
    findings = tuple(wrong)
    return Verdict(cases, cases - len(findings), findings)


# -------------------------------------------------------------------- what is derived


def dates(truth: Truth, record: Record) -> Verdict:
    """Facts and relations are dated to the day that was said, within three days for weeks."""
    cases, wrong = 0, list[Finding]()
    for one in _every_derived(record):
        place = next(iter(one.sources), None)
        if place is None or truth.exchange(place).kind not in FACTUAL:
            continue
        exchange, said = truth.exchange(place), truth.day(place)
        right = _days(truth, exchange)
        if not exchange.says and not exchange.ends:
            continue
        # A relation whose beginning is unknown began in year 1.
        named = one.day or (None if one.since in (said, date.min) else one.since)
        if named is None:
            continue
        cases += 1
        near = NEAR_DAYS if VAGUE.search(exchange.when or exchange.user) else 0
        if all(abs((named - day).days) > near for day in right):
            expected = " or ".join(sorted(f"{day:%a %d %b %Y}" for day in right)) or "no date"
            chain = (f"{one.id} {one.text!r} dated {named:%a %d %b %Y}",)
            wrong.append(finding(truth, "dates", said, [place], expected, chain))
    return _verdict(cases, wrong)


def read(truth: Truth, record: Record) -> Verdict:
    """What the user states of their life becomes a fact or a relation with its words."""
    derived, cases, wrong = _every_derived(record), 0, list[Finding]()
    states = dict[str, set[Place]]()
    for place, exchange in exchanges(truth):
        for id in exchange.says:
            states.setdefault(id, set()).add(place)
    for place, exchange in exchanges(truth):
        if not exchange.says:
            continue
        cases += 1
        claims = [truth.claims[id] for id in exchange.says]
        places = set.union(*(states[id] for id in exchange.says))
        made = [one for one in derived if places & set(one.sources)]
        if not any(carries(one.text, claim) for one in made for claim in claims):
            expected = ", ".join(f"{claim.slot} {claim.value}" for claim in claims)
            chain = tuple(f"{one.id} {one.text!r}" for one in made)
            wrong.append(finding(truth, "read", truth.day(place), [place], expected, chain))
    return _verdict(cases, wrong)


def traps(truth: Truth, record: Record) -> Verdict:
    """A joke, a hypothetical, a quote, a question or small talk becomes no fact."""
    derived, cases, wrong = _every_derived(record), 0, list[Finding]()
    for place, exchange in exchanges(truth, factual=False):
        cases += 1
        made = [one for one in derived if one.sources and one.sources[0] == place]
        if made:
            chain = tuple(f"{one.id} {one.text!r}" for one in made)
            wrong.append(
                finding(
                    truth, "traps", truth.day(place), [place], f"no fact ({exchange.kind})", chain
                )
            )
    return _verdict(cases, wrong)


def stale(truth: Truth, record: Record) -> Verdict:
    """A fact or relation whose claim is over does not hold any more."""
    seen, wrong = set[str](), dict[str, Finding]()
    for held in record.held:
        for one, claim in _holding(truth, held.derived, held.at):
            seen.add(one.id)
            if truth.is_over(claim, held.at) and not OVER.search(one.text):
                ended = [p for p, x in exchanges(truth) if claim.id in x.ends]
                chain = (f"{one.id} {one.text!r} holds on {held.at:%d %b %Y}",)
                wrong.setdefault(
                    one.id,
                    finding(truth, "stale", held.at, [*one.sources[:1], *ended[:1]], "over", chain),
                )
    return _verdict(len(seen), wrong.values())


def opposites(truth: Truth, record: Record) -> Verdict:
    """No two facts or relations, and no two lines of a head, contradict each other."""
    wrong = list[Finding]()
    for held in record.held:
        rows = list(_holding(truth, held.derived, held.at))
        for pair in _contradicting(truth, rows, held.at):
            chain = tuple(f"{one.id} {one.text!r}" for one, _ in pair)
            places = [place for one, _ in pair for place in one.sources[:1]]
            wrong.append(finding(truth, "opposites", held.at, places, "one of them", chain))
            break
    for head in record.heads:
        lines = [line for line in head.text.splitlines() if not NARRATIVE.match(line)]
        if two := _opposite_lines(truth, lines, head.at):
            wrong.append(finding(truth, "opposites", head.at, [], "one of them", two))
    cases = len(record.held) + len(record.heads)
    return _verdict(cases, wrong)


def _every_derived(record: Record) -> list[Derived]:
    """Return all facts and relations that ever were, as they were seen first."""
    found = dict[str, Derived]()
    for held in record.held:
        for one in held.derived:
            found.setdefault(one.id, one)
    return list(found.values())


def _days(truth: Truth, exchange: Exchange) -> set[date]:
    """Return the days that an exchange names, by the claims that it states or ends."""
    says = [truth.claims[id] for id in exchange.says]
    ends = [truth.claims[id] for id in exchange.ends]
    found = {claim.on or claim.begins for claim in says} | {claim.ends for claim in ends}
    if not says:  # cancelled: also the day that it would have been
        found |= {claim.on for claim in ends}
    return {day for day in found if day}


def _holding(
    truth: Truth, derived: Iterable[Derived], at: datetime
) -> Iterator[tuple[Derived, Claim]]:
    """Yield what holds at a time, with the claim of a state that it was made from."""
    return ((one, claim) for one, claim in _states(truth, derived) if one.holds(at.date()))


def _states(truth: Truth, derived: Iterable[Derived]) -> Iterator[tuple[Derived, Claim]]:
    """Yield facts and relations with the claim of a state that they were made from."""
    for one in derived:
        for id in truth.exchange(one.sources[0]).says if one.sources else ():
            claim = truth.claims[id]
            if claim.on is None and carries(one.text, claim):
                yield one, claim


def _contradicting(
    truth: Truth, rows: list[tuple[Derived, Claim]], at: datetime
) -> Iterator[tuple[tuple[Derived, Claim], tuple[Derived, Claim]]]:
    for n, one in enumerate(rows):
        for other in rows[n + 1 :]:
            older, newer = sorted((one[1], other[1]), key=lambda c: c.begins or date.min)
            if older.id == newer.id or not truth.is_over(older, at):
                continue
            same = older.subject == newer.subject and older.slot == newer.slot in EXCLUSIVE
            if same or newer.opposite == older.id:
                yield one, other


def _opposite_lines(truth: Truth, lines: list[str], at: datetime) -> tuple[str, ...]:
    """Return two lines about the user that contradict each other, () if there are none."""
    user = truth.life.user.lower()
    own = [x for x in lines if user in x.lower() and not _about_another(truth, x)]
    for newer in truth.holding(at):
        for older in truth.life.claims:
            if newer.id == older.id or not truth.is_over(older, at) or older.subject != "user":
                continue
            if newer.opposite == older.id:
                likes = [x for x in own if carries(x, older) and not NEGATED.search(x)]
                hates = [x for x in own if carries(x, newer) and NEGATED.search(x)]
                if likes and hates:
                    return likes[0], hates[0]
            elif older.slot == newer.slot in EXCLUSIVE and newer.subject == "user":
                first = [x for x in own if carries(x, older) and not OVER.search(x)]
                then = [x for x in own if carries(x, newer) and x not in first]
                if first and then:
                    return first[0], then[0]
    return ()


def _about_another(truth: Truth, line: str) -> bool:
    words = {word.lower() for word in re.findall(r"\w+", line)}
    return bool(words & truth.others)


# -------------------------------------------------------------------- what is offered


def superseded(truth: Truth, record: Record) -> Verdict:
    """What is over is not offered for a question as if it held."""
    cases, wrong = 0, list[Finding]()
    for answer, ask in _answers(truth, record, lambda ask: bool(ask.reject)):
        cases += 1
        right = [truth.claims[id] for id in ask.expect]
        lines = [
            (line, claim)
            for line in answer.lines
            for claim in (truth.claims[id] for id in ask.reject)
            if truth.states(line, claim)
            and not _marked(line)
            and not _states_newer(truth, line, claim, right)
        ]
        if lines:
            chain = [f"asked: {ask.question}", *(line.text for line, _ in lines)]
            places = [place for line, _ in lines for place in line.sources]
            expected = named(right) or "; ".join(f"{c.value} is over" for _, c in lines)
            wrong.append(finding(truth, "superseded", ask.at, places, expected, tuple(chain)))
    return _verdict(cases, wrong)


def current(truth: Truth, record: Record) -> Verdict:
    """The block has every claim that answers a question."""
    cases, wrong = 0, list[Finding]()
    for answer, ask in _answers(truth, record, lambda ask: bool(ask.expect)):
        cases += 1
        missing = [
            truth.claims[id]
            for id in ask.expect
            if not any(truth.states(line, truth.claims[id]) for line in answer.lines)
        ]
        if missing:
            places = [p for p, x in exchanges(truth) if {c.id for c in missing} & set(x.says)]
            chain = (f"asked: {ask.question} ({answer.stage})", *answer.block.splitlines())
            wrong.append(finding(truth, "current", ask.at, places, named(missing), chain))
    return _verdict(cases, wrong)


def _answers(
    truth: Truth, record: Record, which: Callable[[Ask], bool]
) -> Iterator[tuple[Answer, Ask]]:
    for answer in record.answers:
        ask = truth.life.asks[answer.ask]
        if which(ask):
            yield answer, ask


def _marked(line: Line) -> bool:
    return line.over or OVER.search(line.text) is not None or line.text.startswith(EARLIER)


def _states_newer(truth: Truth, line: Line, claim: Claim, right: Iterable[Claim]) -> bool:
    """Return whether a line says itself that a claim was replaced: it comes from the turn that did."""
    ends = any(claim.id in truth.exchange(p).ends for p in line.sources)
    return ends or any(c.words != claim.words and carries(line.text, c) for c in right)


# -------------------------------------------------------------------- what the agent brings up


def icebreakers(truth: Truth, record: Record) -> Verdict:
    """An icebreaker asks about what has happened, stands, and was not asked about before."""
    wrong, asked = list[Finding](), dict[str, Opener]()
    for opener in record.openers:
        claims = _claims_of(truth, opener)
        if why := _untimely(truth, opener, claims, asked):
            chain = (f"icebreaker: {opener.text}",)
            wrong.append(finding(truth, "icebreakers", opener.at, opener.sources, why, chain))
        asked |= {claim.id: opener for claim in claims} | {opener.text: opener}
    return _verdict(len(record.openers), wrong)


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


def spoken(truth: Truth, record: Record) -> Verdict:
    """What is known is spoken as facts that hold, a new one among them, and no other records."""
    wrong = list[Finding]()
    for said in record.spoken:
        if why := _wrong_summary(truth, record, said.text, said.at):
            wrong.append(finding(truth, "spoken", said.at, [], why, (said.text,)))
    return _verdict(len(record.spoken), wrong)


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
    return any(claim.id in said.ends for said in _told_by(truth, record, item))


def _ends_something(truth: Truth, record: Record, item: str) -> bool:
    """Return whether an item is a fact from a turn that only says what is over: "is out of work"."""
    return any(said.ends and not said.says for said in _told_by(truth, record, item))


def _told_by(truth: Truth, record: Record, item: str) -> Iterator[Exchange]:
    """Yield the turns that a fact of these words was made from."""
    for held in record.held:
        for one in held.derived:
            if one.sources and one.text.rstrip(".") == item.rstrip("."):
                yield truth.exchange(one.sources[0])


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


# -------------------------------------------------------------------- all laws

LAWS: dict[str, Callable[[Truth, Record], Verdict]] = {
    law.__name__: law
    for law in (
        dates, read, traps, superseded, current, icebreakers,
        stale, opposites, spoken,
    )
}  # fmt: skip
LIMITS: dict[str, dict[str, float]] = {  # the largest share of wrong cases, by LLM
    "none": {
        "dates": 0.02, "superseded": 0.0, "current": 0.07, "icebreakers": 0.0, "opposites": 0.0,
        "spoken": 0.0,
    },
    "scripted": {
        "dates": 0.005, "superseded": 0.0, "current": 0.03, "icebreakers": 0.0, "opposites": 0.0,
        "spoken": 0.0,
    },
}  # fmt: skip


def judge(played: Played) -> dict[str, Verdict]:
    """Return the verdict of each law on a played life."""
    truth = Truth(played.life)
    return {name: law(truth, played.record) for name, law in LAWS.items()}
