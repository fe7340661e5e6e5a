"""Finds open threads that the agent may bring up, and words them in advance.

See ``core.proactive.open_threads``. A source is brought up at most once: one that was used, or that
the user dismissed, is not queued again. One that was displaced by another is, until it expires.
"""

from collections.abc import Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.blocks.rules import SessionView
from slowcat_memory.core.blocks.statements import ground_of, record
from slowcat_memory.core.language import language_of
from slowcat_memory.core.memory import ICEBREAKER
from slowcat_memory.core.proactive.open_threads import (
    SYSTEM,
    VERSION,
    BringUpOptions,
    OpenThread,
    Phrased,
    icebreaker,
    kept,
    of_facts,
    of_turns,
    phrase,
)
from slowcat_memory.core.proactive.policy import PASSED, outcome_of, waiting
from slowcat_memory.errors import BadAnswerError, EndpointError, PromptTooLongError
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.changed_scopes import cursor_of, now_seen, recent_sessions, touched
from slowcat_memory.idle.prompt_gate import names_of
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Made, Memory, Task, WriteBatch

NAME = "bring_up"
RANK = 88  # after its input facts
SESSIONS = 6  # searched for open threads without a fact
ANSWER_TOKENS = 120


class BringUp:
    """The job; see ``Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "llm if any"
    trigger = Trigger(session_end=True, every_s=600.0)
    Options: type[Struct] = BringUpOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Plan a task for each namespace that changed."""
        today = context.now.astimezone(context.zone).date()  # some expire: plan daily
        with context.snapshot() as snapshot:
            mark = f"{VERSION}.{snapshot.forget_epoch()} {today}"
            scopes = touched(snapshot, NAME, mark, context.scopes(), "icebreaker/")
            cursor = cursor_of(NAME, now_seen(snapshot, mark))
            if snapshot.cursor(NAME) == cursor:
                return None
        return Plan(tasks=tuple(_task(scope, context) for scope in scopes), cursor=cursor)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        options: BringUpOptions = context.options
        with context.snapshot() as snapshot:
            memories = list(snapshot.memories(task.scope))
            sessions = recent_sessions(snapshot, task.scope, memories, SESSIONS)
        matters = found(memories, sessions, context)
        stale = _stale(memories, {matter.source for matter in matters}, context)
        mine = [m for m in waiting(memories, context.now) if m.made and m not in stale]
        room = max(0, options.most - len(mine))
        known = {memory.id: memory for memory in memories}
        fresh = (m for m in matters if _new(known.get(m.id(task.scope))))
        made = [
            await _phrased(matter, task.scope, _speaker(sessions), context)
            for matter in islice(fresh, room)
        ]
        gone = tuple(replace(memory, retired_at=context.now) for memory in stale)
        return WriteBatch(memories=(*gone, *made))


def found(
    memories: Sequence[Memory], sessions: Sequence[SessionView], context: JobContext
) -> list[OpenThread]:
    """Return open threads: of facts, then of turns without facts."""
    given = (context.now, context.zone, context.options)
    drawn = {turn for m in memories if m.kind.startswith("fact/") for turn in m.sources}
    bare = [turn for one in sessions for turn in one.turns if turn.id not in drawn]
    return of_facts(memories, *given) + of_turns(bare, *given, context.language)


def _new(before: Memory | None) -> bool:
    """Return whether a source was never brought up, or only displaced."""
    return before is None or (before.retired_at is not None and outcome_of(before) == PASSED)


def _stale(memories: Sequence[Memory], still: set[str], context: JobContext) -> list[Memory]:
    return [
        memory
        for memory in waiting(memories, context.now)
        if memory.made is not None
        and memory.facets.get("source", "").startswith("fact/")
        and memory.facets["source"] not in still
    ]


async def _phrased(matter: OpenThread, scope: str, speaker: str, context: JobContext) -> Memory:
    text, model = "", ""
    if context.llm is not None:
        prompt = Prompt(
            job=NAME,
            version=VERSION,
            system=SYSTEM,
            user=f"The user is {speaker}.\n{record([matter.said], context.zone)}\nWrite the text.",
            made_from=names_of(scope, matter.said.sources, (matter.said.of,)),
            max_tokens=ANSWER_TOKENS,
        )
        try:
            answer = await context.llm.complete(prompt, Phrased)
            text = kept(answer.value, ground_of([matter.said], (speaker, "Ask"), context.zone))
            model = answer.model if text else ""
        except (BadAnswerError, EndpointError, PromptTooLongError):
            pass  # the template below is used
    return icebreaker(
        matter,
        text or phrase(matter, context.zone, language_of(context.language)),
        scope=scope,
        speaker=speaker,
        now=context.now,
        made=Made(job=NAME, version=VERSION, model=model),
    )


def _speaker(sessions: Sequence[SessionView]) -> str:
    said = (turn.speaker for one in reversed(sessions) for turn in one.turns if turn.role == "user")
    return next(said, "User")


def _task(scope: str, context: JobContext) -> Task:
    return Task(
        id=f"{NAME}/{scope}/{ICEBREAKER}",
        job=NAME,
        scope=scope,
        key=ICEBREAKER,
        created=context.now,
        rank=RANK,
    )
