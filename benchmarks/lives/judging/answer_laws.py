"""The laws of what is offered for a question: the block, and the tool for the past."""

from collections.abc import Callable, Iterable, Iterator

from benchmarks.lives.judging.truth import (
    OVER,
    Finding,
    Truth,
    Verdict,
    carries,
    exchanges,
    finding,
    named,
)
from benchmarks.lives.model import Ask, Claim
from benchmarks.lives.playing.record import Answer, Line, Record

EARLIER = ("- (earlier", "- (früher")  # the block's mark of a turn that a later one changed


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
            places = [p for p, x in exchanges(truth) if {c.id for c in missing} & set(x.says)]
            chain = (f"asked: {ask.question} ({answer.stage})", *answer.block.splitlines())
            wrong.append(finding(truth, "current", ask.at, places, named(missing), chain))
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


def as_of(truth: Truth, record: Record) -> Verdict:
    """As of a day in the past, the tool says what held then."""
    wrong = list[Finding]()
    for one in record.as_of:
        claim = truth.claims[one.claim]
        if not carries(one.text, claim):
            places = [p for p, x in exchanges(truth) if claim.id in x.says][:1]
            chain = (f"as of {one.day}: {one.question}", one.text)
            wrong.append(finding(truth, "as_of", one.at, places, claim.value, chain))
    return Verdict(len(record.as_of), len(record.as_of) - len(wrong), tuple(wrong))


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
