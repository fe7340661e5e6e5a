"""Judges the answers to a diary's questions, and counts what a model was asked."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from benchmarks.written.diary import Question
from benchmarks.written.laws import Case
from benchmarks.written.play import Answer, Played
from slowcat_memory.core.text.normalize import estimate_tokens, fingerprint


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


def block_tokens(played: Played) -> dict[str, float]:
    """Return the mean and the most tokens of the blocks."""
    sizes = [estimate_tokens(answer.block) for answer in played.answers]
    if not sizes:
        return {}
    return {"mean": round(sum(sizes) / len(sizes), 1), "most": max(sizes)}


def economy(played: Played) -> dict[str, Any]:
    """Return calls and tokens by job, and tokens in and out for each logged turn."""
    turns = len(played.turns) or 1
    jobs = dict[str, dict[str, Any]]()
    for call in played.calls:
        one = jobs.setdefault(call.job, {"calls": 0, "in": 0, "out": 0})
        one["calls"] += 1
        one["in"] += call.tokens_in
        one["out"] += call.tokens_out
    for one in jobs.values():
        one |= {"in_per_turn": round(one["in"] / turns, 1), "out_per_turn": round(one["out"] / turns, 1)}  # fmt: skip
    total = {
        "calls": len(played.calls),
        "in_per_turn": round(sum(call.tokens_in for call in played.calls) / turns, 1),
        "out_per_turn": round(sum(call.tokens_out for call in played.calls) / turns, 1),
    }
    return {"turns": len(played.turns), "jobs": dict(sorted(jobs.items())), "all": total}
