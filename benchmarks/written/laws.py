"""What must hold of a diary's store: each law counts its cases, and those in which something happened.

A law's ``wanted`` says whether that should happen (a right item is kept) or not (a wrong one is).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from msgspec import Struct

from benchmarks.written.diary import Fact, Question, first_day
from benchmarks.written.found import KEPT, Found, said
from benchmarks.written.good import Piece
from benchmarks.written.play import Answer, Call, Played
from benchmarks.written.shown import coverage
from slowcat_memory.core.extraction.grounding import sentences
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.records import Memory

DAMAGES = frozenset({"shifted", "too long", "copied example"})  # wrong items that a damage makes
ITEMS = frozenset({"fact", "entity", "relation", "context", "question", "note"})


class Case(Struct, frozen=True):
    """One case; ``hit`` is whether what the law is about happened."""

    what: str
    hit: bool
    group: str = ""
    shown: str = ""


Law = Callable[[Found], Iterator[Case]]


def _given(calls: Sequence[Call], *kinds: str, right: bool = True) -> list[Piece]:
    """Return the items of some kinds that were sent, each once: an item's last form."""
    found = dict[tuple[str, str, str], Piece]()
    for call in calls:
        for piece in call.pieces:
            if piece.kind in kinds and bool(piece.fault) != right and said(piece):
                found[piece.kind, piece.key or said(piece), piece.fault] = piece
    return list(found.values())


def _case(found: Found, piece: Piece, group: str = "") -> Case:
    stored = found.kept(piece)
    return Case(f"{piece.key}: {said(piece)}", stored is not None, group, stored or "")


def _kept(*kinds: str) -> Law:
    """Return the law that right items of some kinds are kept."""

    def check(found: Found) -> Iterator[Case]:
        for piece in _given(found.played.calls, *kinds):
            yield _case(found, piece, piece.kind if len(kinds) > 1 else "")

    return check


def questions_kept(found: Found) -> Iterator[Case]:
    """Right questions and notes of contexts are kept."""
    for piece in _given(found.played.calls, "context"):
        for name, kind in (("questions", "question"), ("notes", "note")):
            for text in piece.value.get(name) or ():
                yield _case(found, Piece(kind, piece.key, text), kind)


def summaries_kept(found: Found) -> Iterator[Case]:
    """Right summaries of conversations, days and weeks are kept."""
    jobs = {call.job for call in found.played.calls}
    for job in sorted(jobs):
        own = [call for call in found.played.calls if call.job == job]
        for piece in _given(own, "summary"):
            yield _case(found, piece, job)


def blocks_kept(found: Found) -> Iterator[Case]:
    """Right lines of blocks are kept."""
    last = {call.user.rsplit(" ", 1)[-1]: call for call in found.played.calls if call.job == "blocks"}  # fmt: skip
    shown = "\n".join(one.text for one in found.of_kind("block") if one.retired_at is None)
    for call in last.values():
        for piece in call.pieces:
            yield Case(said(piece), coverage(said(piece), shown) >= KEPT, "blocks")


def wrong_kept(found: Found) -> Iterator[Case]:
    """Wrong items are kept."""
    for piece in _given(found.played.calls, *ITEMS, "summary", right=False):
        if piece.fault not in DAMAGES and piece.fault != "of relation":
            group = "wrong relation" if piece.kind == "relation" else piece.fault
            yield _case(found, piece, group)


def shifted_kept(found: Found) -> Iterator[Case]:
    """Contexts of another turn are kept."""
    for piece in _given(found.played.calls, "context", right=False):
        if piece.fault == "shifted":
            yield _case(found, piece)


def right_beside_wrong(found: Found) -> Iterator[Case]:
    """Right items in a reply with wrong ones are kept."""
    mixed = [
        call
        for call in found.played.calls
        if not call.damage and any(piece.fault for piece in call.pieces)
    ]
    for piece in _given(mixed, "fact", "entity", "relation", "context"):
        yield _case(found, piece, piece.kind)


