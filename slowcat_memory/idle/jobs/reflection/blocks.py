"""Writes the blocks: the user, the agent's view of itself and of the two, and recent events.

Planned at a session's end and every five minutes in namespaces that changed; runs after all other
jobs, because it reads their results. An LLM writes the lines; without one they are taken from
facts, summaries and salient sentences, and rewritten once there is an LLM.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.blocks import block as blocks
from slowcat_memory.core.blocks import prompt, rules, statements
from slowcat_memory.core.blocks.block import OWNERS, PERSONA, BlocksOptions
from slowcat_memory.core.blocks.lasting import by_importance, chosen, human, named, plain
from slowcat_memory.core.blocks.prompt import REST, VERSION, Asked, BlockLines, Support
from slowcat_memory.core.blocks.rules import SessionView
from slowcat_memory.core.blocks.statements import SourcedLine, coming_facts
from slowcat_memory.core.disclosure import is_withheld
from slowcat_memory.core.language import language_of
from slowcat_memory.core.render.head_blocks import shorten_to_chars
from slowcat_memory.core.render.repeats import Told
from slowcat_memory.errors import PromptTooLongError
from slowcat_memory.idle.job import (
    JobContext,
    Needs,
    Trigger,
    cursor_at,
    llm_of,
    names_of,
    payload_of,
)
from slowcat_memory.idle.jobs.session_log import ScopeJob, recent_sessions, user_of
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Made, Memory, Task, WriteBatch
from slowcat_memory.store import Snapshot

NAME = "blocks"
RANK = 90  # after its inputs
LABELS = tuple(label for label in OWNERS if label != blocks.PROFILE)
MOST_STATEMENTS = 24  # in the prompt about the user
MOST_NEAR = 6  # of them of the next days
MOST_NOTES, FEW = 8, 4  # in the others
BRIEF_CHARS = 200  # of a summary in a prompt


class BlockInput(Struct, frozen=True, kw_only=True):
    """The memories and last sessions of a namespace, and the user's name."""

    memories: list[Memory]
    sessions: list[SessionView]
    user: str


class Material(Struct, frozen=True, kw_only=True):
    """The statements for a block.

    Attributes:
        by_rule: Its lines without an LLM, in their order.
        shown: What an LLM is shown, oldest first.
        known: What may support a line of its answer.
        over: What held once; a line that only this supports goes.
        others: Names of people, animals and things that are known.
    """

    by_rule: list[SourcedLine]
    shown: Sequence[SourcedLine] = ()
    known: Sequence[SourcedLine] = ()
    over: Sequence[SourcedLine] = ()
    others: Sequence[str] = ()

    def marked(self, label: str) -> Sequence[SourcedLine]:
        """Return the statements whose change may make a prompt due."""
        return self.shown if label == PERSONA else self.by_rule


class Draft(Struct, frozen=True, kw_only=True):
    """A block to be: the lines that an LLM wrote, and behind them those of rules."""

    written: list[str] = []
    lines: list[SourcedLine]
    model: str
    sources: tuple[int, ...] = ()
    of: tuple[str, ...] = ()


