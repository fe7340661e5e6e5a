"""The summary jobs: one class, parameterised by the rows of `PURPOSES` with the job's name.

The LLM writes the summary, or a rule while there is none or its server is unreachable; the task
then waits, and the LLM's summary replaces the rule's.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.disclosure import is_withheld
from slowcat_memory.core.extraction.known import (
    KNOWN_TOKENS,
    NOTHING_KNOWN,
    Known,
    ground_with,
    known_lines,
    origins_used,
)
from slowcat_memory.core.extraction.prompt_record import fenced, fitting
from slowcat_memory.core.summaries import by_rule
from slowcat_memory.core.summaries.options import ExtractiveOptions, TopicsOptions
from slowcat_memory.core.summaries.prompt import (
    VERSION,
    Reflection,
    check_reply,
    instruction,
)
from slowcat_memory.core.summaries.summary import (
    SummaryText,
    archived,
    is_stale,
    replacing,
    summary,
    text_of,
)
from slowcat_memory.core.text.normalize import Tokenizer, estimate_tokens
from slowcat_memory.errors import BadAnswerError, EndpointError, EndpointRefusedError
from slowcat_memory.idle.job import (
    JobContext,
    Needs,
    OverBudgetError,
    Plan,
    Trigger,
    cursor_at,
    encode,
    llm_of,
    names_of,
    payload_of,
)
from slowcat_memory.idle.jobs.options import SummariesOptions
from slowcat_memory.idle.jobs.session_log import (
    Progress,
    SessionsCursor,
    known_before,
    read_sessions,
)
from slowcat_memory.idle.jobs.summaries.purposes import (
    GROUP_WINDOWS,
    PURPOSES,
    SummaryInput,
    SummaryPurpose,
    group_task,
    group_windows,
    periods_due,
)
from slowcat_memory.idle.jobs.summaries.topics import group_sessions
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Cursor, Made, Memory, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

PERSONA = "block/persona"
TURN_CHARS = 800
# Around a record, with what is known; and its least size.
FRAME_TOKENS, MIN_RECORD_TOKENS = 100 + KNOWN_TOKENS, 256
TURNS_BEHIND = 600  # of its parts, the latest, that a summary of summaries is compared with
RETRY_AFTER = timedelta(minutes=10)  # the LLM server was unreachable
MAX_HALVINGS = 3  # of the LLM's input per turn

PlanJob = Callable[[str, JobContext], Plan | None]


class PeriodsCursor(Struct, frozen=True, omit_defaults=True):
    """The payload of the cursor for days and weeks, as JSON.

    Attributes:
        mark: That of `_mark`, and the time zone.
        next: When the next period with a session ends; None if there is none.
    """

    mark: str = ""
    next: datetime | None = None


class SummaryJob:
    """One job; see ``idle.job.Job``."""

    version = VERSION

    def __init__(
        self,
        name: str,
        trigger: Trigger,
        plan: PlanJob,
        options: type[Struct] = SummariesOptions,
        needs: Needs = "llm or rules",
    ) -> None:
        self.name, self.trigger, self.Options, self.needs = name, trigger, options, needs
        self._plan = plan
        self._purposes = {key: row for key, row in PURPOSES.items() if row.job == name}

    def plan(self, context: JobContext) -> Plan | None:
        return self._plan(self.name, context)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Make one summary, find the topics, or group the windows of a session."""
        if self.name == "topics":
            return group_sessions(task.scope, context)
        if self.name == "meta_summary" and task.key.endswith(f"/{GROUP_WINDOWS}"):
            return group_windows(task, context)
        kind = task.key.partition("/")[0]  # of a period: "day/2026-05-12"
        purpose = self._purposes.get(kind) or next(iter(self._purposes.values()))
        return await _summarise(purpose, task, context)

    def split(self, task: Task) -> tuple[Task, ...]:
        """Halve the LLM's input per turn; none once that does not help."""
        halved = _halved(task)
        return (replace(task, note=encode(halved + 1)),) if halved < MAX_HALVINGS else ()


# ------------------------------------------------------------------- plans


def _mark(snapshot: Snapshot, context: JobContext) -> str:
    """Return what makes every summary due again when it changes."""
    return f"{VERSION}.{snapshot.forget_epoch()}.{context.llm is not None:d}"