def orders_leaked(found: Found) -> Iterator[Case]:
    """An order from a talk stands somewhere in what was derived."""
    derived = list(found.derived())
    diary = found.played.diary
    every = [(one.id, wrong.words) for _, one in diary.exchanges() for wrong in one.wrong
             if wrong.fault == "leaked order"]  # fmt: skip
    every += [
        (one.id, one.wrong_summary.text)
        for one in diary.conversations
        if one.wrong_summary and one.wrong_summary.fault == "leaked order"
    ]
    for id, text in every:
        where = dict.fromkeys(place for place, one in derived if holds(one, text))
        yield Case(f"{id}: {text}", bool(where), "", ", ".join(where))


def holds(text: str, order: str) -> bool:
    """Return whether most words of an order stand in one sentence of a text."""
    return any(coverage(order, one) >= KEPT for one in [*sentences(text), *text.splitlines()])


def read_aloud_brought_up(found: Found) -> Iterator[Case]:
    """An icebreaker, or a fact of the head, comes from what was only read aloud."""
    heads = "\n".join(found.played.heads)
    for memory in (*found.of_kind("icebreaker"), *found.of_kind("fact")):
        own = found.played.cites(memory)
        shown = memory.kind.startswith("icebreaker") or coverage(memory.text, heads) == 1.0
        if own and shown:
            aloud = all(found.exchanges[id].reading for id in own)
            seen = memory.kind.startswith("icebreaker") or any(holds(head, memory.text) for head in found.played.heads)  # fmt: skip
            yield Case(memory.text, aloud and seen, memory.kind.partition("/")[0])


def dates_wrong(found: Found) -> Iterator[Case]:
    """A kept right fact has a wrong day, or is valid from a wrong one."""
    said_on = {one.id: c.at.date() for c, one in found.played.diary.exchanges()}
    for exchange, fact in found.played.diary.facts().values():
        memory = found.of_fact(exchange, fact)
        if memory is None or not (memory.made and memory.made.model):
            continue
        why = _wrong_date(found, memory, fact, said_on[exchange.id])
        shown = f"{memory.statement.date} since {found.played.day(memory.valid_from)}"
        yield Case(f"{fact.id}: {fact.content} ({fact.date}, since {fact.since})", bool(why), why, shown)  # fmt: skip


def _wrong_date(found: Found, memory: Memory, fact: Fact, said_on: date) -> str:
    day = memory.statement.date
    if day and fact.date and not (fact.date.startswith(day) or day.startswith(fact.date)):
        return "day"
    if fact.date and not day:
        return "day lost"
    since, allowed = found.played.day(memory.valid_from), {said_on}
    if fact.since:
        begins = first_day(fact.since)
        allowed = {begins} if begins <= said_on else {begins, said_on}
    elif fact.date:
        allowed.add(first_day(fact.date))
    if since not in allowed and not _merged_earlier(found, memory, since):
        return "since"
    return ""


def _merged_earlier(found: Found, memory: Memory, since: date) -> bool:
    """Return whether a fact is valid since an earlier turn that said the same."""
    days = {one.id: c.at.date() for c, one in found.played.diary.exchanges()}
    return any(days[id] == since for id in found.played.cites(memory))


def changes_superseded(found: Found) -> Iterator[Case]:
    """Of a clear change, the older fact is over and the newer one is not, by the older."""
    facts = found.played.diary.facts()
    for pair in found.played.diary.changes:
        older, newer = (found.of_fact(*facts[id]) for id in (pair.older, pair.newer))
        if older and newer and older.id != newer.id:
            turned = newer.facets.get("superseded_by") == older.id
            yield Case(f"{older.text} -> {newer.text}", _over(older) and not turned)


def wrongly_merged(found: Found) -> Iterator[Case]:
    """Of two facts that both hold, one took the other's place."""
    facts = found.played.diary.facts()
    for pair in found.played.diary.apart:
        one, other = (found.of_fact(*facts[id]) for id in (pair.one, pair.other))
        if one and other:
            by = {one.facets.get("superseded_by"), other.facets.get("superseded_by")}
            merged = one.id == other.id or bool(by & {one.id, other.id})
            yield Case(f"{one.text} | {other.text}", merged)


def _over(memory: Memory) -> bool:
    return memory.retired_at is not None or memory.valid_to is not None


class Rule(Struct, frozen=True):
    """A law, and whether what it is about should happen."""

    check: Law
    wanted: bool


