"""The laws of what is derived: facts and relations, their days, and what they contradict."""

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime

from benchmarks.lives.judging.truth import (
    FACTUAL,
    OVER,
    Finding,
    Truth,
    Verdict,
    carries,
    exchanges,
    finding,
)
from benchmarks.lives.model import Claim, Exchange
from benchmarks.lives.playing.record import Derived, Place, Record

VAGUE = re.compile(r"week|fortnight|woche|vierzehn", re.IGNORECASE)  # names a day roughly
NEAR_DAYS = 3
EXCLUSIVE = frozenset({"home", "job", "employer", "partner", "diet", "phone", "car"})
NEGATED = re.compile(
    r"\bnot\b|n['’]t\b|\bdislike|\bhates?\b|\bgone off\b|\bno (?:fan|longer)\b|\bover\b|\bavoids?\b"
    r"|\bnicht\b|\bkein|\bhass|\bgenug\b|\bmag .* nicht\b|\bcan(?:no|')t stand\b|\bausstehen\b",
    re.IGNORECASE,
)
NARRATIVE = re.compile(  # of a head: what happened, and what is no statement about the user
    r"^(?:That time|What was going on|You have talked|Bring this up|Between|The (?:week|month|year)|How you|Who you are"
    r"|Beim letzten Mal|Was zuletzt|Ihr habt|Sprich das|Zwischen|Die Woche|Der Monat|Das Jahr|Wie (?:du|ihr)|Wer du bist|<)"
)


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
    return Verdict(cases, cases - len(wrong), tuple(wrong))


def undated(truth: Truth, record: Record) -> Verdict:
    """An event that was stated with its day and read as a fact has a day."""
    cases, wrong = 0, list[Finding]()
    facts = [one for one in _every_derived(record) if one.kind.startswith("fact")]
    for place, exchange in exchanges(truth):
        days = {truth.claims[id].on for id in exchange.says} - {None}
        read = [one for one in facts if place in one.sources]
        if not days or not read:
            continue
        cases += 1
        if not any(one.day for one in read):
            chain = tuple(f"{one.id} {one.text!r} without a day" for one in read)
            expected = ", ".join(f"{day:%a %d %b %Y}" for day in days if day)
            wrong.append(finding(truth, "undated", truth.day(place), [place], expected, chain))
    return Verdict(cases, cases - len(wrong), tuple(wrong))


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
    return Verdict(cases, cases - len(wrong), tuple(wrong))


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
    return Verdict(cases, cases - len(wrong), tuple(wrong))


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
    return Verdict(len(seen), len(seen) - len(wrong), tuple(wrong.values()))


def timeline(truth: Truth, record: Record) -> Verdict:
    """A relation that has ended ended on the day that was said, or on that of saying so."""
    seen, wrong = set[str](), list[Finding]()
    for held in reversed(record.held):
        for one, claim in _states(truth, held.derived):
            if one.id in seen or one.until is None or claim.ends is None:
                continue
            seen.add(one.id)
            ended = [(p, x) for p, x in exchanges(truth) if claim.id in x.ends]
            right = {claim.ends, *(truth.day(place) for place, _ in ended)}
            if all(abs((one.until - day).days) > NEAR_DAYS for day in right):
                places = [*one.sources[:1], *(place for place, _ in ended[:1])]
                chain = (f"{one.id} {one.text!r} until {one.until:%a %d %b %Y}",)
                expected = f"until {claim.ends:%a %d %b %Y}"
                wrong.append(finding(truth, "timeline", held.at, places, expected, chain))
    return Verdict(len(seen), len(seen) - len(wrong), tuple(wrong))


def kept(truth: Truth, record: Record) -> Verdict:
    """What was read of a state that still holds is not ended, and not merged into another."""
    read, wrong = set[str](), dict[str, Finding]()
    for held in record.held:
        now = {claim.id for claim in truth.holding(held.at)}
        rows = [(one, claim) for one, claim in _states(truth, held.derived) if claim.id in now]
        alive = {claim.id for one, claim in rows if one.holds(held.at.date())}
        read |= {claim.id for _, claim in rows}
        for one, claim in rows:
            if claim.id not in alive:
                chain = (f"{one.id} {one.text!r} until {one.until}, retired {one.retired}",)
                expected = f"{claim.slot} {claim.value} holds on {held.at:%d %b %Y}"
                wrong.setdefault(
                    claim.id, finding(truth, "kept", held.at, one.sources[:1], expected, chain)
                )
    return Verdict(len(read), len(read) - len(wrong), tuple(wrong.values()))


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
    return Verdict(cases, cases - len(wrong), tuple(wrong))


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
