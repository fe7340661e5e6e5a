"""Finds open threads that the agent may bring up, and words them in advance.

See ``core.proactive.open_threads``. A source is brought up at most once: one that was used, or that
the user dismissed, is not queued again. One that was displaced by another is, until it expires.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.blocks.coming import EVENT, THREAD
from slowcat_memory.core.blocks.rules import SessionView
from slowcat_memory.core.blocks.statements import ground_of, record
from slowcat_memory.core.facts.fact import key_id, stating_turns
from slowcat_memory.core.language import language_of
from slowcat_memory.core.memory import ICEBREAKER, family
from slowcat_memory.core.proactive.closing import Later, later_of
from slowcat_memory.core.proactive.open_threads import (
    PLAN,
    SYSTEM,
    VERSION,
    OpenThread,
    Phrased,
    closed,
    icebreaker,
    kept,
    of_facts,
    of_turns,
    phrase,
    repeats,
)
from slowcat_memory.core.proactive.policy import PASSED, BringUpOptions, outcome_of, waiting
from slowcat_memory.errors import BadAnswerError, EndpointError, PromptTooLongError
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.changed_scopes import (
    epoch_and_day,
    plan_changed,
    recent_sessions,
    user_of,
)
from slowcat_memory.idle.prompt_gate import names_of
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Made, Memory, Task, WriteBatch

NAME = "bring_up"
RANK = 88  # after its input facts
SESSIONS = 6  # searched for open threads without a fact
ANSWER_TOKENS = 120
FAILED = "llm_failed"  # facet: the LLM is asked for the words again at the next look
_BROUGHT_UP = (THREAD, EVENT, PLAN)


class BringUp:
    """The job; see ``Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "llm if any"
    trigger = Trigger(session_end=True, every_s=600.0)
    Options: type[Struct] = BringUpOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Plan a task for each namespace that changed."""
        with context.snapshot() as snapshot:
            mark = f"{VERSION}.{epoch_and_day(snapshot, context)}"
            return plan_changed(NAME, mark, "icebreaker/", (ICEBREAKER,), RANK, snapshot, context)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        options: BringUpOptions = context.options
        with context.snapshot() as snapshot:
            memories = list(snapshot.memories(task.scope))
            sessions = recent_sessions(snapshot, task.scope, memories, SESSIONS)
            user = user_of(snapshot, task.scope)
        later = later_of((turn for one in sessions for turn in one.turns), memories)
        matters = found(memories, sessions, later, context)
        known = {memory.id: memory for memory in memories}
        usable = _usable(matters, task.scope, memories)
        wanted = {matter.id(task.scope): matter for matter in usable[: options.most]}
        mine = [m for m in waiting(memories, context.now) if m.made and m.facets.get("source")]
        still = {matter.source for matter in matters}
        stale = [m for m in mine if m.facets["source"] not in still]
        made = [
            await _phrased(matter, task.scope, user, context)
            for id_, matter in wanted.items()
            if not _waits(known.get(id_), matter) or _failed(known[id_])
        ]
        gone = tuple(replace(memory, retired_at=context.now) for memory in stale)
        over = _closed(memories, later, context)
        return WriteBatch(
            memories=(*gone, *made, *over),
            drop=tuple((m.scope, m.id) for m in mine if m not in stale and m.id not in wanted),
            drop_keys=tuple((fact.scope, key_id(fact)) for fact in over),
        )


def found(
    memories: Sequence[Memory],
    sessions: Sequence[SessionView],
    later: Sequence[Later],
    context: JobContext,
) -> list[OpenThread]:
    """Return open threads: of facts, then of turns without facts; those that are due come first."""
    given = (context.now, context.zone, context.options)
    drawn = {t for m in memories if m.kind.startswith(_BROUGHT_UP) for t in stating_turns(m)}
    bare = [turn for one in sessions for turn in one.turns if turn.id not in drawn]
    every = of_facts(memories, *given, later) + of_turns(bare, *given, context.language, later)
    return sorted(every, key=lambda one: one.due > context.now)


def _usable(
    matters: Sequence[OpenThread], scope: str, memories: Sequence[Memory]
) -> list[OpenThread]:
    """Return the matters that were never brought up, nor dismissed, each once."""
    every = [m for m in memories if family(m.kind) == ICEBREAKER]
    gone = [m for m in every if m.retired_at is not None and outcome_of(m) != PASSED]
    past, usable = [(m.text, m.valid_from) for m in gone], list[OpenThread]()
    ids = {m.id for m in gone}
    for matter in matters:
        if matter.id(scope) in ids or any(repeats(matter, *one) for one in past):
            continue
        usable.append(matter)
        past.append((matter.said.text, matter.due))
    return usable


def _waits(before: Memory | None, matter: OpenThread) -> bool:
    """Return whether a matter waits already, for the same day."""
    return before is not None and before.retired_at is None and before.valid_from == matter.due


def _closed(
    memories: Sequence[Memory], later: Sequence[Later], context: JobContext
) -> list[Memory]:
    """Return the open tasks, and the events that do not take place, as over since it was said."""
    over = list[Memory]()
    for fact in memories:
        kept = fact.kind in _BROUGHT_UP and not (fact.retired_at or fact.pinned)
        found = closed(fact, later) if kept else None
        if found and (fact.kind == THREAD or found[0] in ("off", "moved")):
            outcome, by = found
            facets = fact.facets | {"why": outcome, "closed_by": str(by.turn)}
            until = max(by.at, fact.valid_from)
            over.append(replace(fact, valid_to=until, retired_at=context.now, facets=facets))
    return over


def _failed(memory: Memory) -> bool:
    """Return whether the LLM could not word an icebreaker that still waits."""
    return memory.retired_at is None and FAILED in memory.facets


async def _phrased(matter: OpenThread, scope: str, speaker: str, context: JobContext) -> Memory:
    text, model, failed = "", "", False
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
            failed = True  # the template below is used
    made = icebreaker(
        matter,
        text or phrase(matter, context.zone, language_of(context.language)),
        scope=scope,
        speaker=speaker,
        now=context.now,
        made=Made(job=NAME, version=VERSION, model=model),
    )
    return replace(made, facets=made.facets | {FAILED: "yes"}) if failed else made