def _plan_sessions(job: str, context: JobContext) -> Plan | None:
    purpose = next(row for row in PURPOSES.values() if row.job == job)
    with context.snapshot() as snapshot:
        before, mark = snapshot.cursor(job), _mark(snapshot, context)
        note = payload_of(before, SessionsCursor)
        progress = Progress()
        if before is not None and note is not None and note.version == mark:
            progress = Progress(before.position, note.open)
        sessions, progress = read_sessions(
            snapshot, progress, context, wait=purpose.wait, whole=purpose.wait
        )
        tasks = [
            task
            for one, first in sessions
            for task in purpose.due(snapshot, one, range(first, progress.upto + 1), context)
        ]
    cursor = cursor_at(job, progress.upto, SessionsCursor(mark, open=progress.open))
    return None if cursor == before else Plan(tasks=tuple(tasks), cursor=cursor)


def _plan_periods(job: str, context: JobContext) -> Plan | None:
    """Compare days and weeks with their sessions.

    The cursor holds the change number up to which that was done, and the end of the next period: a
    plan that finds nothing new reads two rows.
    """
    with context.snapshot() as snapshot:
        before, changed = snapshot.cursor(job), snapshot.last_change()
        note = payload_of(before, PeriodsCursor) or PeriodsCursor()
        mark = f"{_mark(snapshot, context)} {context.zone}"
        over = note.next is not None and note.next <= context.now
        if before and before.position == changed and note.mark == mark and not over:
            return None
        tasks, ends = list[Task](), list[datetime]()
        for scope in context.scopes():
            due, going_on = periods_due(snapshot, scope, context)
            tasks += due
            ends += going_on
    cursor = cursor_at(job, changed, PeriodsCursor(mark, min(ends, default=None)))
    return None if cursor == before and not tasks else Plan(tasks=tuple(tasks), cursor=cursor)


def _plan_topics(job: str, context: JobContext) -> Plan | None:
    """Find all topics again after a forget."""
    with context.snapshot() as snapshot:
        before = snapshot.cursor(job)
        cursor = Cursor(name=job, position=0, note=_mark(snapshot, context))
    if before == cursor:
        return None
    tasks = tuple(group_task(scope, context.now) for scope in context.scopes())
    return Plan(tasks=tasks, cursor=cursor)


# ------------------------------------------------------------------- one summary


async def _summarise(purpose: SummaryPurpose, task: Task, context: JobContext) -> WriteBatch:
    with context.snapshot() as snapshot:
        found = purpose.read(snapshot, task, context)
        if found is None:
            return WriteBatch()
        found = replace(found, persona=_persona(snapshot, task.scope))
        only = _only_part(found, snapshot)
    subject, old, now = found.subject, found.old, context.now
    if subject is None:
        return WriteBatch(
            memories=archived(old, now) if old else (),
            drop=((task.scope, old.id),) if old else (),
        )
    if not is_stale(old, subject.digest, llm=context.llm is not None):
        return WriteBatch()
    by_rule_stands = not is_stale(old, subject.digest, llm=False)
    text, again = (
        (only, ())
        if only is not None
        else await _text(purpose, task, found, by_rule_stands, context)
    )
    if text is None:
        return _batch((), again)
    if not text.text:  # nothing but orders was said
        return _batch(archived(old, now) if old else (), again)
    made = summary(subject, text, Made(job=purpose.job, version=VERSION), now)
    return _batch(replacing(made, old, now), again, purpose.follow_up(made, task, context))


def _batch(
    memories: Sequence[Memory], again: tuple[Task, ...], more: Iterable[Task] = ()
) -> WriteBatch:
    return WriteBatch(memories=tuple(memories), tasks=(*again, *more), retask=bool(again))


def _only_part(found: SummaryInput, snapshot: Snapshot) -> SummaryText | None:
    """Return the summary by an LLM that is the whole input: it needs no summary of its own."""
    if found.subject is None or found.seen is None or len(found.seen) != 1:
        return None
    part = snapshot.memory(found.subject.scope, found.seen[0])
    text = text_of(part) if part else None
    return text if text and text.model else None


def _persona(snapshot: Snapshot, scope: str) -> Memory | None:
    """Return the latest persona of the agent that is not local-only."""
    every = snapshot.memories(scope, PERSONA)
    found = [m for m in every if m.retired_at is None and not is_withheld(m)]
    return max(found, key=lambda m: m.recorded_at or m.valid_from, default=None)


