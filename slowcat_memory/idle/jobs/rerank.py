"""The job in which an LLM judges recalled memories.

Queries recur in other words: each judgement is kept as a key of the memory, with the query's
text, and changes its score for similar queries (``core.ranking.score``).
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from slowcat_memory.core.disclosure import is_withheld
from slowcat_memory.core.memory import chunk_id, findable, turn_of
from slowcat_memory.core.query.understand import without_names
from slowcat_memory.core.ranking import grades as grading
from slowcat_memory.core.ranking.grades import MOST, VERSION, Grades
from slowcat_memory.idle.job import Job, JobContext, NoOptions, Plan, Trigger, new_task
from slowcat_memory.records import (
    Cursor,
    Key,
    LedgerEntry,
    Memory,
    Task,
    Turn,
    Vector,
    WriteBatch,
)
from slowcat_memory.store import Snapshot

JUDGED_QUERY = "asked"  # kind of the keys
KEPT = 8  # judgements of a memory; the weakest and oldest go
LOOKED_AT = 500  # turns that a plan reads at once: milliseconds
SHORT = 12  # words: "no, I meant the one we booked" is understood only with what came before
# Memories rejected for a reason unrelated to the query.
NOT_JUDGED = frozenset(("heard", "duplicate", "over", "gone"))


def judgeable(snapshot: Snapshot, scope: str, id_: str) -> Memory | None:
    """Return a memory that may be judged.

    None if it is gone, retired, never searched for, an aside, or local-only: it is not known here
    where the LLM runs.
    """
    memory = snapshot.read(scope, id_)
    if memory is None or memory.retired_at or is_withheld(memory) or not findable(memory):
        return None
    turn = snapshot.turn(turn_of(id_))
    return None if turn is not None and turn.aside else memory


def candidates(snapshot: Snapshot, entry: LedgerEntry) -> Iterator[tuple[Memory, bool]]:
    """Yield the judgeable memories ranked for a turn, and whether each was put into the prompt.

    Offered ones come first. Memories of shared namespaces are excluded: a key keeps one person's
    words.
    """
    own = [(offer.memory, True) for offer in entry.offers if offer.scope in ("", entry.scope)]
    rest = [(row.memory, False) for row in entry.left_out if row.reason not in NOT_JUDGED]
    for id_, offered in own + rest:
        memory = judgeable(snapshot, entry.scope, id_)
        if memory is not None and entry.turn not in memory.sources:
            yield memory, offered


def is_private(snapshot: Snapshot, turn: Turn) -> bool:
    """Return whether a turn's own words are hidden or local-only."""
    return judgeable(snapshot, turn.scope, chunk_id(turn.id)) is None


def before_short(snapshot: Snapshot, turn: Turn) -> Turn | None:
    """Return the turn before a short one of its session.

    None for any other turn, which is judged by its own words, and if the turn before is private.
    """
    if len(turn.text.split()) > SHORT:
        return None
    id_ = snapshot.turn_before(turn.scope, turn.session, turn.id)
    before = snapshot.turn(id_) if id_ else None
    return None if before is None or before.aside or is_private(snapshot, before) else before


def _displaced(snapshot: Snapshot, key: Key) -> Iterator[tuple[str, str]]:
    """Yield (scope, id) of a memory's judgements that exceed ``KEPT`` with a new one."""
    stored = [row for row in snapshot.keys(key.scope, key.memory) if row.kind == JUDGED_QUERY]
    every = [*(row for row in stored if row.id != key.id), key]
    weakest_first = sorted(every, key=lambda row: (abs(row.weight), max(row.sources, default=0)))
    for row in weakest_first[: max(0, len(every) - KEPT)]:
        yield row.scope, row.id


RANK = 60
NEWEST = 2000  # log entries back, judging starts in a store that was never judged


class Rerank(Job):
    """An LLM judges which of the memories ranked for a query answer it: of a question, or of a few words.

    Turns are judged in the order of the log; see ``Job``.

    A memory that was offered and does not answer is a hard negative; for one that was rejected,
    this is no new information.
    """

    name = "rerank"
    version = VERSION
    needs = "llm"
    trigger = Trigger(turns=20, session_end=True)
    Options = NoOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Plan the tasks of the turns behind the cursor."""
        scopes = frozenset(context.scopes())
        with context.snapshot() as snapshot:
            cursor = snapshot.cursor(self.name)
            after = cursor.position if cursor else max(0, snapshot.last_id() - NEWEST)
            turns = list(islice(snapshot.turns(after=after), LOOKED_AT))
            own = (turn for turn in turns if turn.scope in scopes)
            tasks = [task for turn in own if (task := self.task(snapshot, turn, context.now))]
        if not turns:
            return None
        return Plan(tasks=tuple(tasks), cursor=Cursor(name=self.name, position=turns[-1].id))

    def task(self, snapshot: Snapshot, turn: Turn, now: datetime) -> Task | None:
        """Return the task for a user's turn that is no command, if there is anything to judge."""
        short = len(turn.text.split()) <= SHORT  # no memory answers a long statement
        asks = turn.role == "user" and not turn.aside and (short or "?" in turn.text)
        entry = snapshot.ledger(turn.id) if asks else None
        if entry is None or len(entry.told) < 2:
            return None
        return new_task(self.name, turn.scope, str(turn.id), now, RANK, sources=(turn.id,))

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        with context.snapshot() as snapshot:
            turn, entry = snapshot.turn(int(task.key)), snapshot.ledger(int(task.key))
            if turn is None or entry is None or is_private(snapshot, turn):
                return WriteBatch()
            most = max(2, MOST >> task.attempts)  # fewer after an answer that cannot be used
            memories = list(islice(candidates(snapshot, entry), most))
            before = before_short(snapshot, turn)
        if len(memories) < 2:
            return WriteBatch()
        user, lines = grading.build_prompt(
            turn, before, [memory for memory, _ in memories], context.prompt_tokens
        )
        sources = (turn.id, before.id) if before else (turn.id,)
        answer = await context.ask(
            Grades,
            grading.SYSTEM,
            user,
            turn.scope,
            turns=sources,
            memories=(memory.id for memory, _ in memories),
            max_tokens=grading.ANSWER_TOKENS,
            temperature=0.0,
        )
        grades = grading.grades_of(answer.value, lines)
        weights = {
            memory.id: weight
            for n, (memory, offered) in enumerate(memories[:lines], 1)
            if n in grades and (weight := grading.judgement(grades[n], offered))
        }
        if not weights or len(set(grades.values())) < 2:  # one grade for all says nothing
            return WriteBatch()
        # The speakers' names are no part of a query's vector.
        speakers = [memory.speaker for memory, _ in memories]
        embedded = await context.embed([without_names(turn.text, speakers)])
        keys = [
            Key(
                scope=turn.scope,
                memory=id_,
                id=f"{id_}?a{turn.id}",
                kind=JUDGED_QUERY,
                text=turn.text,
                weight=weight,
                sources=sources,
                made=context.made(answer.model),
            )
            for id_, weight in weights.items()
        ]
        with context.snapshot() as snapshot:
            drop = tuple(row for key in keys for row in _displaced(snapshot, key))
        kept = tuple(key for key in keys if (key.scope, key.id) not in drop)
        vectors = tuple(
            Vector(scope=key.scope, memory=key.id, values=values)
            for values in embedded.vectors[:1]
            for key in kept
        )
        return WriteBatch(keys=kept, drop_keys=drop, vectors=vectors, embedder=context.space)
