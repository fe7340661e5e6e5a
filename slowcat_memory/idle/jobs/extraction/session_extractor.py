"""Base of the jobs that read sessions: descriptions and facts.

A session that has ended, or is silent, is divided into calls: spans of turns that fit a prompt, each
with a few turns that the call asks about. Each call is a task, so it survives a restart. `step` reads
the task's turns again and passes them to the subclass, which has the prompt, the reply type, the
check of the reply and the result. A task that is too long for the LLM is split.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import ClassVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.known import KNOWN_TOKENS, NOTHING_KNOWN, Known
from slowcat_memory.core.extraction.prompt_record import (
    AFTER,
    BEFORE,
    groups,
    line,
    small_talk,
    windows,
)
from slowcat_memory.core.ranking.token_codes import encode
from slowcat_memory.core.text.normalize import digest, estimate_tokens
from slowcat_memory.idle.job import JobContext, new_task
from slowcat_memory.idle.jobs.session_log import SessionJob, known_before, turns_around
from slowcat_memory.records import Session, Task, TokenCodes, Turn, Vector, WriteBatch
from slowcat_memory.store import Snapshot

# Of a prompt without the record, what is known in it, and of a server's template.
FRAME_TOKENS = 150 + KNOWN_TOKENS
MIN_RECORD_TOKENS = 256  # whatever context size the LLM reports
TURN_CHARS = 800  # of a turn that the LLM sees; of a longer one its beginning and end
CONTEXT_TURNS = 40  # before and after the new turns of a session, for a prompt to understand them
SHARED_TURNS = 12  # that two spans of a long session have in common
PIECES = 4  # that a task is divided into when it is given up


class AskedTurns(Struct, frozen=True, omit_defaults=True):
    """The task's payload, as JSON: the log ids asked about, and whether this is the last attempt.

    The task's sources are all turns that the LLM sees.
    """

    turns: list[int] = []
    again: bool = False


class Request(Struct, frozen=True):
    """The input of one call.

    Attributes:
        turns: Visible turns of the session: those that the LLM sees, and their neighbours.
        seen: Those that the LLM sees.
        due: Those that it is asked about, by log id; at least one.
        known: Who and what was known before them; nothing where rules read.
    """

    task: Task
    again: bool
    turns: list[Turn]
    seen: list[Turn]
    due: dict[int, Turn]
    known: Known = NOTHING_KNOWN


# ------------------------------------------------------------------- the extractor


class SessionExtractor(SessionJob):
    """Base of the jobs that read sessions; see ``idle.job.Job`` for the contract.

    A subclass sets the attributes, and implements at least ``read_by_llm`` and
    ``prompt_overhead``. Its options have ``turns`` (asked about by a call).

    Attributes:
        rank: Of its tasks.
    """

    rank: ClassVar[int]
    whole = False

    # --------------------------------------------------- implemented by subclasses

    async def read_by_llm(self, request: Request, context: JobContext) -> WriteBatch:
        """Ask the LLM, check its reply, and return what to write."""
        raise NotImplementedError

    async def read_by_rule(self, request: Request, context: JobContext) -> WriteBatch:
        """Read without an LLM. Not called if ``needs`` is "llm"."""
        raise NotImplementedError

    def prompt_overhead(self, context: JobContext) -> int:
        """Return the tokens of the prompt without the record and without `FRAME_TOKENS`."""
        raise NotImplementedError

    def wanted(
        self, snapshot: Snapshot, turns: Sequence[Turn], new: range, context: JobContext
    ) -> list[int]:
        """Return the positions of the turns to ask about: new user turns without small talk.

        Asked when a call is planned, and when it is made.
        """
        return [
            place
            for place, turn in enumerate(turns)
            if turn.id in new and turn.role == "user" and not small_talk(turn.text)
        ]

    def rank_of(self, session: Session, context: JobContext) -> int:
        """Return the rank of a session's tasks."""
        return self.rank

    # --------------------------------------------------- plan, step, split

    def due(
        self, snapshot: Snapshot, session: Session, new: range, context: JobContext
    ) -> Iterator[Task]:
        turns = turns_around(snapshot, session, context, new, CONTEXT_TURNS, CONTEXT_TURNS)
        wanted = self.wanted(snapshot, turns, new, context)
        sizes = [estimate_tokens(line(turn, TURN_CHARS)) + 1 for turn in turns]
        spans = list(windows(sizes, self._room(context), SHARED_TURNS)) if wanted else []
        rank = self.rank_of(session, context)
        whole = new_task(self.name, session.scope, f"{session.id}:", session.last, rank)
        for span, places in groups(wanted, spans, context.options.turns) if wanted else ():
            asked = AskedTurns([turns[place].id for place in places])
            yield self.task_like(whole, asked, [turns[place].id for place in span])

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        request = self._request(task, context)
        if not request.due:
            return WriteBatch()
        if context.llm is None:
            return await self.read_by_rule(request, context)
        known = known_before(request.seen, context)
        return await self.read_by_llm(replace(request, known=known), context)

    def split(self, task: Task) -> tuple[Task, ...]:
        """Split a task that is too long for the LLM: half the questions, half the turns around.

        Returns two tasks if it asks about several turns, else one; none if it cannot be shortened.
        """
        asked = asked_of(task)
        half = len(asked.turns) // 2
        parts = [asked.turns[:half], asked.turns[half:]] if half else [asked.turns]
        if not asked.turns or len(task.sources) <= len(parts[-1]):
            return ()
        return tuple(self._nearer(task, replace(asked, turns=part)) for part in parts)

    def pieces(self, task: Task) -> tuple[Task, ...]:
        """Divide the turns that a task asks about, when its replies are unusable; none for few."""
        turns = asked_of(task).turns
        size = len(turns) // PIECES
        parts = [turns[at : at + size] for at in range(0, len(turns), size)] if size else []
        return tuple(self._nearer(task, AskedTurns(part)) for part in parts)

    def rest_of(self, request: Request, answered: Collection[int]) -> tuple[Task, ...]:
        """Return the tasks for the turns that a reply did not reach because it was cut off.

        Args:
            answered: Log ids that it holds something of; what it has of the last may be a part.
        """
        last = max((id for id in answered if id in request.due), default=0)
        rest = [id for id in request.due if id >= last]
        if len(rest) < len(request.due):
            return (self.task_like(request.task, AskedTurns(rest), request.task.sources),)
        return self.split(request.task)

    def _request(self, task: Task, context: JobContext) -> Request:
        asked = asked_of(task)
        with context.snapshot() as snapshot:
            first = snapshot.turn(min(asked.turns))
            session = snapshot.session(first.session) if first else None
            seen_ids = (*task.sources, *asked.turns)
            span = range(min(seen_ids), max(seen_ids) + 1)
            turns = turns_around(snapshot, session, context, span, BEFORE, AFTER) if session else []
            new = range(min(asked.turns), max(asked.turns) + 1)
            wanted = [turns[place] for place in self.wanted(snapshot, turns, new, context)]
        due = {turn.id: turn for turn in wanted if turn.id in asked.turns}
        seen = [turn for turn in turns if turn.id in task.sources]
        return Request(task, asked.again, turns, seen, due)

    def _room(self, context: JobContext) -> int:
        others = FRAME_TOKENS + self.prompt_overhead(context)
        return max(MIN_RECORD_TOKENS, context.prompt_tokens - others)

    def task_like(self, task: Task, asked: AskedTurns, seen: Sequence[int]) -> Task:
        """Return the task of a call in another one's session; the same call has the same id."""
        session, turns = task.key.rpartition(":")[0], asked.turns
        key = f"{session}:{turns[0]}-{turns[-1]}/{len(seen)}{'!' * asked.again}"
        return new_task(
            self.name, task.scope, key, task.created, task.rank, note=asked, sources=seen
        )

    def _nearer(self, task: Task, asked: AskedTurns) -> Task:
        middle = (asked.turns[0] + asked.turns[-1]) / 2
        near = sorted(task.sources, key=lambda id: abs(id - middle))
        near = near[: (len(task.sources) + 1) // 2]
        return self.task_like(task, asked, sorted({*near, *asked.turns}))


def asked_of(task: Task) -> AskedTurns:
    return msgspec.json.decode(task.note or "{}", type=AskedTurns)


async def with_vectors(
    batch: WriteBatch, context: JobContext, lines: Mapping[tuple[str, str], str] = {}
) -> WriteBatch:
    """Add the vectors of a batch's keys, and of what is described; none without a model.

    Args:
        lines: What is described, as it is indexed, by scope and id; with vectors of its tokens.
    """
    texts = {**lines, **{(key.scope, key.id): key.text for key in batch.keys}}
    if not texts or not context.space:
        return batch
    embedded = await context.embed(list(texts.values()))
    return replace(
        batch,
        vectors=tuple(
            Vector(scope=scope, memory=id, values=row, of=digest(text))
            for ((scope, id), text), row in zip(texts.items(), embedded.vectors, strict=False)
        ),
        embedder=context.space,
        tokens=tuple(
            TokenCodes(scope=scope, memory=id, codes=encode(rows), of=digest(text))
            for ((scope, id), text), rows in zip(lines.items(), embedded.tokens, strict=False)
        ),
        token_key=context.token_space,
    )
