"""Summaries of conversations: of a session, and of the windows of a long one.

The LLM writes the summary, or a rule while there is none or it is of no help; the LLM's summary then
replaces the rule's. A window is made from turns alone, so nothing
is summarised twice.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.blocks.block import PERSONA, current
from slowcat_memory.core.disclosure import is_withheld
from slowcat_memory.core.extraction import known as knowledge
from slowcat_memory.core.extraction.known import KNOWN_TOKENS, NOTHING_KNOWN, Known
from slowcat_memory.core.extraction.prompt_record import fenced, fitting
from slowcat_memory.core.memory import BLOCK, SESSION_SUMMARY
from slowcat_memory.core.summaries import by_rule, prompt
from slowcat_memory.core.summaries import summary as summaries
from slowcat_memory.core.summaries.prompt import VERSION, Purpose, Reflection
from slowcat_memory.core.summaries.summary import WINDOW, Coverage, SummaryText
from slowcat_memory.core.text.normalize import Tokenizer, estimate_tokens
from slowcat_memory.errors import BadAnswerError
from slowcat_memory.idle.job import Job, JobContext, Needs, Trigger, names_of, new_task
from slowcat_memory.idle.jobs.options import SummariesOptions
from slowcat_memory.idle.jobs.session_log import SessionJob, known_before, visible_turns
from slowcat_memory.records import Memory, Session, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

TURN_CHARS = 800
# Around a record, with what is known; and its least size.
FRAME_TOKENS, MIN_RECORD_TOKENS = 100 + KNOWN_TOKENS, 256
TURNS_BEHIND = 600  # of its parts, the latest, that a summary of summaries is compared with


# What a summary covers, None if it goes; and its turns, or the summaries that it joins as turns.
Content = tuple[Coverage | None, Sequence[Turn]]


class SummaryJob(Job):
    """Base of the jobs that summarise; see ``idle.job.Job``.

    Attributes:
        wording: What the LLM is asked for.
        beginning: Of the ids of its summaries; a task's key is the rest.
    """

    wording: Purpose
    beginning: str
    version = VERSION
    needs: Needs = "llm or rules"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = SummariesOptions

    def mark(self, snapshot: Snapshot, context: JobContext) -> str:
        """Return what makes every summary due again when it changes."""
        return f"{VERSION}.{snapshot.forget_epoch()}.{context.llm is not None:d}"

    def read(self, snapshot: Snapshot, task: Task, context: JobContext) -> Content:
        """Return the content of a task's summary; without coverage where no sources are left."""
        raise NotImplementedError

    def changed(
        self, stored: Iterable[Memory], digests: Mapping[str, str], context: JobContext
    ) -> Iterator[str]:
        """Yield the keys of summaries that are missing, out of date, or no longer wanted.

        Args:
            stored: The current summaries.
            digests: Of what the wanted ones are made from, by key; "" where that goes on.
        """
        known = {memory.id.removeprefix(f"{self.beginning}/"): memory for memory in stored}
        yield from (key for key in known if key not in digests)
        for key, digest in digests.items():
            if digest and summaries.is_stale(known.get(key), digest, llm=context.llm is not None):
                yield key

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Make one summary, or remove it."""
        with context.snapshot() as snapshot:
            old = snapshot.memory(task.scope, f"{self.beginning}/{task.key}")
            subject, turns = self.read(snapshot, task, context)
            blocks = snapshot.memories(task.scope, f"{BLOCK}/{PERSONA}")
            persona = current((row for row in blocks if not is_withheld(row)), PERSONA)
            text = _only_part(subject, snapshot) if subject else None
        now, llm = context.now, context.llm is not None
        drop = ((task.scope, old.id),) if old else ()
        gone = WriteBatch(memories=summaries.archived(old, now), drop=drop)
        if subject is None:
            return gone
        if not summaries.is_stale(old, subject.digest, llm=llm):
            return WriteBatch()
        if text is None and llm:
            text = await _text_by_llm(self.wording, subject, turns, persona, context)
        elif text is None:
            summarise = by_rule.of_summaries if subject.covers else by_rule.of_turns
            lines, rule = context.pausing(turns), context.options.rule
            text = await context.blocking(summarise, lines, context.zone, Tokenizer(), rule)
        if not text.text:  # nothing but orders was said
            return gone
        summary = summaries.summary(subject, text, context.made(), now)
        return WriteBatch(memories=(summary, *gone.memories))


class TurnsSummary(SummaryJob, SessionJob):
    """Base of the jobs that summarise the turns of a session."""

    def turns(self, snapshot: Snapshot, task: Task, context: JobContext) -> Sequence[Turn]:
        """Return the turns of a task's summary; none where it is not wanted any more."""
        raise NotImplementedError

    def read(self, snapshot: Snapshot, task: Task, context: JobContext) -> Content:
        turns = self.turns(snapshot, task, context)
        if not turns:
            return None, ()
        subject = Coverage(
            id=f"{self.beginning}/{task.key}",
            kind=self.beginning,
            scope=task.scope,
            start=turns[0].at,
            until=turns[-1].at,
            sources=tuple(turn.id for turn in turns),
            digest=_digest(turns),
            turns=len(turns),
        )
        return subject, turns


