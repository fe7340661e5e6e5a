"""Facts from what users said, and the register of names: by an LLM, or by rules without one.

``core.facts.prompt`` has the prompt and the check of the reply, ``register`` the graph. Rules have a
cursor of their own: what they have read is read again once there is an LLM, whose facts replace
theirs.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile

from msgspec.structs import replace

from slowcat_memory.core.catalogue import Catalogue
from slowcat_memory.core.disclosure import is_withheld
from slowcat_memory.core.extraction.evidence import words_of
from slowcat_memory.core.extraction.known import KnownLine
from slowcat_memory.core.facts import prompt as fact_prompts
from slowcat_memory.core.facts.by_rule import facts_by_rule, facts_of_note
from slowcat_memory.core.facts.fact import (
    ExtractedFact,
    fact_id,
    fact_key,
    fact_memory,
    is_fact,
    key_id,
)
from slowcat_memory.core.facts.prompt import VERSION
from slowcat_memory.core.memory import FACT, NOTE, chunk_id, revive, supersede
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.idle.job import (
    JobContext,
    Plan,
    Trigger,
    new_task,
    payload_of,
)
from slowcat_memory.idle.jobs.extraction.register import derived_again, registered
from slowcat_memory.idle.jobs.extraction.session_extractor import (
    TURN_CHARS,
    Request,
    SessionExtractor,
    with_vectors,
)
from slowcat_memory.idle.jobs.options import FactsOptions
from slowcat_memory.idle.jobs.session_log import Progress, ScopeJob, may_see
from slowcat_memory.records import Made, Memory, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

NAME, MERGE = "facts", "merge"
RULES = f"{NAME}/rules"  # the cursor of what rules have read
REBUILD = "anew"  # key of the task that derives the graph again
ANSWER_TOKENS = 140  # for the facts and names of a turn
KNOWN_TOKENS = 20  # per known fact in the prompt
MERGE_RANK = 44


class Facts(SessionExtractor):
    """The job; see ``idle.job.Job``."""

    name = NAME
    version = VERSION
    needs = "llm or rules"
    Options = FactsOptions
    rank = 45

    def cursors(self, context: JobContext) -> tuple[str, ...]:
        """Rules have a position of their own; they never read again what an LLM has read."""
        return (NAME,) if context.llm else (RULES, NAME)

    def plan(self, context: JobContext) -> Plan | None:
        """Plan to derive the graph again as well, after a forget."""
        plan = super().plan(context)
        with context.snapshot() as snapshot:
            rows = [payload_of(snapshot.cursor(name), Progress) for name in (NAME, RULES)]
            known, epoch = {row.epoch for row in rows if row}, snapshot.forget_epoch()
        if plan is None or not known or epoch in known:
            return plan
        again = (
            new_task(NAME, scope, REBUILD, context.now, self.rank)
            for scope in sorted(set(context.scopes()))
        )
        return replace(plan, tasks=(*plan.tasks, *again))

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        if task.key == REBUILD:
            return derived_again(context, task.scope)
        return await super().step(task, context)

    def prompt_overhead(self, context: JobContext) -> int:
        options = context.options
        return estimate_tokens(fact_prompts.system(options.types)) + KNOWN_TOKENS * options.known

    async def read_by_llm(self, request: Request, context: JobContext) -> WriteBatch:
        """Extract facts by the LLM; they replace those found by rules in these turns."""
        due, seen = request.due, request.seen
        with context.snapshot() as snapshot:
            rows = context.view(Catalogue, snapshot, seen[0].scope, words_of)
            of_turns = rows.having(*(("turn", chunk_id(id)) for id in due))
            ruled = [fact for fact in _read(snapshot, of_turns) if _is_by_rule(fact, due)]
            nearest = _nearest(snapshot, rows, due, {fact.id for fact in ruled}, context)
        known = request.known.with_facts(_lines(nearest, context))
        types = context.options.types
        answer = await context.ask(
            fact_prompts.FactsReply,
            fact_prompts.system(types),
            fact_prompts.build_prompt(seen, due, known, context.zone, TURN_CHARS),
            seen[0].scope,
            turns=(turn.id for turn in seen),
            memories=known.memories,
            max_tokens=ANSWER_TOKENS * (len(due) + 2),
        )
        reply = fact_prompts.check_reply(answer.value, due, seen, context.zone, known, types)
        if not answer.value.facts and _facts_by_rule(due, context):  # weak models overlook them
            return await self.read_by_rule(request, context)
        made = context.made(answer.model)
        kept, graph = await registered(due, reply.kept, reply.named, made, context)
        new = _standing_in(_memories(kept, made, context), ruled)
        batch = await _batch(new, _replaced(ruled, new, context), graph, context)
        if answer.whole:
            return batch
        rest = self.rest_of(request, {fact.turn for fact in answer.value.facts})
        return replace(batch, tasks=(*batch.tasks, *rest))

    async def read_by_rule(self, request: Request, context: JobContext) -> WriteBatch:
        """Read turns that no LLM has read."""
        due, made = request.due, context.made()
        facts, graph = await registered(due, _facts_by_rule(due, context), None, made, context)
        return await _batch(_memories(facts, made, context), [], graph, context)


def _facts_by_rule(due: Mapping[int, Turn], context: JobContext) -> list[ExtractedFact]:
    turns, read = context.pausing(due.values()), facts_by_rule
    return [fact for turn in turns for fact in read(turn, context.zone)]


def _read(snapshot: Snapshot, rows: Iterable[Memory]) -> Iterator[Memory]:
    """Yield the facts of some rows of a catalogue, with their texts."""
    facts = (snapshot.memory(row.scope, row.id) for row in rows if is_fact(row))
    return (fact for fact in facts if fact is not None)


def _is_by_rule(fact: Memory, due: Container[int]) -> bool:
    ours = fact.made is not None and fact.made.job == NAME and not fact.made.model
    return ours and fact.retired_at is None and bool(fact.sources) and fact.sources[0] in due


def _nearest(
    snapshot: Snapshot,
    rows: Catalogue,
    due: Mapping[int, Turn],
    but: Container[str],
    context: JobContext,
) -> list[Memory]:
    """Return the facts said before some turns that share most words with them."""
    first = min(due)
    words = set[str]().union(*(words_of(f"{t.speaker} {t.text}") for t in due.values()))
    ranked = rows.ranked((FACT,), dict.fromkeys(words, 1.0), {})
    sharing = [row for row, shared, _ in takewhile(lambda entry: entry[1] > 0, ranked)]
    shown = (
        row
        for row in may_see(sharing, context)
        if row.retired_at is None and min(row.sources, default=0) < first and row.id not in but
    )
    return list(islice(_read(snapshot, shown), context.options.known))


def _lines(facts: Iterable[Memory], context: JobContext) -> list[KnownLine]:
    """Return facts as lines of a prompt, with the day on which they were said."""
    with context.snapshot() as snapshot:
        rows = [(fact, snapshot.turn(fact.sources[0]) if fact.sources else None) for fact in facts]
    return [
        KnownLine(fact.text, "", turn.at if turn else fact.valid_from, fact.id, fact.sources)
        for fact, turn in rows
    ]


def _memories(facts: Iterable[ExtractedFact], made: Made, context: JobContext) -> list[Memory]:
    """Return the new facts, or an LLM's after a rule's."""
    with context.snapshot() as snapshot:
        new = dict[str, Memory]()
        for fact in facts:
            memory = fact_memory(fact, context.now, made)
            changes = fact.over or fact.ends or fact.corrects
            if memory.importance < context.options.least_importance and not changes:
                continue
            known = snapshot.memory(memory.scope, memory.id)
            if known is None:
                new[memory.id] = memory
            elif made.model and known.made and not known.made.model:
                new[memory.id] = replace(memory, recorded_at=known.recorded_at, pinned=known.pinned)
    return list(new.values())


def _standing_in(new: Sequence[Memory], ruled: Sequence[Memory]) -> list[Memory]:
    """Return an LLM's facts as made from those of the rules that a person marked."""
    marked = [fact for fact in ruled if is_withheld(fact)]
    return [
        replace(fact, derived_from=(*fact.derived_from, *origins))
        if (origins := [(m.scope, m.id) for m in marked if m.sources[0] in fact.sources])
        else fact
        for fact in new
    ]


