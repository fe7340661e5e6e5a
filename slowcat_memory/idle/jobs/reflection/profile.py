"""Maintains the structured profile of the user; see ``core.blocks.profile``."""

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.blocks.asking import Asked, is_due, marks_of
from slowcat_memory.core.blocks.block import (
    OWNERS,
    PROFILE,
    block,
    current,
    history,
    owner_of,
    revised,
)
from slowcat_memory.core.blocks.lasting import chosen, human
from slowcat_memory.core.blocks.profile import (
    SYSTEM,
    VERSION,
    Field,
    Proposals,
    by_rule,
    facets,
    line,
    proposed,
    still_proposed,
)
from slowcat_memory.core.blocks.statements import (
    SourcedLine,
    ground_of,
    memories_of,
    record,
    sources_of,
)
from slowcat_memory.core.language import language_of
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.errors import BadAnswerError, EndpointError, PromptTooLongError
from slowcat_memory.idle.job import (
    JobContext,
    Needs,
    Plan,
    Trigger,
    cursor_at,
    llm_of,
    payload_of,
)
from slowcat_memory.idle.jobs.changed_scopes import epoch_and_day, plan_changed, user_of
from slowcat_memory.idle.jobs.options import ProfileOptions
from slowcat_memory.idle.prompt_gate import names_of
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Made, Memory, Task, WriteBatch

NAME = "profile"
RANK = 89  # after its input facts
MOST_STATEMENTS = 24
ANSWER_TOKENS = 400


class Profile:
    """The job; see ``Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "llm if any"
    trigger = Trigger(session_end=True, every_s=600.0)
    Options: type[Struct] = ProfileOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Plan a task for each namespace that changed."""
        with context.snapshot() as snapshot:
            llm = "llm" if context.llm else ""
            mark = f"{VERSION}.{epoch_and_day(snapshot, context)}.{llm}"
            return plan_changed(NAME, mark, "block/", (NAME,), RANK, snapshot, context)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        with context.snapshot() as snapshot:
            memories = list(snapshot.memories(task.scope))
            asked = payload_of(snapshot.cursor(_asked_name(task)), Asked)
            user = user_of(snapshot, task.scope)
        before = current(memories, PROFILE)
        if before is not None and owner_of(before) == "user":
            return WriteBatch()
        found = by_rule(memories, user, context.now)
        earlier = still_proposed(before, memories, context.now)
        fields, model = {**earlier, **found}, _model(before) if earlier else ""
        statements = human(memories, context.now)
        cursor = None
        wanted = context.llm is not None and context.options.proposals
        if wanted and is_due(asked, VERSION, statements, 1, context.now, early=False):
            shown = chosen(statements, MOST_STATEMENTS)
            answer = await _asked(found, shown, task.scope, user, context)
            if answer is not None:
                proposals, model = answer
                fields = {**earlier, **proposals}
                number = sum(one.proposed for one in fields.values())
                seen = marks_of(statements)
                asked = Asked(at=context.now, version=VERSION, seen=seen, lines=number)
                cursor = cursor_at(_asked_name(task), 0, asked)
        new = block(
            PROFILE,
            line(_beyond_name(fields, user), language_of(context.language)),
            scope=task.scope,
            speaker=user,
            now=context.now,
            sources=tuple(sorted({turn for one in fields.values() for turn in one.sources})),
            made=Made(job=NAME, version=VERSION, model=model),
            facets=facets(fields),
        )
        stated = dict.fromkeys(id_ for one in fields.values() for id_ in one.of)
        new = replace(new, derived_from=tuple((task.scope, id_) for id_ in stated))
        changed = revised(history(memories, PROFILE), new, owner=OWNERS[PROFILE], limit=0)
        return WriteBatch(memories=changed, cursor=cursor)


async def _asked(
    fields: dict[str, Field],
    statements: list[SourcedLine],
    scope: str,
    user: str,
    context: JobContext,
) -> tuple[dict[str, Field], str] | None:
    """Return the fields with those that the LLM proposes, and its name; None without an answer."""
    prompt = Prompt(
        job=NAME,
        version=VERSION,
        system=SYSTEM,
        user=f"The user is {user}.\n{record(statements, context.zone)}\nFill in the fields.",
        made_from=names_of(scope, sources_of(statements), memories_of(statements)),
        max_tokens=ANSWER_TOKENS,
    )
    try:
        answer = await llm_of(context).complete(prompt, Proposals)
    except (BadAnswerError, EndpointError, PromptTooLongError):
        return None
    ground = ground_of(statements, (user,), context.zone)
    return proposed(answer.value, statements, ground, fields), answer.model


def _model(before: Memory | None) -> str:
    return before.made.model if before is not None and before.made is not None else ""


def _beyond_name(fields: dict[str, Field], user: str) -> dict[str, Field]:
    """Leave out a name that is the user's, which the line begins with."""
    return {n: one for n, one in fields.items() if n != "name" or fold(one.value) != fold(user)}


def _asked_name(task: Task) -> str:
    return f"{NAME}/asked/{task.scope}"
