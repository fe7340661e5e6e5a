"""Merges facts: a new one is merged into an equivalent known fact, or supersedes an older one.

``core.facts.merging`` decides by bands of cosine. Uncertain pairs are sent to an LLM, a few at a
time; without one, shared words decide.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from msgspec import Struct

from slowcat_memory.core.facts import merging
from slowcat_memory.core.facts.fact import fact_key, is_fact, key_id
from slowcat_memory.core.facts.merging import (
    MAX_PAIRS,
    SYSTEM,
    VERSION,
    MergeOptions,
    Outcome,
    Pair,
    PairsReply,
)
from slowcat_memory.core.memory import FACT
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import EndpointError, EndpointRefusedError
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.extraction.facts import MERGE, with_key_vectors
from slowcat_memory.idle.jobs.extraction.session_extractor import may_see
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Memory, Task, WriteBatch

ANSWER_TOKENS = 30  # per pair


class Merge:
    """The job; see ``idle.job.Job``. Its tasks are made by `Facts`."""

    name = MERGE
    version = VERSION
    needs: Needs = "nothing"
    trigger = Trigger()
    Options: type[Struct] = MergeOptions

    def __init__(self) -> None:
        self._tokenize = Tokenizer("english")

    def plan(self, context: JobContext) -> Plan | None:
        """Return nothing: `Facts` writes the tasks."""
        return None

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        wanted = msgspec.json.decode(task.note, type=list[str])
        facts, vectors = _read(task.scope, context)
        state = _MergeState(facts, context)
        doubts = list[Pair]()
        for id in wanted:
            # A fact may supersede several: each match retires one of two, so this loop ends.
            while (new := state.facts.get(id)) and new.retired_at is None:
                found = merging.match_known_facts(
                    new,
                    merging.comparable(new, state.facts.values()),
                    lambda one, other: _cosine(vectors, one, other),
                    self._tokenize,
                    context.options,
                )
                if found.match is None:
                    doubts += found.doubts
                    break
                state.merge(*found.match)
        for pair, outcome in await self._decide(doubts[:MAX_PAIRS], context):
            state.merge(pair, outcome)
        return await state.batch()

    async def _decide(
        self, doubts: Sequence[Pair], context: JobContext
    ) -> list[tuple[Pair, Outcome]]:
        """Let the LLM decide about the pairs that it may see, and shared words about the others."""
        shown = [pair for pair in doubts if len(may_see((pair.older, pair.newer), context)) == 2]
        answered = await self._ask(shown, context) if shown and context.llm is not None else None
        rest = doubts if answered is None else [pair for pair in doubts if pair not in shown]
        found = (
            (pair, merging.decide_by_words(pair, self._tokenize, context.options)) for pair in rest
        )
        return [*(answered or ()), *((pair, outcome) for pair, outcome in found if outcome)]

    async def _ask(
        self, doubts: Sequence[Pair], context: JobContext
    ) -> list[tuple[Pair, Outcome]] | None:
        assert context.llm is not None
        prompt = Prompt(
            job=MERGE,
            version=VERSION,
            system=SYSTEM,
            user=merging.build_prompt(doubts),
            made_from=tuple((m.scope, m.id) for pair in doubts for m in (pair.older, pair.newer)),
            max_tokens=ANSWER_TOKENS * (len(doubts) + 1),
        )
        try:
            answer = (await context.llm.complete(prompt, PairsReply)).value
        except (EndpointError, EndpointRefusedError):
            return None
        verdicts = {one.pair: one.same_fact for one in answer.pairs}
        same = [pair for n, pair in enumerate(doubts, start=1) if verdicts.get(n)]
        return [(pair, merging.outcome_of_same(pair, self._tokenize)) for pair in same]


class _MergeState:
    """The facts as changed so far by this step, so that each decision sees earlier ones."""

    def __init__(self, facts: Sequence[Memory], context: JobContext) -> None:
        self.facts = {one.id: one for one in facts}
        self._context, self._changed = context, dict[str, Memory]()

    def merge(self, pair: Pair, outcome: Outcome) -> None:
        older, newer = self.facts[pair.older.id], self.facts[pair.newer.id]
        if older.retired_at is not None or newer.retired_at is not None:
            return  # one of them has already been merged
        for one in merging.merge(Pair(older, newer), outcome, self._context.now):
            self.facts[one.id] = self._changed[one.id] = one

    async def batch(self) -> WriteBatch:
        """Return the changes; the key of a fact with more sources depends on all of them."""
        changed = tuple(self._changed.values())
        keys = [key for one in changed if (key := fact_key(one))]
        drop = tuple((one.scope, key_id(one)) for one in changed if one.retired_at is not None)
        batch = WriteBatch(memories=changed, keys=tuple(keys), drop_keys=drop)
        return await with_key_vectors(batch, keys, self._context)


def _read(scope: str, context: JobContext) -> tuple[list[Memory], dict[str, np.ndarray]]:
    with context.snapshot() as snapshot:
        every = snapshot.memories(scope, f"{FACT}/")
        facts = [one for one in every if is_fact(one) and one.retired_at is None]
        if not context.space:
            return facts, {}
        found = ((one.id, snapshot.vector(context.space, scope, key_id(one))) for one in facts)
        return facts, {id: vector.values for id, vector in found if vector is not None}


def _cosine(vectors: Mapping[str, np.ndarray], one: Memory, other: Memory) -> float | None:
    mine, theirs = vectors.get(one.id), vectors.get(other.id)
    return None if mine is None or theirs is None else float(mine @ theirs)