def _replaced(ruled: Sequence[Memory], new: Sequence[Memory], context: JobContext) -> list[Memory]:
    """Retire the rules' facts of turns where the LLM has facts; undo what they superseded."""
    written = {fact.id for fact in new}
    by_turn = {fact.sources[0]: fact for fact in new if is_fact(fact)}
    gone = {
        fact.id: supersede(fact, by_turn[fact.sources[0]], context.now, same=True)
        for fact in ruled
        if fact.id not in written and fact.sources[0] in by_turn
    }
    back = list[Memory]()
    if gone:
        with context.snapshot() as snapshot:
            rows = context.view(Catalogue, snapshot, ruled[0].scope, words_of)
            back = revive(
                _read(snapshot, rows.having(*(("by", id) for id in gone))), frozenset(gone)
            )
    return [*gone.values(), *(fact for fact in back if fact.id not in written)]


async def _batch(
    new: Sequence[Memory], changed: Sequence[Memory], graph: WriteBatch, context: JobContext
) -> WriteBatch:
    """Return facts, the register's changes, and the task that merges the facts."""
    batch = await fact_batch(new, changed, context)
    to_merge = [fact for fact in batch.memories if fact.retired_at is None and is_fact(fact)]
    return replace(
        batch,
        memories=(*batch.memories, *graph.memories),
        drop=graph.drop,
        tasks=(merge_task(to_merge, context),) if to_merge else (),
    )