async def _text(
    purpose: SummaryPurpose,
    task: Task,
    found: SummaryInput,
    by_rule_stands: bool,
    context: JobContext,
) -> tuple[SummaryText | None, tuple[Task, ...]]:
    """Summarise by the LLM, or by a rule as long as that does not work.

    Returns:
        The text, None if the rule's summary stays; and the task again if the LLM is still to be
        asked.

    Raises:
        BadAnswerError: The LLM's reply is unusable, and there is a rule's summary.
    """
    if context.llm is None:
        return (None if by_rule_stands else await _text_by_rule(found, context)), ()
    try:
        return await _text_by_llm(purpose, task, found, context), ()
    except (EndpointError, EndpointRefusedError, OverBudgetError):
        again = replace(task, not_before=context.now + RETRY_AFTER)
    except BadAnswerError:
        if by_rule_stands:
            raise
        retry_at = context.now + RETRY_AFTER / 10
        again = replace(task, attempts=task.attempts + 1, not_before=retry_at)
    return (None if by_rule_stands else await _text_by_rule(found, context)), (again,)


def _halved(task: Task) -> int:
    """Return how often the LLM's input was halved because it was too long."""
    return msgspec.json.decode(task.note or "0", type=int)


async def _text_by_llm(
    purpose: SummaryPurpose, task: Task, found: SummaryInput, context: JobContext
) -> SummaryText:
    llm = llm_of(context)
    wording, turns, persona = purpose.prompt, found.turns, found.persona
    known = known_before(turns, context) if found.seen is None else NOTHING_KNOWN
    system = instruction(wording, persona.text if persona else "")
    room = llm.prompt_tokens - estimate_tokens(system) - FRAME_TOKENS - wording.max_tokens
    room = max(MIN_RECORD_TOKENS, room) >> _halved(task)
    prompt = Prompt(
        job=task.job,
        version=VERSION,
        system=system,
        user="\n".join(
            (
                *known_lines(known, context.zone),
                fenced(turns, context.zone, fitting(turns, room, TURN_CHARS)),
            )
        ),
        made_from=names_of(
            task.scope,
            (turn.id for turn in turns) if found.seen is None else (),
            (*(found.seen or ()), persona.id if persona else "", *known.memories),
        ),
        max_tokens=wording.max_tokens,
        temperature=wording.temperature,
    )
    answer = await llm.complete(prompt, Reflection)
    if found.seen is not None:
        known, turns = _behind(task.scope, found, context)
    text = check_reply(answer.value, wording, ground_with(turns, context.zone, known))
    if text is None:
        raise BadAnswerError("nothing of the summary holds")
    written = " ".join((text.text, *text.topics, *text.entities, text.relationship))
    origins = origins_used(written, turns, known, task.scope)
    return replace(text, model=answer.model, origins=origins)


def _behind(scope: str, found: SummaryInput, context: JobContext) -> tuple[Known, Sequence[Turn]]:
    """Return what a summary of summaries may rest on: these, their turns, and who was known."""
    with context.snapshot() as snapshot:
        parts = [one for id in found.seen or () if (one := snapshot.memory(scope, id))]
        ids = sorted({id for one in parts for id in one.sources})[-TURNS_BEHIND:]
        said = [turn for id in ids if (turn := snapshot.turn(id)) and turn.scope == scope]
    return (known_before(said, context) if said else NOTHING_KNOWN), (*found.turns, *said)


async def _text_by_rule(found: SummaryInput, context: JobContext) -> SummaryText:
    options = getattr(context.options, "rule", ExtractiveOptions())
    summarise = by_rule.of_turns if found.seen is None else by_rule.of_summaries
    made: SummaryText = await context.blocking(
        summarise, found.turns, context.zone, Tokenizer(), options
    )
    return made


# ------------------------------------------------------------------- the jobs

_AFTER_SESSIONS = Trigger(session_end=True, every_s=300.0)
SUMMARY_JOBS = {
    job.name: job
    for job in (
        SummaryJob("session_summary", _AFTER_SESSIONS, _plan_sessions),
        SummaryJob("window_summary", replace(_AFTER_SESSIONS, turns=5), _plan_sessions),
        SummaryJob("meta_summary", _AFTER_SESSIONS, _plan_sessions),
        SummaryJob("rollups", _AFTER_SESSIONS, _plan_periods),
        SummaryJob(
            "topics",
            replace(_AFTER_SESSIONS, every_s=3600.0),
            _plan_topics,
            TopicsOptions,
            "nothing",
        ),
    )
}