class Blocks(ScopeJob):
    """The job; see ``Job``."""

    name, version, rank, writes = NAME, VERSION, RANK, "block/"
    needs: Needs = "llm if any"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = BlocksOptions

    def due(self, snapshot: Snapshot, scope: str, context: JobContext) -> Iterable[tuple[str, int]]:
        return ((label, RANK) for label in LABELS if context.options.chars_of(label))

    def mark(self, snapshot: Snapshot, context: JobContext) -> str:
        return f"{super().mark(snapshot, context)}.{context.llm is not None:d}"

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        options: BlocksOptions = context.options
        label = task.key
        with context.snapshot() as snapshot:
            memories = list(snapshot.memories(task.scope))
            sessions = recent_sessions(snapshot, task.scope, memories, options.sessions)
            asked = payload_of(snapshot.cursor(_asked_name(task)), Asked)
            user = user_of(snapshot, task.scope)
        before = blocks.current(memories, label)
        if before is not None and blocks.owner_of(before) == "user":
            return WriteBatch()
        seen = BlockInput(memories=memories, sessions=sessions, user=user)
        found = material(label, seen, context)
        draft = draft_of(label, found, before, asked, context)
        cursor = None
        rest = timedelta(days=options.persona_days) if label == PERSONA else REST
        due = prompt.is_due(
            asked, VERSION, found.marked(label), len(draft.written), context.now, rest
        )
        if context.llm is not None and found.shown and due:
            draft = await _asked(label, found, draft, seen, task, context)
            marks = prompt.marks_of(found.marked(label))
            done = Asked(at=context.now, version=VERSION, seen=marks, lines=len(draft.written))
            cursor = cursor_at(_asked_name(task), 0, done)
        new = _block(label, draft, before, seen.user, task, context)
        versions = blocks.history(memories, label)
        changed = blocks.revised(versions, new, owner=OWNERS[label], limit=options.chars_of(label))
        return WriteBatch(memories=changed, cursor=cursor)


def material(label: str, seen: BlockInput, context: JobContext) -> Material:
    """Return the statements for a block."""
    options: BlocksOptions = context.options
    language = language_of(context.language)
    if label == blocks.BACKGROUND:
        now, zone = context.now, context.zone
        lines = rules.background(seen.memories, now, zone, options.threads, language)
        return Material(by_rule=lines)
    lasting = human(seen.memories, context.now)
    summaries = statements.to_lines(one.summary for one in seen.sessions if one.summary)
    others = named(seen.memories)
    if label == blocks.HUMAN:
        ahead = coming_facts(seen.memories, context.now, context.zone)
        near = statements.to_lines(ahead)[:MOST_NEAR]
        facts = statements.valid_of_kind(seen.memories, "fact", context.now)
        holding_now = statements.to_lines([*facts, *ahead])
        known = [*lasting, *holding_now, *summaries]
        ids = {one.of for one in (*lasting, *holding_now)}
        over = [m for m in seen.memories if m.kind.startswith("fact/") and m.id not in ids]
        every = (*chosen(lasting, MOST_STATEMENTS - len(near)), *near)
        distinct = {one.of: one for one in every}.values()
        shown = sorted(distinct, key=lambda one: one.at)
        return Material(
            by_rule=by_importance(plain(lasting, seen.memories)),
            shown=shown,
            known=known,
            over=statements.to_lines(m for m in over if m.retired_at or m.valid_to),
            others=others,
        )
    told = rules.relationship(seen.sessions, context.zone, language)
    advised = rules.advice(seen.sessions, context.zone, language)
    known = [*told, *advised, *summaries, *lasting]
    notes = told[-MOST_NOTES:]
    shown = {
        blocks.RELATIONSHIP: [*notes, *map(_brief, summaries[-FEW:])],
        blocks.SELF: [*advised[-MOST_NOTES:], *notes[-FEW:]] if advised else [],
        PERSONA: [*notes, *advised[-FEW:]],
    }[label]
    return Material(
        by_rule={blocks.RELATIONSHIP: told, blocks.SELF: advised, PERSONA: []}[label],
        shown=sorted(shown, key=lambda one: one.at),
        known=known,
        others=others,
    )


def _brief(line: SourcedLine) -> SourcedLine:
    return replace(line, text=shorten_to_chars(line.text, BRIEF_CHARS))


def draft_of(
    label: str, found: Material, before: Memory | None, asked: Asked | None, context: JobContext
) -> Draft:
    """Return a block without asking an LLM: its own lines that still hold, then what is new."""
    chars = context.options.chars_of(label)
    kept = _still_true(_written(before), label, found, before, context)
    if not kept or before is None or before.made is None:
        lines = statements.fit(found.by_rule, chars)
        return Draft(lines=lines, model="")
    seen = set(asked.seen) if asked else set[str]()
    new = [
        one
        for one, mark in zip(found.by_rule, prompt.marks_of(found.by_rule), strict=True)
        if mark not in seen
    ]
    return Draft(
        written=kept,
        lines=_added(kept, new, before.speaker, chars),
        model=before.made.model,
        sources=before.sources,
        of=tuple(id_ for _, id_ in before.derived_from),
    )


