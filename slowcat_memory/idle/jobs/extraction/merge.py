"""Holds new facts against the known ones: what says the same joins it, what is newer takes its place.

See ``core.same_fact`` for what decides, and ``core.merging`` for what becomes of a fact. Where the
bands leave a doubt, an LLM is asked about a few pairs at once; without one, shared words decide.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from msgspec import Struct

from slowcat_memory.core.facts import merging
from slowcat_memory.core.facts.fact import fact_key, is_fact, key_id
from slowcat_memory.core.facts.matching import MergeOptions
from slowcat_memory.core.facts.merging import MOST_PAIRS, SYSTEM, VERSION, Outcome, Pair, Sames
from slowcat_memory.core.memory.kinds import FACT
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import EndpointError, EndpointRefusedError
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.extraction.due import may_see
from slowcat_memory.idle.jobs.extraction.facts import MERGE, with_vectors
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Memory, Task, WriteBatch

ANSWER_TOKENS = 30  # for a pair


class Merge:
    """The job; see ``idle.job.Job``. What is due comes from whoever makes facts."""

    name = MERGE
    version = VERSION
    needs: Needs = "nothing"
    trigger = Trigger()
    Options: type[Struct] = MergeOptions

    def __init__(self) -> None:
        """Choose the words that are compared."""
        self._tokenize = Tokenizer("english")

    def plan(self, context: JobContext) -> Plan | None:
        """Nothing is due by itself; see ``idle.job.Job``."""
        return None

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Compare a few new facts with the known ones; see ``idle.job.Job``."""
        wanted = msgspec.json.decode(task.note, type=list[str])
        facts, vectors = _read(task.scope, context)
        made = _Made(facts, context)
        doubts = list[Pair]()
        for id in wanted:
            # It may take the place of several: each match ends one of two facts, so this ends too.
            while (new := made.facts.get(id)) and new.retired_at is None:
                weighed = merging.weigh(
                    new,
                    merging.comparable(new, made.facts.values()),
                    lambda one, other: _cosine(vectors, one, other),
                    self._tokenize,
                    context.options,
                )
                if weighed.match is None:
                    doubts += weighed.doubts
                    break
                made.take(*weighed.match)
        for pair, outcome in await self._decided(doubts[:MOST_PAIRS], context):
            made.take(pair, outcome)
        return await made.batch()

    async def _decided(
        self, doubts: Sequence[Pair], context: JobContext
    ) -> list[tuple[Pair, Outcome]]:
        """Have the LLM decide about pairs, or the words that they share."""
        told = [pair for pair in doubts if len(may_see((pair.older, pair.newer), context)) == 2]
        answered = await self._asked(told, context) if told and context.llm is not None else None
        rest = doubts if answered is None else [pair for pair in doubts if pair not in told]
        found = ((pair, merging.alone(pair, self._tokenize, context.options)) for pair in rest)
        return [*(answered or ()), *((pair, outcome) for pair, outcome in found if outcome)]

    async def _asked(
        self, doubts: Sequence[Pair], context: JobContext
    ) -> list[tuple[Pair, Outcome]] | None:
        """Ask the LLM about pairs; None when it is away, and words decide."""
        assert context.llm is not None
        prompt = Prompt(
            job=MERGE,
            version=VERSION,
            system=SYSTEM,
            user=merging.asking(doubts),
            max_tokens=ANSWER_TOKENS * (len(doubts) + 1),
        )
        try:
            answer = (await context.llm.complete(prompt, Sames)).value
        except (EndpointError, EndpointRefusedError):
            return None
        said = {one.pair: one.same_fact for one in answer.pairs}
        same = [pair for n, pair in enumerate(doubts, start=1) if said.get(n)]
        return [(pair, merging.answered(pair, self._tokenize)) for pair in same]


class _Made:
    """What has become of the facts in this step, so that each decision sees those before it."""

    def __init__(self, facts: Sequence[Memory], context: JobContext) -> None:
        self.facts = {one.id: one for one in facts}
        self._context, self._changed = context, dict[str, Memory]()

    def take(self, pair: Pair, outcome: Outcome) -> None:
        older, newer = self.facts[pair.older.id], self.facts[pair.newer.id]
        if older.retired_at is not None or newer.retired_at is not None:
            return  # one of them has found its match
        for one in merging.merged(Pair(older, newer), outcome, self._context.now):
            self.facts[one.id] = self._changed[one.id] = one

    async def batch(self) -> WriteBatch:
        """Write what has changed. A key whose fact has more sources now goes with any of them."""
        changed = tuple(self._changed.values())
        keys = [key for one in changed if (key := fact_key(one))]
        drop = tuple((one.scope, key_id(one)) for one in changed if one.retired_at is not None)
        batch = WriteBatch(memories=changed, keys=tuple(keys), drop_keys=drop)
        return await with_vectors(batch, keys, self._context)


def _read(scope: str, context: JobContext) -> tuple[list[Memory], dict[str, np.ndarray]]:
    """Read the facts that hold, and the vectors of their keys."""
    with context.snapshot() as snapshot:
        every = snapshot.memories(scope, f"{FACT}/")
        facts = [one for one in every if is_fact(one) and one.retired_at is None]
        if not context.space:
            return facts, {}
        found = ((one.id, snapshot.vector(context.space, scope, key_id(one))) for one in facts)
        return facts, {id: vector.values for id, vector in found if vector is not None}


def _cosine(vectors: dict[str, np.ndarray], one: Memory, other: Memory) -> float | None:
    mine, theirs = vectors.get(one.id), vectors.get(other.id)
    return None if mine is None or theirs is None else float(mine @ theirs)
