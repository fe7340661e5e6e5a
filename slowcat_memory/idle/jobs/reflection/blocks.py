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
from slowcat_memory.core.blocks.prompt import REST, VERSION, BlockLines, LastAnswer, Support
from slowcat_memory.core.blocks.rules import SessionView
from slowcat_memory.core.blocks.statements import SourcedLine, coming_facts
from slowcat_memory.core.disclosure import is_withheld
from slowcat_memory.core.language import language_of
from slowcat_memory.core.render.head_blocks import shorten_to_chars
from slowcat_memory.core.render.repeats import Told
from slowcat_memory.idle.job import JobContext, Trigger, cursor_at, payload_of
from slowcat_memory.idle.jobs.session_log import ScopeJob, recent_sessions, user_of
from slowcat_memory.records import Memory, Task, WriteBatch
from slowcat_memory.store import Snapshot

NAME = "blocks"
RANK = 90  # after its inputs
LABELS = tuple(label for label in OWNERS if label != blocks.PROFILE)
MOST_STATEMENTS = 24  # in the prompt about the user
MOST_NEAR = 6  # of them of the next days
MOST_NOTES, FEW = 8, 4  # in the others
BRIEF_CHARS = 200  # of a summary in a prompt


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
    needs = "llm if any"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options = BlocksOptions

    def due(self, snapshot: Snapshot, scope: str, context: JobContext) -> Iterable[tuple[str, int]]:
        return ((label, RANK) for label in LABELS if context.options.chars_of(label))

    def mark(self, snapshot: Snapshot, context: JobContext) -> str:
        return f"{super().mark(snapshot, context)}.{context.llm is not None:d}"

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        block = BlockStep(task, context)
        if block.before is not None and blocks.owner_of(block.before) == "user":
            return WriteBatch()
        return await block.batch()


