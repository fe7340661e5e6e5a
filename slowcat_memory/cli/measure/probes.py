"""The prompts that a model is measured with: those of our jobs, about made-up conversations.

Each is built by the job's own function and judged by the job's own checks, so that a model is
measured on today's wording and by today's rules.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC
from typing import Any

from msgspec import Struct

from slowcat_memory.cli.measure.talks import (
    BEFORE,
    Found,
    Sample,
    Talk,
    question,
    sample,
    statement,
)
from slowcat_memory.core.extraction import descriptions
from slowcat_memory.core.extraction.grounding import ground, sentences
from slowcat_memory.core.extraction.known import NOTHING_KNOWN
from slowcat_memory.core.extraction.prompt_record import fenced
from slowcat_memory.core.facts import merging
from slowcat_memory.core.facts import prompt as facts
from slowcat_memory.core.graph import prompt as graph
from slowcat_memory.core.ranking import grades
from slowcat_memory.core.summaries import prompt as summaries
from slowcat_memory.errors import BadAnswerError
from slowcat_memory.providers import Prompt

TURN_CHARS = 600  # of a turn in a prompt
TOKENS_PER_TURN = 110  # of an answer
PROMPT_LIMIT = 4000  # tokens of a prompt of memories to grade
ZONE = UTC


class Judged(Struct, frozen=True):
    """What the checks say of one answer.

    Attributes:
        items: How many statements it has.
        kept: How many of them pass the checks: they were said, and hold what they quote.
        wanted: How many things a good answer has.
        found: How many of these it has.
    """

    items: int
    kept: int
    wanted: int
    found: int


class Probe(Struct, frozen=True):
    """One prompt, the type of its answer, and what judges it."""

    prompt: Prompt
    into: type[Struct]
    judge: Callable[[Any], Judged]

    @property
    def job(self) -> str:
        return self.prompt.job


def probes(of: Sample, *, quick: bool = False) -> list[Probe]:
    """Return all probes; with ``quick`` those of the first conversation and question."""
    talks = of.talk[:1] if quick else of.talk
    found = of.found[:1] if quick else of.found
    made = [make(talk) for make in (_facts, _entities, _descriptions, _summary) for talk in talks]
    return [*made, _pairs(of), *map(_grades, found)]


def _facts(talk: Talk) -> Probe:
    seen = talk.said()
    due = {turn.id: turn for turn in seen if turn.role == "user"}

    def judge(answer: facts.FactsReply) -> Judged:
        kept = [
            one for one in facts.check_reply(answer, due, seen, ZONE).kept if not one.why
        ]  # what looks like an order is quarantined
        found = _having((one.content for one in kept), talk.facts)
        return Judged(len(answer.facts), len(kept), len(talk.facts), found)

    user = facts.build_prompt(seen, due, NOTHING_KNOWN, ZONE, TURN_CHARS)
    return Probe(_prompt("facts", facts.SYSTEM, user, len(due)), facts.FactsReply, judge)


def _entities(talk: Talk) -> Probe:
    seen = talk.said()
    due = {turn.id: turn for turn in seen if turn.role == "user"}

    def judge(answer: graph.RegisterReply) -> Judged:
        read = graph.check_reply(answer, due, seen, ZONE).values()
        stated = sum(len(one.statements) for one in read)
        kept = min(stated, len(answer.relations))  # some follow by rule
        names = [name.name for one in read for name in one.mentions]
        found = _having(names, [[name] for name in talk.names])
        return Judged(len(answer.relations), kept, len(talk.names), found)

    user = graph.build_prompt(seen, due, ZONE, TURN_CHARS, NOTHING_KNOWN)
    return Probe(_prompt("entities", graph.system(), user, len(due)), graph.RegisterReply, judge)


def _descriptions(talk: Talk) -> Probe:
    seen = talk.said()
    due = {turn.id: turn for turn in seen}
    grounding = ground(seen, ZONE)

    def judge(answer: descriptions.DescriptionsReply) -> Judged:
        checked = descriptions.check_reply(answer, due, grounding, seen=seen)
        texts = (len(sentences(one.context)) + len(one.questions) for one in answer.turns)
        items = sum(texts)
        return Judged(items, max(0, items - checked.dropped), len(due), len(checked.found))

    user = descriptions.build_prompt(seen, due, ZONE, TURN_CHARS)
    prompt = _prompt("contextualize", descriptions.SYSTEM, user, len(due))
    return Probe(prompt, descriptions.DescriptionsReply, judge)


def _summary(talk: Talk) -> Probe:
    seen = talk.said()
    grounding = ground(seen, ZONE)

    def judge(answer: summaries.Reflection) -> Judged:
        made = summaries.check_reply(answer, summaries.SESSION, grounding)
        items = len(sentences(answer.summary)) + len(answer.topics) + len(answer.entities)
        wanted = [[word] for word in talk.gist]
        if made is None:
            return Judged(items, 0, len(wanted), 0)
        kept = len(sentences(made.text)) + len(made.topics) + len(made.entities)
        found = _having([" ".join((made.text, *made.topics))], wanted)
        return Judged(items, min(kept, items), len(wanted), found)

    user, system = fenced(seen, ZONE, TURN_CHARS), summaries.instruction(summaries.SESSION)
    prompt = _prompt("session_summary", system, user, 0, summaries.SESSION.max_tokens)
    return Probe(prompt, summaries.Reflection, judge)


def _pairs(of: Sample) -> Probe:
    at = of.talk[0].at
    pairs = [
        merging.Pair(
            statement(f"{number}a", one.older, at - BEFORE), statement(f"{number}b", one.newer, at)
        )
        for number, one in enumerate(of.pair)
    ]

    def judge(answer: merging.PairsReply) -> Judged:
        said = {one.pair: one.same_fact for one in answer.pairs}
        right = sum(said.get(number) == one.same for number, one in enumerate(of.pair, 1))
        return Judged(len(of.pair), right, len(of.pair), right)

    prompt = _prompt("merge", merging.SYSTEM, merging.build_prompt(pairs), len(pairs))
    return Probe(prompt, merging.PairsReply, judge)


def _grades(found: Found) -> Probe:
    at = sample().talk[0].at
    memories = [
        statement(str(number), line, at - BEFORE) for number, line in enumerate(found.lines)
    ]
    user, lines = grades.build_prompt(question(found, at), None, memories, PROMPT_LIMIT)

    def judge(answer: grades.Grades) -> Judged:
        try:
            said = grades.grades_of(answer, lines)
        except BadAnswerError:
            said = {}
        right = [
            line
            for line in range(1, lines + 1)
            if line in said and (said[line] == 2) == (line in found.answers)
        ]
        return Judged(lines, len(right), lines, len(right))

    prompt = _prompt("rerank", grades.SYSTEM, user, 0, grades.ANSWER_TOKENS)
    return Probe(prompt, grades.Grades, judge)


def _prompt(job: str, system: str, user: str, items: int, max_tokens: int = 0) -> Prompt:
    tokens = max_tokens or TOKENS_PER_TURN * (items + 2)
    return Prompt(job=job, version=0, system=system, user=user, max_tokens=tokens, made_from=())


def _having(texts: Iterable[str], wanted: Sequence[Sequence[str]]) -> int:
    """Return how many groups of words occur together in one of the texts."""
    folded = [text.casefold() for text in texts]
    return sum(any(all(word in text for word in group) for text in folded) for group in wanted)