async def fact_batch(
    new: Sequence[Memory], changed: Sequence[Memory], context: JobContext
) -> WriteBatch:
    """Return facts with their keys; that of a changed fact goes that may have none any more."""
    written = (*new, *changed)
    keys = {key.id: key for fact in written if (key := fact_key(fact))}
    gone = ((fact.scope, id) for fact in changed if (id := key_id(fact)) not in keys)
    batch = WriteBatch(memories=written, keys=tuple(keys.values()), drop_keys=tuple(gone))
    return await with_vectors(batch, context)


def merge_task(facts: Sequence[Memory], context: JobContext, mark: str = "") -> Task:
    """Return the task that compares facts (at least one) of one scope with the known ones.

    Args:
        mark: Of a pair of theirs that did not fit into a prompt; "" for new facts.
    """
    scope, ids = facts[0].scope, [fact.id for fact in facts]
    key = f"{ids[0].partition('/')[2]}+{mark or len(ids)}"
    sources = tuple(sorted({source for fact in facts for source in fact.sources}))
    return new_task(MERGE, scope, key, context.now, MERGE_RANK, note=ids, sources=sources)


class NoteFacts(ScopeJob):
    """Facts of notes: what a user asked to keep, or another program wrote down, read by rule.

    Notes are in no session, so `Facts` does not meet them. A fact of a note names the note as its
    origin: forgetting the note deletes it, and recall finds the note, not the fact.
    """

    name, version, rank, writes = "note_facts", 1, 46, f"{FACT}/"
    trigger = Trigger(session_end=True, every_s=300.0)

    def mark(self, snapshot: Snapshot, context: JobContext) -> str:
        return str(self.version)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Write the facts of current notes that are not there yet; retire those of former notes."""
        with context.snapshot() as snapshot:
            notes = list(snapshot.memories(task.scope, f"{NOTE}/"))
            facts = snapshot.memories(task.scope, f"{FACT}/") if notes else ()
            known = {fact.id: fact for fact in facts}
        current = [note for note in notes if note.retired_at is None]
        new = {fact.id: fact for fact in _of_notes(current, context) if fact.id not in known}
        gone = {(note.scope, note.id) for note in notes if note.retired_at is not None}
        retired = [
            replace(fact, retired_at=context.now)
            for fact in known.values()
            if fact.retired_at is None
            and not gone.isdisjoint(fact.derived_from)
            and (fact.made is not None and fact.made.job == self.name)
        ]
        rows = list(new.values())
        return WriteBatch(
            memories=(*rows, *retired), tasks=(merge_task(rows, context),) if rows else ()
        )


def _of_notes(notes: Iterable[Memory], context: JobContext) -> Iterator[Memory]:
    made = context.made()
    for note in context.pausing(notes):
        for drawn in facts_of_note(note, context.zone):
            fact = fact_memory(drawn, context.now, made)
            id = fact_id(note.scope, f"{note.id} {fact.text}", 0)
            yield replace(fact, id=id, derived_from=((note.scope, note.id),))