def _still_true(
    written: list[str], label: str, found: Material, before: Memory | None, context: JobContext
) -> list[str]:
    """Return lines without those that only what held once supports."""
    if before is None or not written or not found.over:
        return written
    names = (before.speaker,)
    holding = [one for one in found.known if not one.of.startswith("summary/")]
    once, now = (Support(x, names, context.zone, found.others) for x in (found.over, holding))
    return [one for one in written if now.holds(one, label) or not once.holds(one, label)]


def _written(before: Memory | None) -> list[str]:
    """Return the lines of a block that an LLM wrote; what rules added stands behind them."""
    if before is None or before.made is None or not before.made.model:
        return []
    lines = before.text.splitlines()
    number = before.facets.get("written", "")
    return lines[: int(number)] if number.isdecimal() else lines


def _added(
    kept: Sequence[str], new: Iterable[SourcedLine], user: str, chars: int
) -> list[SourcedLine]:
    """Return those of some statements that a text does not say, as far as there is room."""
    told = Told((user,))
    for line in kept:
        told.add(line)
    room = chars - sum(len(line) + 1 for line in kept) + 1
    lines = [one for one in new if not told.repeats(one.text)]
    return statements.fit(lines, max(0, room - 1))


async def _asked(
    label: str, found: Material, draft: Draft, seen: BlockInput, task: Task, context: JobContext
) -> Draft:
    """Ask the LLM for a block."""
    chars, user = context.options.chars_of(label), seen.user
    before = blocks.current(seen.memories, label)
    there = "\n".join(draft.written) if before is not None and not is_withheld(before) else ""
    shown = found.shown
    while True:
        question = Prompt(
            job=NAME,
            version=VERSION,
            system=prompt.system(label, chars),
            user=prompt.build_prompt(label, shown, there, user, context.zone),
            made_from=names_of(
                task.scope,
                statements.sources_of(shown),
                (*statements.memories_of(shown), before.id if before is not None and there else ""),
            ),
            max_tokens=chars,
        )
        try:
            answer = await llm_of(context).complete(question, BlockLines)
            break
        except PromptTooLongError:
            if len(shown) < 2:
                raise
            shown = shown[len(shown) // 2 :]
    names = (user, "User", _agent(seen.sessions))
    support = Support(found.known, names, context.zone, found.others)
    ground = statements.ground_of(found.known, (*names, *found.others), context.zone)
    lines = prompt.kept(answer.value, label, ground, support, chars)
    if not lines:
        return draft
    return Draft(
        written=lines,
        lines=[],
        model=answer.model,
        sources=statements.sources_of(shown),
        of=statements.memories_of(shown),
    )


def _block(
    label: str, draft: Draft, before: Memory | None, user: str, task: Task, context: JobContext
) -> Memory:
    text = "\n".join((*draft.written, *(one.text for one in draft.lines)))
    new = blocks.block(
        label,
        text,
        scope=task.scope,
        speaker=user,
        now=context.now,
        sources=tuple(sorted({*draft.sources, *statements.sources_of(draft.lines)})),
        made=Made(job=NAME, version=VERSION, model=draft.model),
        facets={"written": str(len(draft.written))} if draft.written else {},
    )
    origins = dict.fromkeys((*draft.of, *statements.memories_of(draft.lines)))
    return replace(new, derived_from=tuple((task.scope, id_) for id_ in origins))


def _asked_name(task: Task) -> str:
    return f"{NAME}/{task.key}/{task.scope}"


def _agent(sessions: Sequence[SessionView]) -> str:
    said = (t.speaker for one in reversed(sessions) for t in one.turns if t.role == "assistant")
    return next(said, "Assistant")
