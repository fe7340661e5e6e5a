"""Writes the blocks: the user, the agent's view of itself and of the two, and recent events.

Planned at a session's end and every five minutes in namespaces that changed; runs after all other
jobs, because it reads their results. An LLM writes the lines; without one they are taken from
facts, summaries and salient sentences, and rewritten once there is an LLM. After an unusable
answer, the LLM is asked again an hour later at the earliest.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.blocks import rules
from slowcat_memory.core.blocks.block import (
    BACKGROUND,
    HUMAN,
    OWNERS,
    PERSONA,
    PROFILE,
    RELATIONSHIP,
    SELF,
    BlocksOptions,
    block,
    current,
    history,
    owner_of,
    revised,
)
from slowcat_memory.core.blocks.prompt import (
    VERSION,
    BlockLines,
    build_prompt,
    digest,
    kept,
    system,
)
from slowcat_memory.core.blocks.rules import SessionView
from slowcat_memory.core.blocks.statements import (
    SourcedLine,
    fit,
    ground_of,
    memories_of,
    sources_of,
    to_lines,
)
from slowcat_memory.core.language import language_of
from slowcat_memory.errors import BadAnswerError, EndpointError, PromptTooLongError
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.changed_scopes import cursor_of, now_seen, recent_sessions, touched
from slowcat_memory.idle.prompt_gate import names_of
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Cursor, Made, Memory, Task, WriteBatch
from slowcat_memory.store import Snapshot

NAME = "blocks"
RANK = 90  # after its inputs
LABELS = tuple(label for label in OWNERS if label != PROFILE)
FAILED = f"{NAME}/failed"  # cursor: when the LLM's answer was last unusable, in Unix seconds
RETRY_S = 3600.0  # each retry costs a prompt for each block
MOST_STATEMENTS = 60  # in the prompt of a block: some 2000 tokens


class BlockInput(Struct, frozen=True, kw_only=True):
    """The memories and last sessions of a namespace, and the user's name."""

    memories: list[Memory]
    sessions: list[SessionView]
    user: str


class Blocks:
    """The job; see ``Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "llm if any"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = BlocksOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Plan a task for each block of each namespace that changed."""
        options: BlocksOptions = context.options
        with context.snapshot() as snapshot:
            llm = "llm" if context.llm else ""
            today = context.now.astimezone(context.zone).date()  # what holds from or until a day
            epoch = f"{snapshot.forget_epoch()} {today}"
            mark = f"{VERSION}.{epoch}.{llm}.{_retry_mark(snapshot, context)}"
            scopes = touched(snapshot, NAME, mark, context.scopes(), "block/")
            cursor = cursor_of(NAME, now_seen(snapshot, mark))
            if snapshot.cursor(NAME) == cursor:
                return None
        labels = [label for label in LABELS if options.chars_of(label)]
        tasks = tuple(task_of(scope, label, context.now) for scope in scopes for label in labels)
        return Plan(tasks=tasks, cursor=cursor)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        options: BlocksOptions = context.options
        label = task.key
        with context.snapshot() as snapshot:
            memories = list(snapshot.memories(task.scope))
            sessions = recent_sessions(snapshot, task.scope, memories, options.sessions)
        before = current(memories, label)
        if before is not None and owner_of(before) == "user":
            return WriteBatch()
        seen = BlockInput(memories=memories, sessions=sessions, user=_name(sessions))
        new, failed = await self._written(label, seen, before, task, context)
        cursor = Cursor(name=FAILED, position=int(context.now.timestamp())) if failed else None
        if new is None:
            return WriteBatch(cursor=cursor)
        versions = history(memories, label)
        changed = revised(versions, new, owner=OWNERS[label], limit=options.chars_of(label))
        return WriteBatch(memories=changed, cursor=cursor)

    async def _written(
        self, label: str, seen: BlockInput, before: Memory | None, task: Task, context: JobContext
    ) -> tuple[Memory | None, bool]:
        """Return a block's next version, None if it is unchanged; and whether the LLM failed."""
        options: BlocksOptions = context.options
        found = material(label, seen, context)
        of = digest(label, found, options.chars_of(label))
        ask = context.llm is not None and label != BACKGROUND and bool(found)
        if ask and _asked_already(label, before, of, context):
            return None, False
        answer = await _asked(label, found, before, seen.user, task, context) if ask else None
        lines, model = answer or ([], "")
        by_llm = before is not None and before.made is not None and bool(before.made.model)
        failed = ask and not lines
        if not lines and (label == PERSONA or (ask and by_llm)):  # an LLM's text stays
            return None, failed
        used = found if lines else fit(found, options.chars_of(label))
        shown = reversed(used) if label == HUMAN else used  # the newest first
        text = "\n".join(lines or (one.text for one in shown))
        new = block(
            label,
            text,
            scope=task.scope,
            speaker=seen.user,
            now=context.now,
            sources=sources_of(used),
            made=Made(job=NAME, version=VERSION, model=model),
            facets={"digest": of} if lines else {},
        )
        origins = tuple((task.scope, id_) for id_ in memories_of(used))
        return replace(new, derived_from=origins), failed


