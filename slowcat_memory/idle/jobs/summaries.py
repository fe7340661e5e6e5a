"""Summaries of conversations: of a session, and of the windows of a long one.

The LLM writes the summary, or a rule while there is none or it is of no help; the LLM's summary then
replaces the rule's. A window is made from turns alone, so nothing
is summarised twice.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.blocks.block import PERSONA, current
from slowcat_memory.core.disclosure import is_withheld
from slowcat_memory.core.extraction import known as knowledge
from slowcat_memory.core.extraction.known import KNOWN_TOKENS, NOTHING_KNOWN, Known
from slowcat_memory.core.extraction.prompt_record import fenced, fitting
from slowcat_memory.core.memory import BLOCK, SESSION_SUMMARY, chunk_id
from slowcat_memory.core.summaries import by_rule, prompt
from slowcat_memory.core.summaries import summary as summaries
from slowcat_memory.core.summaries.prompt import VERSION, Purpose, Reflection
from slowcat_memory.core.summaries.summary import WINDOW, Coverage, SummaryText
from slowcat_memory.core.text.normalize import Tokenizer, estimate_tokens
from slowcat_memory.errors import BadAnswerError
from slowcat_memory.idle.job import Job, JobContext, Needs, Trigger, names_of, new_task
from slowcat_memory.idle.jobs.options import SummariesOptions
from slowcat_memory.idle.jobs.session_log import SessionJob, known_before, visible_turns
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Made, Memory, Session, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

TURN_CHARS = 800
# Around a record, with what is known; and its least size.
FRAME_TOKENS, MIN_RECORD_TOKENS = 100 + KNOWN_TOKENS, 256
TURNS_BEHIND = 600  # of its parts, the latest, that a summary of summaries is compared with


class SummaryInput(Struct, frozen=True):
    """The input of a summary.

    Attributes:
        subject: Its subject; None if no sources are left, and the summary is removed.
        turns: The LLM's input: turns, or summaries in their form.
        seen: Ids of these summaries; None for turns.
    """

    subject: Coverage | None
    turns: Sequence[Turn]
    old: Memory | None
    seen: tuple[str, ...] | None = None


class SummaryJob(Job):
    """Base of the jobs that summarise; see ``idle.job.Job``.

    Attributes:
        wording: What the LLM is asked for.
    """

    wording: Purpose
    version = VERSION
    needs: Needs = "llm or rules"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = SummariesOptions

    def read(self, snapshot: Snapshot, task: Task, context: JobContext) -> SummaryInput | None:
        """Return the input of a task; None when there is nothing to do."""
        raise NotImplementedError

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Make one summary, or remove it."""
        with context.snapshot() as snapshot:
            given = self.read(snapshot, task, context)
            if given is None:
                return WriteBatch()
            persona, only = _persona(snapshot, task.scope), _only_part(given, snapshot)
        subject, old, now = given.subject, given.old, context.now
        drop = ((task.scope, old.id),) if old else ()
        gone = WriteBatch(memories=summaries.archived(old, now), drop=drop)
        if subject is None:
            return gone
        if not summaries.is_stale(old, subject.digest, llm=context.llm is not None):
            return WriteBatch()
        text = only
        if text is None and context.llm is not None:
            text = await _text_by_llm(self.wording, task, given, persona, context)
        elif text is None:
            text = await _text_by_rule(given, context)
        if not text.text:  # nothing but orders was said
            return gone
        summary = summaries.summary(subject, text, Made(job=self.name, version=VERSION), now)
        return WriteBatch(memories=(summary, *gone.memories))


def summaries_mark(snapshot: Snapshot, context: JobContext) -> str:
    """Return what makes every summary due again when it changes."""
    return f"{VERSION}.{snapshot.forget_epoch()}.{context.llm is not None:d}"


class TurnsSummary(SummaryJob, SessionJob):
    """Base of the jobs that summarise the turns of a session.

    Attributes:
        rank: Of its tasks.
        kind: Of its summaries.
    """

    rank: int
    kind: str

    def mark(self, snapshot: Snapshot, context: JobContext) -> str:
        return summaries_mark(snapshot, context)

    def _input(self, snapshot: Snapshot, task: Task, turns: Sequence[Turn]) -> SummaryInput:
        id = f"{self.kind}/{task.key}"
        chunks = (snapshot.memory(turn.scope, chunk_id(turn.id)) for turn in turns)
        subject = Coverage(
            id=id,
            kind=self.kind,
            scope=task.scope,
            start=turns[0].at,
            until=turns[-1].at,
            sources=tuple(turn.id for turn in turns),
            digest=summaries.digest_of(VERSION, summaries.of_turns(turns)),
            turns=len(turns),
            local_only=any(memory is not None and memory.local_only for memory in chunks),
        )
        return SummaryInput(subject, turns, snapshot.memory(task.scope, id))


class SessionSummary(TurnsSummary):
    """A session that has ended, or is silent."""

    name, rank, kind = "session_summary", 45, SESSION_SUMMARY
    wording = prompt.SESSION

    def due(
        self, snapshot: Snapshot, session: Session, new: range, context: JobContext
    ) -> Iterator[Task]:
        turns = visible_turns(snapshot, session, context) if session.turns else []
        old = snapshot.memory(session.scope, f"{SESSION_SUMMARY}/{session.id}")
        if len(turns) < context.options.least_turns:
            due = old is not None and old.retired_at is None
        else:
            digest = summaries.digest_of(VERSION, summaries.of_turns(turns))
            due = summaries.is_stale(old, digest, llm=context.llm is not None)
        if due:
            yield new_task(self.name, session.scope, session.id, session.last, self.rank)

    def read(self, snapshot: Snapshot, task: Task, context: JobContext) -> SummaryInput | None:
        session = snapshot.session(task.key)
        turns = visible_turns(snapshot, session, context) if session else []
        if len(turns) < context.options.least_turns:
            old = snapshot.memory(task.scope, f"{SESSION_SUMMARY}/{task.key}")
            return SummaryInput(None, turns, old)
        return self._input(snapshot, task, turns)