class BlockStep:
    """Writes one block of a namespace."""

    def __init__(self, task: Task, context: JobContext) -> None:
        self._label, self._scope, self._context = task.key, task.scope, context
        self._attempts = task.attempts
        self._options: BlocksOptions = context.options
        self._chars = self._options.chars_of(self._label)
        self._asked_name = f"{NAME}/{task.key}/{task.scope}"
        with context.snapshot() as snapshot:
            self._memories = list(snapshot.memories(task.scope))
            self._sessions = recent_sessions(
                snapshot, task.scope, self._memories, self._options.sessions
            )
            self._asked = payload_of(snapshot.cursor(self._asked_name), LastAnswer)
            self._user = user_of(snapshot, task.scope)
        self.before = blocks.current(self._memories, self._label)

    async def batch(self) -> WriteBatch:
        """Return the block as rules keep it, or as an LLM writes it if that is due."""
        label, now, material = self._label, self._context.now, self._material()
        draft, cursor = self._draft(material), None
        rest = timedelta(days=self._options.persona_days) if label == PERSONA else REST
        marked = material.shown if label == PERSONA else material.by_rule
        due = prompt.is_due(self._asked, VERSION, marked, len(draft.written), now, rest)
        if self._context.llm is not None and material.shown and due:
            draft = await self._ask(material, draft)
            marks, lines = prompt.marks_of(marked), len(draft.written)
            done = LastAnswer(at=self._context.now, version=VERSION, seen=marks, lines=lines)
            cursor = cursor_at(self._asked_name, 0, done)
        new, owner = self._block(draft), OWNERS[label]
        changed = blocks.revised(self._memories, new, owner=owner, limit=self._chars)
        return WriteBatch(memories=changed, cursor=cursor)

    def _material(self) -> Material:
        """Return the statements for the block."""
        memories, now, zone = self._memories, self._context.now, self._context.zone
        language = language_of(self._context.language)
        if self._label == blocks.BACKGROUND:
            lines = rules.background(memories, now, zone, self._options.threads, language)
            return Material(by_rule=lines)
        lasting = human(memories, now)
        summaries = statements.to_lines(row.summary for row in self._sessions if row.summary)
        others = named(memories)
        if self._label == blocks.HUMAN:
            ahead = coming_facts(memories, now, zone)
            near = statements.to_lines(ahead)[:MOST_NEAR]
            facts = statements.valid_of_kind(memories, "fact", now)
            holding_now = statements.to_lines([*facts, *ahead])
            ids = {line.of for line in (*lasting, *holding_now)}
            over = [m for m in memories if m.kind.startswith("fact/") and m.id not in ids]
            every = (*chosen(lasting, MOST_STATEMENTS - len(near)), *near)
            distinct = {line.of: line for line in every}.values()
            return Material(
                by_rule=by_importance(plain(lasting, memories)),
                shown=sorted(distinct, key=lambda line: line.at),
                known=[*lasting, *holding_now, *summaries],
                over=statements.to_lines(m for m in over if m.retired_at or m.valid_to),
                others=others,
            )
        told = rules.relationship(self._sessions, zone, language)
        advised = rules.advice(self._sessions, zone, language)
        notes = told[-MOST_NOTES:]
        brief = [
            replace(row, text=shorten_to_chars(row.text, BRIEF_CHARS)) for row in summaries[-FEW:]
        ]
        by_rule, shown = {
            blocks.RELATIONSHIP: (told, [*notes, *brief]),
            blocks.SELF: (advised, [*advised[-MOST_NOTES:], *notes[-FEW:]] if advised else []),
            PERSONA: ([], [*notes, *advised[-FEW:]]),
        }[self._label]
        return Material(
            by_rule=by_rule,
            shown=sorted(shown, key=lambda line: line.at),
            known=[*told, *advised, *summaries, *lasting],
            others=others,
        )

    def _draft(self, material: Material) -> Draft:
        """Return the block without asking an LLM: its own lines that still hold, then what is new."""
        kept, before = self._still_true(material), self.before
        if not kept or before is None or before.made is None:
            return Draft(lines=statements.fit(material.by_rule, self._chars), model="")
        seen = set(self._asked.seen) if self._asked else set[str]()
        marks = prompt.marks_of(material.by_rule)
        told = Told((before.speaker,))
        for line in kept:
            told.add(line)
        room = self._chars - sum(len(line) + 1 for line in kept)
        new = [
            line
            for line, mark in zip(material.by_rule, marks, strict=True)
            if mark not in seen and not told.repeats(line.text)
        ]
        return Draft(
            written=kept,
            lines=statements.fit(new, max(0, room)),
            model=before.made.model,
            sources=before.sources,
            of=tuple(id_ for _, id_ in before.derived_from),
        )

    def _still_true(self, material: Material) -> list[str]:
        """Return the lines that an LLM wrote, but those that only what held once supports.

        What rules added stands behind them.
        """
        before, label = self.before, self._label
        if before is None or before.made is None or not before.made.model:
            return []
        written, number = before.text.splitlines(), before.facets.get("written", "")
        written = written[: int(number)] if number.isdecimal() else written
        names, zone = (before.speaker,), self._context.zone
        holding = [line for line in material.known if not line.of.startswith("summary/")]
        once, now = (Support(x, names, zone, material.others) for x in (material.over, holding))
        return [line for line in written if now.holds(line, label) or not once.holds(line, label)]

    async def _ask(self, material: Material, draft: Draft) -> Draft:
        """Ask the LLM for the block."""
        label, zone, before = self._label, self._context.zone, self.before
        known = before if before is not None and draft.written and not is_withheld(before) else None
        # Half as much after each answer that cannot be used, or a prompt that is too long.
        shown = material.shown[-max(1, len(material.shown) >> self._attempts) :]
        written = "\n".join(draft.written) if known else ""
        answer = await self._context.ask(
            BlockLines,
            prompt.system(label, self._chars),
            prompt.build_prompt(label, shown, written, self._user, zone),
            self._scope,
            turns=statements.sources_of(shown),
            memories=(*statements.memories_of(shown), known.id if known else ""),
            max_tokens=self._chars,
        )
        names = (self._user, "User", _agent(self._sessions))
        support = Support(material.known, names, zone, material.others)
        ground = statements.ground_of(material.known, (*names, *material.others), zone)
        lines = prompt.kept(answer.value, label, ground, support, self._chars)
        if not lines:
            return draft
        return Draft(
            written=lines,
            lines=[],
            model=answer.model,
            sources=statements.sources_of(shown),
            of=statements.memories_of(shown),
        )

    def _block(self, draft: Draft) -> Memory:
        return blocks.block(
            self._label,
            "\n".join((*draft.written, *(line.text for line in draft.lines))),
            scope=self._scope,
            speaker=self._user,
            now=self._context.now,
            sources=(*draft.sources, *statements.sources_of(draft.lines)),
            of=(*draft.of, *statements.memories_of(draft.lines)),
            made=self._context.made(draft.model),
            facets={"written": str(len(draft.written))} if draft.written else {},
        )


def _agent(sessions: Sequence[SessionView]) -> str:
    names = (t.speaker for row in reversed(sessions) for t in row.turns if t.role == "assistant")
    return next(names, "Assistant")