def _digest(turns: Iterable[Turn]) -> str:
    return summaries.digest_of(VERSION, summaries.of_turns(turns))


class SessionSummary(TurnsSummary):
    """A session that has ended, or is silent."""

    name, rank, beginning = "session_summary", 45, SESSION_SUMMARY
    wording = prompt.SESSION

    def due(
        self, snapshot: Snapshot, session: Session, new: range, context: JobContext
    ) -> Iterator[Task]:
        task = new_task(self.name, session.scope, session.id, session.last, self.rank)
        turns = self.turns(snapshot, task, context)
        old = snapshot.memory(session.scope, f"{SESSION_SUMMARY}/{session.id}")
        stored = [old] if old is not None and old.retired_at is None else []
        digests = {session.id: _digest(turns)} if turns else {}
        return (task for _ in self.changed(stored, digests, context))

    def turns(self, snapshot: Snapshot, task: Task, context: JobContext) -> Sequence[Turn]:
        session = snapshot.session(task.key)
        turns = visible_turns(snapshot, session, context) if session and session.turns else []
        return turns if len(turns) >= context.options.least_turns else []


class WindowSummary(TurnsSummary):
    """The windows of a long session, also of one that goes on."""

    name, rank, beginning, wait = "window_summary", 47, WINDOW, False
    wording = prompt.WINDOW
    trigger = Trigger(session_end=True, every_s=300.0, turns=5)

    def due(
        self, snapshot: Snapshot, session: Session, new: range, context: JobContext
    ) -> Iterator[Task]:
        size, scope = context.options.window_turns, session.scope
        turns = visible_turns(snapshot, session, context, last=new.stop - 1)
        whole = (turns[at : at + size] for at in range(0, len(turns) - size + 1, size))
        windows = {f"{session.id}/{window[0].id}": window for window in whole}
        stored = summaries.current(snapshot.memories(scope, f"{WINDOW}/{session.id}/"))
        digests = {key: _digest(window) for key, window in windows.items()}
        for key in self.changed(stored, digests, context):
            # None where a turn was forgotten, and later windows begin elsewhere.
            ids = [turn.id for turn in windows.get(key, ())]
            yield new_task(self.name, scope, key, session.last, self.rank, sources=ids)

    def turns(self, snapshot: Snapshot, task: Task, context: JobContext) -> Sequence[Turn]:
        session, ids = snapshot.session(task.key.rpartition("/")[0]), task.sources
        if session is None or not ids:
            return []
        seen = visible_turns(snapshot, session, context, min(ids), max(ids))
        return [turn for turn in seen if turn.id in ids]


# ------------------------------------------------------------------- one summary


def _only_part(subject: Coverage, snapshot: Snapshot) -> SummaryText | None:
    """Return the summary by an LLM that is the whole input: it needs no summary of its own."""
    if len(subject.covers) != 1:
        return None
    part = snapshot.memory(subject.scope, subject.covers[0])
    text = summaries.text_of(part) if part else None
    return text if text and text.model else None


async def _text_by_llm(
    wording: Purpose,
    subject: Coverage,
    turns: Sequence[Turn],
    persona: Memory | None,
    context: JobContext,
) -> SummaryText:
    parts = subject.covers
    known = NOTHING_KNOWN if parts else known_before(turns, context)
    system = prompt.instruction(wording, persona.text if persona else "")
    room = context.prompt_tokens - estimate_tokens(system) - FRAME_TOKENS - wording.max_tokens
    chars = fitting(turns, max(MIN_RECORD_TOKENS, room), TURN_CHARS)
    record = fenced(turns, context.zone, chars)
    answer = await context.ask(
        Reflection,
        system,
        "\n".join((*knowledge.known_lines(known, context.zone), record)),
        subject.scope,
        turns=() if parts else subject.sources,
        memories=(*parts, persona.id if persona else "", *known.memories),
        max_tokens=wording.max_tokens,
        temperature=wording.temperature,
    )
    if parts:
        known, turns = _behind(subject, turns, context)
    text = prompt.check_reply(
        answer.value, wording, knowledge.ground_with(turns, context.zone, known)
    )
    if text is None:
        raise BadAnswerError("nothing of the summary holds")
    written = " ".join((text.text, *text.topics, *text.entities, text.relationship))
    origins = names_of(subject.scope, knowledge.sources_used(written, turns, known))
    return replace(text, model=answer.model, origins=origins)


def _behind(
    subject: Coverage, parts: Sequence[Turn], context: JobContext
) -> tuple[Known, Sequence[Turn]]:
    """Return what a summary of summaries may rest on: these, their turns, and who was known."""
    with context.snapshot() as snapshot:
        every = map(snapshot.turn, subject.sources[-TURNS_BEHIND:])
        turns = [turn for turn in every if turn and turn.scope == subject.scope]
    return (known_before(turns, context) if turns else NOTHING_KNOWN), (*parts, *turns)