LAWS: dict[str, Rule] = {
    "facts kept": Rule(_kept("fact"), True),
    "entities and relations kept": Rule(_kept("entity", "relation"), True),
    "contexts kept": Rule(_kept("context"), True),
    "questions and notes kept": Rule(questions_kept, True),
    "summaries kept": Rule(summaries_kept, True),
    "blocks kept": Rule(blocks_kept, True),
    "wrong kept": Rule(wrong_kept, False),
    "shifted contexts kept": Rule(shifted_kept, False),
    "right beside wrong kept": Rule(right_beside_wrong, True),
    "orders leaked": Rule(orders_leaked, False),
    "read aloud brought up": Rule(read_aloud_brought_up, False),
    "dates wrong": Rule(dates_wrong, False),
    "changes superseded": Rule(changes_superseded, True),
    "wrongly merged": Rule(wrongly_merged, False),
}


def counts(cases: Sequence[Case]) -> dict[str, Any]:
    """Return ``n``, ``hits``, their ``share``, and the same by group."""
    groups = sorted({case.group for case in cases} - {""})
    made = _share(cases)
    if groups:
        made["by"] = {one: _share([case for case in cases if case.group == one]) for one in groups}
    return made


def _share(cases: Sequence[Case]) -> dict[str, Any]:
    hits = sum(case.hit for case in cases)
    return {"n": len(cases), "hits": hits, "share": round(hits / len(cases), 4) if cases else None}


# -------------------------------------------------------------------- questions, and what was asked of a model


def answered(played: Played) -> list[Case]:
    """Return whether each question's answer is in its block: a gold turn, and the words."""
    cases = list[Case]()
    for question, answer in zip(played.diary.questions, played.answers, strict=True):
        if question.gold:
            group = "changed" if question.changed else "lasting"
            right = cites(played, answer, question.gold) and has_words(answer.block, question)
            cases.append(Case(question.text, right, group, answer.block))
    return cases


def outdated(played: Played) -> list[Case]:
    """Return whether the block for a changed answer has the old statement without the new one."""
    return [
        Case(
            question.text,
            cites(played, answer, question.old) and not cites(played, answer, question.gold),
            shown=answer.block,
        )
        for question, answer in zip(played.diary.questions, played.answers, strict=True)
        if question.gold and question.old
    ]


def unanswerable(played: Played) -> dict[str, int]:
    """Count what is offered where nothing is known: it says so, is silent, or tells other things."""
    found = Counter(says_so=0, silent=0, unrelated=0)
    for question, answer in zip(played.diary.questions, played.answers, strict=True):
        if not question.gold:
            kind = "says_so" if answer.unknown else "silent" if not answer.block else "unrelated"
            found[kind] += 1
    return dict(found)


def cites(played: Played, answer: Answer, exchanges: Sequence[str]) -> bool:
    """Return whether a memory from one of some exchanges is offered."""
    return bool(set(map(played.exchange, answer.cited)) & set(exchanges))


def has_words(block: str, question: Question) -> bool:
    """Return whether all words of an answer are in a block, in one of their forms."""
    text = f" {fingerprint(block)} "
    return all(
        any(f" {fingerprint(form)} " in text for form in entry.split("|"))
        for entry in question.words
    )


def economy(turns: int, jobs: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Return calls and tokens by job and in all, with the tokens for each logged turn.

    Args:
        turns: That were logged.
        jobs: ``calls`` and tokens ``in`` and ``out`` by job.
    """
    fields = ("calls", "in", "out")
    whole = {field: sum(one[field] for one in jobs.values()) for field in fields}
    each = {
        name: dict(one)
        | {f"{way}_per_turn": round(one[way] / (turns or 1), 1) for way in ("in", "out")}
        for name, one in {**dict(sorted(jobs.items())), "all": whole}.items()
    }
    return {"turns": turns, "all": each.pop("all"), "jobs": each}


def spent(played: Played) -> dict[str, Counter[str]]:
    """Return calls and tokens by job."""
    jobs = defaultdict[str, Counter[str]](Counter)
    for call in played.calls:
        jobs[call.job].update({"calls": 1, "in": call.tokens_in, "out": call.tokens_out})
    return jobs
