"""Merges facts: a new one is merged into an equivalent known fact, or supersedes an older one.

``core.facts.merging`` decides by bands of cosine. Uncertain pairs are sent to an LLM, a few at a
time; without one, shared words decide.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.options import MergeOptions
from slowcat_memory.core.facts import matter, merging
from slowcat_memory.core.facts.fact import key_id
from slowcat_memory.core.facts.fact_index import FactIndex, Near
from slowcat_memory.core.facts.holding import loser
from slowcat_memory.core.facts.merging import MAX_PAIRS, VERSION, Outcome, Pair, PairsReply
from slowcat_memory.core.memory import FACT, revive, supersede
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.idle.job import Job, JobContext, Trigger
from slowcat_memory.idle.jobs.extraction.facts import MERGE, fact_batch, merge_task
from slowcat_memory.idle.jobs.session_log import may_see
from slowcat_memory.records import Memory, Task, WriteBatch
from slowcat_memory.store import Snapshot

ANSWER_TOKENS = 60  # per pair
ASKED = "asked"  # facet: marks of the pairs that an LLM decided about
MOST_ASKED = 40  # of a fact, the latest


class _Decision(Struct, frozen=True):
    """What two facts become; None: both stay. ``text``, an LLM's, joins them if it may."""

    pair: Pair
    outcome: Outcome | None
    text: str = ""
    model: str = ""


class Merge(Job):
    """The job; see ``idle.job.Job``. Its tasks are made by `Facts`."""

    name = MERGE
    version = VERSION
    needs = "llm if any"
    trigger = Trigger()
    Options = MergeOptions

    def __init__(self) -> None:
        self._tokenize = Tokenizer("english").for_queries()  # jobs outlive a person

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
                hits = merging.match_known_facts(new, candidates, self._tokenize, context.options)
                if hits.match is None:
                    doubts += (pair for pair in hits.doubts if not _was_asked(pair))
                    break
                state.merge(*hits.match)
        once = list({pair.mark: pair for pair in doubts}.values())  # each once by its texts
        most = MAX_PAIRS if context.llm else len(once)
        due, rest = once[:most], once[most:]
        answered = await self._ask(due, context)
        done = [decided.pair for decided in answered]  # the others it may not see, or left out
        by_words = [
            _Decision(pair, merging.decide_by_words(pair, self._tokenize, context.options))
            for pair in due
            if pair not in done
        ]
        for decided in (*answered, *by_words):
            if not state.join(decided, self._tokenize) and decided.outcome is not None:
                state.merge(decided.pair, decided.outcome)
        state.mark_as_asked(done)
        batch = await state.batch()
        if not rest:
            return batch
        facts = {fact.id: fact for pair in rest for fact in (pair.newer, pair.older)}
        return replace(batch, tasks=(merge_task([*facts.values()], context, rest[0].mark),))

    async def _ask(self, every: Sequence[Pair], context: JobContext) -> list[_Decision]:
        """Ask the LLM about the pairs that it may see; without an LLM none is answered."""
        doubts = [pair for pair in every if len(may_see((pair.older, pair.newer), context)) == 2]
        if not doubts or context.llm is None:
            return []
        answer = await context.ask(
            PairsReply,
            merging.SYSTEM,
            merging.build_prompt(doubts),
            doubts[0].newer.scope,
            memories=(fact.id for pair in doubts for fact in (pair.older, pair.newer)),
            max_tokens=ANSWER_TOKENS * (len(doubts) + 1),
        )
        verdicts = {verdict.pair: verdict for verdict in answer.value.pairs}
        complete = answer.whole and not answer.lost  # then a pair that it leaves out is two facts
        decided = list[_Decision]()
        for number, pair in enumerate(doubts, start=1):
            verdict = verdicts.get(number)
            if verdict is not None and verdict.same_fact:
                text = verdict.text or ""
                outcome = merging.outcome_of_verdict(pair, text, self._tokenize)
                decided.append(_Decision(pair, outcome, text, answer.model))
            elif verdict is not None or complete:
                decided.append(_Decision(pair, None))
        return decided


def _was_asked(pair: Pair) -> bool:
    """Return whether an LLM has decided about two facts already."""
    return pair.mark in pair.newer.facets.get(ASKED, "").split()


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
            row, other = self.get(id), self.get(rival.id)
            if row is None or other is None or not (_is_open(row) and _is_open(other)):
                continue
            pair = merging.in_order(row, other, one_subject=self._known.of_one_subject(row, other))
            lost = loser(pair.newer, pair.older, one_subject=pair.one_subject)
            if lost is not None:
                self._end(lost, pair.older if lost is pair.newer else pair.newer)

    def _end(self, lost: Memory, by: Memory) -> None:
        now = self._context.now
        self._changed[lost.id] = supersede(lost, by, now)
        if lost.valid_from > now:  # it never begins: what was to end for it goes on
            back = revive(self._known.ending_by(lost.id), frozenset((lost.id,)))
            self._changed |= {fact.id: fact for fact in back}

    def candidates(self, new: Memory) -> list[Near]:
        """Return what a fact is compared with, without what this step has retired."""
        pairs = self._known.candidates(new, self._context.options)
        present = ((self._changed.get(fact.id, fact), near) for fact, near in pairs)
        return [(fact, near) for fact, near in present if _is_open(fact)]

    def merge(self, pair: Pair, outcome: Outcome) -> None:
        if (both := self._both_open(pair)) is not None:
            for fact in merging.merge(both, outcome, self._context.now):
                self._changed[fact.id] = fact

    def mark_as_asked(self, pairs: Iterable[Pair]) -> None:
        """Keep with the newer fact of each pair that the LLM need not decide about it again."""
        for pair in pairs if self._context.llm is not None else ():
            now = self.get(pair.newer.id)
            if now is None or now.retired_at is not None:
                continue
            asked = [mark for mark in now.facets.get(ASKED, "").split() if mark != pair.mark]
            facets = now.facets | {ASKED: " ".join((*asked, pair.mark)[-MOST_ASKED:])}
            self._changed[now.id] = replace(now, facets=facets)

    def join(self, decided: _Decision, tokenize: Tokenizer) -> bool:
        """Replace two facts by one with the text that an LLM wrote; return whether it may be."""
        both = self._both_open(decided.pair) if decided.text else None
        if both is None:
            return False
        now, made = self._context.now, self._context.made(decided.model)
        changed = matter.join(both.older, both.newer, decided.text, now, made, tokenize)
        self._changed |= {fact.id: fact for fact in changed}
        return bool(changed)

    def _both_open(self, pair: Pair) -> Pair | None:
        """Return two facts as they are now; None if one of them has already been merged."""
        older, newer = self.get(pair.older.id), self.get(pair.newer.id)
        if older is None or newer is None or not (_is_open(older) and _is_open(newer)):
            return None
        return Pair(older, newer)

    async def batch(self) -> WriteBatch:
        """Return the changes; the key of a fact with more sources depends on all of them."""
        return await fact_batch([], tuple(self._changed.values()), self._context)


def _is_open(fact: Memory) -> bool:
    """Return whether a fact has no end yet."""
    return fact.retired_at is None and fact.valid_to is None