def material(label: str, seen: BlockInput, context: JobContext) -> list[SourcedLine]:
    """Return the statements for a block, in order; without an LLM they become its lines."""
    options: BlocksOptions = context.options
    language = language_of(context.language)
    if label == HUMAN:
        return rules.human(seen.memories, context.now)[-MOST_STATEMENTS:]
    if label == BACKGROUND:
        return rules.background(
            seen.memories,
            seen.sessions,
            context.now,
            context.zone,
            topics_h=options.topics_h,
            threads=options.threads,
            language=language,
        )
    told = rules.relationship(seen.sessions, context.zone, language)
    advised = rules.advice(seen.sessions, context.zone, language)
    if context.llm is None:
        return told if label == RELATIONSHIP else advised if label == SELF else []
    summaries = to_lines(one.summary for one in seen.sessions if one.summary)
    parts = [*summaries, *told, *(advised if label != RELATIONSHIP else ())]
    return sorted(parts, key=lambda one: one.at)[-MOST_STATEMENTS:]


def _asked_already(label: str, before: Memory | None, of: str, context: JobContext) -> bool:
    if before is None or before.made is None or not before.made.model:
        return False
    if label == PERSONA:
        rest = timedelta(days=context.options.persona_days)
        return context.now - (before.recorded_at or before.valid_from) < rest
    return before.facets.get("digest") == of and before.made.version == VERSION


async def _asked(
    label: str,
    found: Sequence[SourcedLine],
    before: Memory | None,
    user: str,
    task: Task,
    context: JobContext,
) -> tuple[list[str], str] | None:
    """Ask the LLM for lines; None if it is unreachable, or its answer unusable."""
    assert context.llm is not None
    chars = context.options.chars_of(label)
    there = before.text if before is not None and not before.local_only else ""
    prompt = Prompt(
        job=NAME,
        version=VERSION,
        system=system(label, chars),
        user=build_prompt(label, found, there, user, context.zone),
        made_from=names_of(
            task.scope,
            sources_of(found),
            (*memories_of(found), before.id if before is not None and there else ""),
        ),
        max_tokens=chars,
    )
    try:
        answer = await context.llm.complete(prompt, BlockLines)
    except PromptTooLongError:
        rest = found[len(found) // 2 :]
        again = len(rest) < len(found)
        return await _asked(label, rest, before, user, task, context) if again else None
    except (BadAnswerError, EndpointError):
        return None
    lines = kept(answer.value, ground_of(found, (user, "User"), context.zone), chars)
    return (lines, answer.model) if lines else None


def _retry_mark(snapshot: Snapshot, context: JobContext) -> str:
    """Return the time of the failure after which all blocks were, or are now, retried."""
    before, failed = snapshot.cursor(NAME), snapshot.cursor(FAILED)
    if failed is None or not context.llm or context.now.timestamp() - failed.position < RETRY_S:
        return before.note.rpartition(".")[2] if before else ""
    return str(failed.position)


def _name(sessions: Sequence[SessionView]) -> str:
    said = (turn.speaker for one in reversed(sessions) for turn in one.turns if turn.role == "user")
    return next(said, "User")


def task_of(scope: str, label: str, now: datetime) -> Task:
    return Task(
        id=f"{NAME}/{scope}/{label}",
        job=NAME,
        scope=scope,
        key=label,
        created=now,
        rank=RANK,
    )