class WindowSummary(TurnsSummary):
    """The windows of a long session, also of one that goes on."""

    name, rank, kind, wait = "window_summary", 47, WINDOW, False
    wording = prompt.WINDOW
    trigger = Trigger(session_end=True, every_s=300.0, turns=5)

    def due(
        self, snapshot: Snapshot, session: Session, new: range, context: JobContext
    ) -> Iterator[Task]:
        size, beginning = context.options.window_turns, f"{WINDOW}/{session.id}/"
        turns = visible_turns(snapshot, session, context, last=new.stop - 1)
        stored = {m.id: m for m in summaries.current(snapshot.memories(session.scope, beginning))}
        for at in range(0, len(turns) - size + 1, size):
            part = turns[at : at + size]
            old = stored.pop(f"{beginning}{part[0].id}", None)
            digest = summaries.digest_of(VERSION, summaries.of_turns(part))
            if summaries.is_stale(old, digest, llm=context.llm is not None):
                key, ids = f"{session.id}/{part[0].id}", [turn.id for turn in part]
                yield new_task(self.name, session.scope, key, session.last, self.rank, sources=ids)
        for id in stored:  # a turn was forgotten, and later windows begin elsewhere
            key = id.removeprefix(f"{WINDOW}/")
            yield new_task(self.name, session.scope, key, session.last, self.rank)

    def read(self, snapshot: Snapshot, task: Task, context: JobContext) -> SummaryInput | None:
        session = snapshot.session(task.key.rpartition("/")[0])
        if session is None or not task.sources:
            return SummaryInput(None, [], snapshot.memory(task.scope, f"{WINDOW}/{task.key}"))
        seen = visible_turns(snapshot, session, context, min(task.sources), max(task.sources))
        turns = [turn for turn in seen if turn.id in task.sources]
        return self._input(snapshot, task, turns) if turns else None


# ------------------------------------------------------------------- one summary


def _only_part(given: SummaryInput, snapshot: Snapshot) -> SummaryText | None:
    """Return the summary by an LLM that is the whole input: it needs no summary of its own."""
    if given.subject is None or given.seen is None or len(given.seen) != 1:
        return None
    part = snapshot.memory(given.subject.scope, given.seen[0])
    text = summaries.text_of(part) if part else None
    return text if text and text.model else None


def _persona(snapshot: Snapshot, scope: str) -> Memory | None:
    """Return the latest persona of the agent that is not local-only."""
    every = snapshot.memories(scope, f"{BLOCK}/{PERSONA}")
    return current((row for row in every if not is_withheld(row)), PERSONA)


async def _text_by_llm(
    wording: Purpose, task: Task, given: SummaryInput, persona: Memory | None, context: JobContext
) -> SummaryText:
    turns = given.turns
    known = known_before(turns, context) if given.seen is None else NOTHING_KNOWN
    system = prompt.instruction(wording, persona.text if persona else "")
    room = context.prompt_tokens - estimate_tokens(system) - FRAME_TOKENS - wording.max_tokens
    question = Prompt(
        job=task.job,
        version=VERSION,
        system=system,
        user="\n".join(
            (
                *knowledge.known_lines(known, context.zone),
                fenced(
                    turns, context.zone, fitting(turns, max(MIN_RECORD_TOKENS, room), TURN_CHARS)
                ),
            )
        ),
        made_from=names_of(
            task.scope,
            (turn.id for turn in turns) if given.seen is None else (),
            (*(given.seen or ()), persona.id if persona else "", *known.memories),
        ),
        max_tokens=wording.max_tokens,
        temperature=wording.temperature,
    )
    answer = await context.ask(question, Reflection)
    if given.seen is not None:
        known, turns = _behind(task.scope, given, context)
    text = prompt.check_reply(
        answer.value, wording, knowledge.ground_with(turns, context.zone, known)
    )
    if text is None:
        raise BadAnswerError("nothing of the summary holds")
    written = " ".join((text.text, *text.topics, *text.entities, text.relationship))
    origins = names_of(task.scope, knowledge.sources_used(written, turns, known))
    return replace(text, model=answer.model, origins=origins)


def _behind(scope: str, given: SummaryInput, context: JobContext) -> tuple[Known, Sequence[Turn]]:
    """Return what a summary of summaries may rest on: these, their turns, and who was known."""
    with context.snapshot() as snapshot:
        parts = [part for id in given.seen or () if (part := snapshot.memory(scope, id))]
        ids = sorted({id for part in parts for id in part.sources})[-TURNS_BEHIND:]
        turns = [turn for id in ids if (turn := snapshot.turn(id)) and turn.scope == scope]
    return (known_before(turns, context) if turns else NOTHING_KNOWN), (*given.turns, *turns)


async def _text_by_rule(given: SummaryInput, context: JobContext) -> SummaryText:
    summarise = by_rule.of_turns if given.seen is None else by_rule.of_summaries
    turns, rule = context.pausing(given.turns), context.options.rule
    text: SummaryText = await context.blocking(summarise, turns, context.zone, Tokenizer(), rule)
    return text
