"""Merges facts: a new one is merged into an equivalent known fact, or supersedes an older one.

``core.facts.merging`` decides by bands of cosine. Uncertain pairs are sent to an LLM, a few at a
time; without one, shared words decide.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from slowcat_memory.core.facts import merging
from slowcat_memory.core.facts.fact import fact_key, key_id, revive, supersede
from slowcat_memory.core.facts.fact_index import FactIndex, Near
from slowcat_memory.core.facts.holding import loser
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
from slowcat_memory.idle.jobs.session_log import may_see
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Memory, Task, WriteBatch
from slowcat_memory.store import Snapshot

ANSWER_TOKENS = 30  # per pair


class Merge:
    """The job; see ``idle.job.Job``. Its tasks are made by `Facts`."""

    name = MERGE
    version = VERSION
    needs: Needs = "llm if any"
    trigger = Trigger()
    Options: type[Struct] = MergeOptions

    def __init__(self) -> None:
        self._tokenize = Tokenizer("english")

    def plan(self, context: JobContext) -> Plan | None:
        """Return nothing: `Facts` writes the tasks."""
        return None

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        wanted = msgspec.json.decode(task.note, type=list[str])
        with context.snapshot() as snapshot:
            known = context.view(CurrentFacts, snapshot, task.scope, context.space).index
        state = _MergeState(known, context)
        doubts = list[Pair]()
        for id in wanted:
            state.settle(id)
            # A fact may supersede several: each match retires one of two, so this loop ends.
            while (new := state.get(id)) and _is_open(new):
                candidates = state.candidates(new)
                found = merging.match_known_facts(new, candidates, self._tokenize, context.options)
                if found.match is None:
                    doubts += found.doubts
                    break
                state.merge(*found.match)
        once = {frozenset((one.older.id, one.newer.id)): one for one in doubts}
        for pair, outcome in await self._decide(list(once.values())[:MAX_PAIRS], context):
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
        return [(pair, merging.outcome_of_verdict(pair, self._tokenize)) for pair in same]


class CurrentFacts:
    """The facts of a namespace, for all steps; see ``WorkingSet``."""

    beginnings = (f"{FACT}/",)

    def __init__(self, space: str) -> None:
        self.index, self._space = FactIndex(Tokenizer("english")), space

    def put(self, memory: Memory, snapshot: Snapshot) -> None:
        vector = None
        if self._space:
            vector = snapshot.vector(self._space, memory.scope, key_id(memory))
        self.index.put(memory, None if vector is None else vector.values)

    def drop(self, id: str) -> None:
        self.index.drop(id)


class _MergeState:
    """The facts as changed so far by this step, so that each decision sees earlier ones."""

    def __init__(self, known: FactIndex, context: JobContext) -> None:
        self._known, self._context, self._changed = known, context, dict[str, Memory]()

    def get(self, id: str) -> Memory | None:
        return self._changed.get(id) or self._known.get(id)

    def settle(self, id: str) -> None:
        """End what a new fact excludes or says to be over; or the new one, if a later one does."""
        new = self.get(id)
        for rival in self._known.rivals(new) if new else ():
            one, other = self.get(id), self.get(rival.id)
            if one is None or other is None or not (_is_open(one) and _is_open(other)):
                continue
            pair = merging.in_order(one, other)
            lost = loser(pair.newer, pair.older)
            if lost is not None:
                self._end(lost, pair.older if lost is pair.newer else pair.newer)

    def _end(self, lost: Memory, by: Memory) -> None:
        now = self._context.now
        self._changed[lost.id] = supersede(lost, by, now)
        if lost.valid_from > now:  # it never begins: what was to end for it goes on
            back = revive(self._known.ending_by(lost.id), frozenset((lost.id,)))
            self._changed |= {one.id: one for one in back}

    def candidates(self, new: Memory) -> list[Near]:
        """Return what a fact is compared with, without what this step has retired."""
        found = self._known.candidates(new, self._context.options)
        present = ((self._changed.get(one.id, one), near) for one, near in found)
        return [(one, near) for one, near in present if _is_open(one)]

    def merge(self, pair: Pair, outcome: Outcome) -> None:
        older, newer = self.get(pair.older.id), self.get(pair.newer.id)
        if older is None or newer is None or not (_is_open(older) and _is_open(newer)):
            return  # one of them has already been merged
        for one in merging.merge(Pair(older, newer), outcome, self._context.now):
            self._changed[one.id] = one

    async def batch(self) -> WriteBatch:
        """Return the changes; the key of a fact with more sources depends on all of them."""
        changed = tuple(self._changed.values())
        keys = [key for one in changed if (key := fact_key(one))]
        drop = tuple((one.scope, key_id(one)) for one in changed if one.retired_at is not None)
        batch = WriteBatch(memories=changed, keys=tuple(keys), drop_keys=drop)
        return await with_key_vectors(batch, keys, self._context)


def _is_open(fact: Memory) -> bool:
    """Return whether a fact has no end yet."""
    return fact.retired_at is None and fact.valid_to is None
