"""Judges what a memory showed during a life against the life's truth.

Each law counts its cases and finds the wrong ones. Provenance decides, not words alone: a line
states a claim if it carries the claim's words and was made from a turn that states it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime

from msgspec import Struct

from benchmarks.lives.model import Ask, Claim, Exchange, Life
from benchmarks.lives.player import Played
from benchmarks.lives.record import Derived, Line, Opener, Place, Record

FACTUAL = frozenset({"fact", "correction", "other"})
OVER = re.compile(
    r"\buntil\b|\bno longer\b|\bused to\b|\bformerly\b|\bany ?more\b|\bbis\b|\bnicht mehr\b"
    r"|\bfrüher\b|\bkein\w* mehr\b|\bended\b|\bvorbei\b",
    re.IGNORECASE,
)
NEGATED = re.compile(
    r"\bnot\b|n['’]t\b|\bdislike|\bhates?\b|\bgone off\b|\bno (?:fan|longer)\b|\bover\b|\bavoids?\b"
    r"|\bnicht\b|\bkein|\bhass|\bgenug\b|\bmag .* nicht\b|\bcan(?:no|')t stand\b|\bausstehen\b",
    re.IGNORECASE,
)
VAGUE = re.compile(r"week|fortnight|woche|vierzehn", re.IGNORECASE)  # names a day roughly
NEAR_DAYS = 3
FEW = 6  # claims, of which any may be spoken
WENT = re.compile(r"how (?:this|it|that|did)|\bwent\b|\bwie\b.*\b(?:war|lief|gelaufen)\b", re.I)
QUOTED = re.compile(r"[“„\"»](.+?)[”“\"«]")
NARRATIVE = re.compile(
    r"^(?:That time|What was going on|You have talked|Bring this up|Between|Damals|Was zuletzt|Ihr habt"
    r"|Du hast|Sprich|Bring das|Zwischen|<)"
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

    def told_since(self, claim: Claim, since: date, at: datetime) -> bool:
        """Return whether a claim was stated between a day and a time."""
        return any(since <= one.date() and one <= at for one in self._said.get(claim.id, ()))

    def holding(self, at: datetime) -> list[Claim]:
        """Return the claims that were stated and hold at a time."""
        day = at.date()
        return [
            claim
            for claim in self.claims.values()
            if self.said(claim, at)
            and (claim.begins is None or claim.begins <= day)
            and (claim.ends is None or claim.ends > day)
        ]

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


# ---------------------------------------------------------------------- laws


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
        named = one.day or (one.since if one.since != said else None)
        if named is None:
            continue
        cases += 1
        near = NEAR_DAYS if VAGUE.search(exchange.when) else 0
        if all(abs((named - day).days) > near for day in right):
            expected = " or ".join(sorted(f"{day:%a %d %b %Y}" for day in right)) or "no date"
            chain = (f"{one.id} {one.text!r} dated {named:%a %d %b %Y}",)
            wrong.append(_finding(truth, "dates", said, [place], expected, chain))
    return Verdict(cases, cases - len(wrong), tuple(wrong))


def undated(truth: Truth, record: Record) -> Verdict:
    """An event that was stated with its day and read as a fact has a day."""
    cases, wrong = 0, list[Finding]()
    facts = [one for one in _every_derived(record) if one.kind.startswith("fact")]
    for place, exchange in _exchanges(truth):
        days = {truth.claims[id].on for id in exchange.says} - {None}
        read = [one for one in facts if place in one.sources]
        if not days or not read:
            continue
        cases += 1
        if not any(one.day for one in read):
            chain = tuple(f"{one.id} {one.text!r} without a day" for one in read)
            expected = ", ".join(f"{day:%a %d %b %Y}" for day in days if day)
            wrong.append(_finding(truth, "undated", truth.day(place), [place], expected, chain))
    return Verdict(cases, cases - len(wrong), tuple(wrong))


def read(truth: Truth, record: Record) -> Verdict:
    """What the user states of their life becomes a fact or a relation with its words."""
    derived, cases, wrong = _every_derived(record), 0, list[Finding]()
    states = dict[str, set[Place]]()
    for place, exchange in _exchanges(truth):
        for id in exchange.says:
            states.setdefault(id, set()).add(place)
    for place, exchange in _exchanges(truth):
        if not exchange.says:
            continue
        cases += 1
        claims = [truth.claims[id] for id in exchange.says]
        places = set.union(*(states[id] for id in exchange.says))
        made = [one for one in derived if places & set(one.sources)]
        if not any(carries(one.text, claim) for one in made for claim in claims):
            expected = ", ".join(f"{claim.slot} {claim.value}" for claim in claims)
            chain = tuple(f"{one.id} {one.text!r}" for one in made)
            wrong.append(_finding(truth, "read", truth.day(place), [place], expected, chain))
    return Verdict(cases, cases - len(wrong), tuple(wrong))


def traps(truth: Truth, record: Record) -> Verdict:
    """A joke, a hypothetical, a quote, a question or small talk becomes no fact."""
    derived, cases, wrong = _every_derived(record), 0, list[Finding]()
    for place, exchange in _exchanges(truth, factual=False):
        cases += 1
        made = [one for one in derived if one.sources and one.sources[0] == place]
        if made:
            chain = tuple(f"{one.id} {one.text!r}" for one in made)
            wrong.append(
                _finding(
                    truth, "traps", truth.day(place), [place], f"no fact ({exchange.kind})", chain
                )
            )
    return Verdict(cases, cases - len(wrong), tuple(wrong))


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
            expected = _named(right) or "; ".join(f"{c.value} is over" for _, c in lines)
            wrong.append(_finding(truth, "superseded", ask.at, places, expected, tuple(chain)))
    return Verdict(cases, cases - len(wrong), tuple(wrong))


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
            places = [p for p, x in _exchanges(truth) if {c.id for c in missing} & set(x.says)]
            chain = (f"asked: {ask.question} ({answer.stage})", *answer.block.splitlines())
            wrong.append(_finding(truth, "current", ask.at, places, _named(missing), chain))
    return Verdict(cases, cases - len(wrong), tuple(wrong))


def unknown(truth: Truth, record: Record) -> Verdict:
    """A question that nothing in the life answers is told so."""
    return _told_unknown(truth, record, "unknown", lambda ask: ask.unknown, True)


def denied(truth: Truth, record: Record) -> Verdict:
    """A question that the life answers is never told that nothing is stored."""
    return _told_unknown(truth, record, "denied", lambda ask: bool(ask.expect), False)


def _told_unknown(
    truth: Truth, record: Record, law: str, which: Callable[[Ask], bool], right: bool
) -> Verdict:
    cases, wrong = 0, list[Finding]()
    for answer, ask in _answers(truth, record, which):
        cases += 1
        if answer.unknown is not right:
            chain = (f"asked: {ask.question}", *answer.block.splitlines())
            expected = "nothing is stored" if right else "an answer"
            wrong.append(Finding(law=law, at=ask.at, said=(), expected=expected, chain=chain))
    return Verdict(cases, cases - len(wrong), tuple(wrong))


def icebreakers(truth: Truth, record: Record) -> Verdict:
    """An icebreaker asks about what has happened, stands, and was not asked about before."""
    wrong, asked = list[Finding](), dict[str, Opener]()
    for opener in record.openers:
        claims = _claims_of(truth, opener)
        if why := _untimely(truth, opener, claims, asked):
            chain = (f"icebreaker: {opener.text}",)
            wrong.append(_finding(truth, "icebreakers", opener.at, opener.sources, why, chain))
        asked |= {claim.id: opener for claim in claims} | {opener.text: opener}
    return Verdict(len(record.openers), len(record.openers) - len(wrong), tuple(wrong))


def _untimely(truth: Truth, opener: Opener, claims: list[Claim], asked: dict[str, Opener]) -> str:
    """Return what is wrong with an icebreaker, "" if nothing is."""
    today = opener.at.date()
    if opener.text in asked or any(claim.id in asked for claim in claims):
        return "asked before"
    for claim in claims:
        if truth.is_over(claim, opener.at):
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
                    _finding(truth, "told_already", opener.at, opener.sources, "not asked", chain)
                )
                break
    return Verdict(len(record.openers), len(record.openers) - len(wrong), tuple(wrong))


def stale(truth: Truth, record: Record) -> Verdict:
    """A fact or relation whose claim is over does not hold any more."""
    seen, wrong = set[str](), dict[str, Finding]()
    for held in record.held:
        for one, claim in _holding(truth, held.derived, held.at):
            seen.add(one.id)
            if truth.is_over(claim, held.at) and not OVER.search(one.text):
                ended = [p for p, x in _exchanges(truth) if claim.id in x.ends]
                chain = (f"{one.id} {one.text!r} holds on {held.at:%d %b %Y}",)
                wrong.setdefault(
                    one.id,
                    _finding(
                        truth, "stale", held.at, [*one.sources[:1], *ended[:1]], "over", chain
                    ),
                )
    return Verdict(len(seen), len(seen) - len(wrong), tuple(wrong.values()))


def opposites(truth: Truth, record: Record) -> Verdict:
    """No two facts or relations, and no two lines of a head, contradict each other."""
    wrong = list[Finding]()
    for held in record.held:
        rows = list(_holding(truth, held.derived, held.at))
        for pair in _contradicting(truth, rows, held.at):
            chain = tuple(f"{one.id} {one.text!r}" for one, _ in pair)
            places = [place for one, _ in pair for place in one.sources[:1]]
            wrong.append(_finding(truth, "opposites", held.at, places, "one of them", chain))
            break
    for head in record.heads:
        lines = [line for line in head.text.splitlines() if not NARRATIVE.match(line)]
        if pair := _opposite_lines(truth, lines, head.at):
            wrong.append(_finding(truth, "opposites", head.at, [], "one of them", pair))
    cases = len(record.held) + len(record.heads)
    return Verdict(cases, cases - len(wrong), tuple(wrong))


def heads(truth: Truth, record: Record) -> Verdict:
    """The head says where the user lives, their work and partner, once it was said."""
    cases, wrong = 0, list[Finding]()
    for head in record.heads:
        for claim in truth.holding(head.at):
            if claim.subject != "user" or claim.slot not in _STANDING:
                continue
            cases += 1
            if not carries(head.text, claim):
                places = [p for p, x in _exchanges(truth) if claim.id in x.says][:1]
                wrong.append(
                    _finding(truth, "heads", head.at, places, f"{claim.slot} {claim.value}", ())
                )
    return Verdict(cases, cases - len(wrong), tuple(wrong))


_STANDING = frozenset({"home", "job", "employer", "partner"})


def spoken(truth: Truth, record: Record) -> Verdict:
    """What is known is spoken as facts that hold, a new one among them, and no other records."""
    wrong = list[Finding]()
    for said in record.spoken:
        if why := _wrong_summary(truth, said.text, said.at):
            wrong.append(_finding(truth, "spoken", said.at, [], why, (said.text,)))
    return Verdict(len(record.spoken), len(record.spoken) - len(wrong), tuple(wrong))


def _wrong_summary(truth: Truth, text: str, at: datetime) -> str:
    now = truth.holding(at)
    items = QUOTED.findall(text) or re.split(r"(?<=[.;])\s+", text)
    for item in items:
        over = [c for c in truth.life.claims if truth.is_over(c, at) and carries(item, c)]
        if over and not OVER.search(item) and not any(carries(item, claim) for claim in now):
            return f"{over[0].value} is over: {item}"
    facts = [item for item in items if any(carries(item, c) for c in truth.life.claims)]
    if now and not facts:
        return "no fact at all"
    if QUOTED.search(text) and len(facts) < len(items):
        return f"no fact: {next(item for item in items if item not in facts)}"
    return _wrong_count(truth, text, at) or _nothing_new(truth, facts, at)


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


def as_of(truth: Truth, record: Record) -> Verdict:
    """As of a day in the past, the tool says what held then."""
    wrong = list[Finding]()
    for one in record.as_of:
        claim = truth.claims[one.claim]
        if not carries(one.text, claim):
            places = [p for p, x in _exchanges(truth) if claim.id in x.says][:1]
            chain = (f"as of {one.day}: {one.question}", one.text)
            wrong.append(_finding(truth, "as_of", one.at, places, claim.value, chain))
    return Verdict(len(record.as_of), len(record.as_of) - len(wrong), tuple(wrong))


LAWS: dict[str, Callable[[Truth, Record], Verdict]] = {
    law.__name__: law
    for law in (
        dates, undated, read, traps, superseded, current, unknown, denied, icebreakers,
        told_already, stale, opposites, heads, spoken, as_of,
    )
}  # fmt: skip


def judge(played: Played) -> dict[str, Verdict]:
    """Return the verdict of each law on a played life."""
    truth = Truth(played.life)
    return {name: law(truth, played.record) for name, law in LAWS.items()}


# ---------------------------------------------------------------------- parts


def _finding(
    truth: Truth, law: str, at: datetime | date, places: Iterable[Place], expected: str,
    chain: tuple[str, ...],
) -> Finding:  # fmt: skip
    known = list(dict.fromkeys(places))
    wording = truth.exchange(known[0]).wording if known else ""
    return Finding(
        law=law, at=at, said=truth.sentences(known), expected=expected, chain=chain, wording=wording
    )  # fmt: skip


def _every_derived(record: Record) -> list[Derived]:
    """Return all facts and relations that ever were, as they were seen first."""
    found = dict[str, Derived]()
    for held in record.held:
        for one in held.derived:
            found.setdefault(one.id, one)
    return list(found.values())


def _exchanges(truth: Truth, factual: bool = True) -> Iterator[tuple[Place, Exchange]]:
    for n, session in enumerate(truth.life.sessions):
        for k, turn in enumerate(session.turns):
            if (turn.kind in FACTUAL) is factual and turn.kind != "command":
                yield (n, k, False), turn


def _answers(truth: Truth, record: Record, which: Callable[[Ask], bool]):  # type: ignore[no-untyped-def]
    for answer in record.answers:
        ask = truth.life.asks[answer.ask]
        if which(ask):
            yield answer, ask


def _days(truth: Truth, exchange: Exchange) -> set[date]:
    """Return the days that an exchange names, by the claims that it states or ends."""
    says = [truth.claims[id] for id in exchange.says]
    ends = [truth.claims[id] for id in exchange.ends]
    found = {claim.on or claim.begins for claim in says} | {claim.ends for claim in ends}
    if not says:  # cancelled: also the day that it would have been
        found |= {claim.on for claim in ends}
    return {day for day in found if day}


def _marked(line: Line) -> bool:
    return line.over or OVER.search(line.text) is not None


def _states_newer(truth: Truth, line: Line, claim: Claim, right: Iterable[Claim]) -> bool:
    """Return whether a line says itself that a claim was replaced: it comes from the turn that did."""
    ends = any(claim.id in truth.exchange(p).ends for p in line.sources)
    return ends or any(c.words != claim.words and carries(line.text, c) for c in right)


def _named(claims: Iterable[Claim]) -> str:
    return ", ".join(f"{c.slot} {c.value}{f' on {c.on}' if c.on else ''}" for c in claims)


def _claims_of(truth: Truth, opener: Opener) -> list[Claim]:
    """Return the dated claims and open matters that an icebreaker is about."""
    ids = {id for place in opener.sources for id in truth.exchange(place).says}
    claims = [truth.claims[id] for id in ids]
    return [one for one in claims if one.on or one.slot == "thread"]


def _holding(
    truth: Truth, derived: Iterable[Derived], at: datetime
) -> Iterator[tuple[Derived, Claim]]:
    """Yield what holds at a time, with the claim of a state that it was made from."""
    for one in derived:
        if one.holds(at.date()) and one.sources:
            for id in truth.exchange(one.sources[0]).says:
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
            same = older.subject == newer.subject and older.slot == newer.slot in _EXCLUSIVE
            if same or newer.opposite == older.id:
                yield one, other


_EXCLUSIVE = frozenset({"home", "job", "employer", "partner", "diet", "phone", "car"})


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
            elif older.slot == newer.slot in _EXCLUSIVE and newer.subject == "user":
                first = [x for x in own if carries(x, older) and not OVER.search(x)]
                then = [x for x in own if carries(x, newer) and x not in first]
                if first and then:
                    return first[0], then[0]
    return ()


def _about_another(truth: Truth, line: str) -> bool:
    words = {word.lower() for word in re.findall(r"\w+", line)}
    return bool(words & truth.others)
