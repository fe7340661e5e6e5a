"""Judges the answers to a diary's questions, and counts what a model was asked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.written.diary import Question
from benchmarks.written.laws import Case
from benchmarks.written.play import Answer, Played
from slowcat_memory.core.text.normalize import fingerprint


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
    cases = list[Case]()
    for question, answer in zip(played.diary.questions, played.answers, strict=True):
        if question.gold and question.old:
            new = cites(played, answer, question.gold)
            cases.append(
                Case(
                    question.text, cites(played, answer, question.old) and not new, "", answer.block
                )
            )
    return cases


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


def spent(played: Played) -> dict[str, dict[str, int]]:
    """Return calls and tokens by job."""
    jobs = dict[str, dict[str, int]]()
    for call in played.calls:
        one = jobs.setdefault(call.job, {"calls": 0, "in": 0, "out": 0})
        one["calls"] += 1
        one["in"] += call.tokens_in
        one["out"] += call.tokens_out
    return jobs
