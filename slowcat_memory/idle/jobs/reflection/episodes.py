"""Keeps the moments of a conversation that stand out; see ``core.episodes``.

One task for a session's new turns, at its end or after so many of them. How many there may be
follows from the times of the turns alone, so that the same conversation yields the same episodes.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from slowcat_memory.core.blocks import episodes
from slowcat_memory.core.blocks.episodes import (
    EPISODE,
    SYSTEM,
    VERSION,
    EpisodesOptions,
    EpisodeText,
)
from slowcat_memory.core.blocks.statements import SourcedLine, record
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.time.periods import day_of
from slowcat_memory.errors import BadAnswerError, EndpointError, PromptTooLongError
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.extraction.due import LOOKED_AT, news
from slowcat_memory.idle.jobs.reflection.recent_sessions import told_turns
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Cursor, Made, Memory, Task, Turn, WriteBatch

NAME = "episodes"
RANK = 70
RECENT = 12  # episodes that a new one must differ from
ANSWER_TOKENS = 150


class Looked(Struct, frozen=True, omit_defaults=True):
    """What the cursor's note says: by session that goes on, the first turn not yet in a window."""

    open: dict[str, int] = {}


class Episodes:
    """The job; see ``idle.job.Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "nothing"
    trigger = Trigger(turns=8, session_end=True)
    Options: type[Struct] = EpisodesOptions

    def __init__(self) -> None:
        """Make the words' stems ready."""
        self._tokenize = Tokenizer()

    def plan(self, context: JobContext) -> Plan | None:
        """Say which windows are full; see ``idle.job.Job``."""
        if not context.options.enabled:
            return None
        tasks, still = list[Task](), dict[str, int]()
        with context.snapshot() as snapshot:
            before = snapshot.cursor(NAME)
            after = before.position if before else 0
            upto, first = news(snapshot, after, _open(before), set(context.scopes()))
            caught_up = upto >= snapshot.last_id() or upto - after < LOOKED_AT
            for id_, turn in first.items():
                session = snapshot.session(id_)
                if session is None:
                    continue
                whole = session.ended is not None and caught_up
                turns = [t for t in told_turns(snapshot, session) if turn <= t.id <= upto]
                full = episodes.windows(turns, context.options.window, whole=whole)
                tasks += [_task(window, context) for window in full]
                rest = turns[sum(map(len, full)) :]
                if not whole:
                    still[id_] = rest[0].id if rest else upto + 1
        note = msgspec.json.encode(Looked(still)).decode()
        cursor = Cursor(name=NAME, position=upto, note=note)
        return None if cursor == before else Plan(tasks=tuple(tasks), cursor=cursor)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Make an episode of a window, if it is to be one; see ``idle.job.Job``."""
        options: EpisodesOptions = context.options
        with context.snapshot() as snapshot:
            first = snapshot.turn(task.sources[0])
            session = snapshot.session(first.session) if first else None
            if first is None or session is None:
                return WriteBatch()
            said = told_turns(snapshot, session)
            window = [turn for turn in said if turn.id in task.sources]
            known = _known(list(snapshot.memories(task.scope, f"{EPISODE}/")), first)
            before = known[-1] if known else None
            since = before.sources[-1] if before else 0
            own = snapshot.turns(task.scope, since, window[0].id - 1) if window and before else ()
            between = sum(turn.role == "user" for turn in own)
        if not window or not episodes.is_substantial(window, options):
            return WriteBatch()
        if before and episodes.continues(window, before, self._tokenize, options):
            longer = [turn for turn in said if turn.id in before.sources] + window
            text, made = await self._told(longer, context)
            one = episodes.merged(before, window, text, context.now, made)
        else:
            if not self._may_begin(window, known, between, context):
                return WriteBatch()
            text, made = await self._told(window, context)
            one = episodes.new(window, text, context.zone, context.now, made)
        return WriteBatch(memories=(one,) if one.text else ())

    def _may_begin(
        self, window: Sequence[Turn], known: Sequence[Memory], between: int, context: JobContext
    ) -> bool:
        options: EpisodesOptions = context.options
        today = day_of(window[0].at, context.zone).name
        had = sum(one.facets.get("day") == today for one in known)
        before = known[-1] if known else None
        new = episodes.novelty(window, known[-RECENT:], self._tokenize)
        rested = episodes.is_cooled_down(window, before, between, options)
        return had < options.per_day and rested and new >= options.novelty

    async def _told(self, window: Sequence[Turn], context: JobContext) -> tuple[str, Made]:
        """Tell a window in an LLM's words, or in its own."""
        text, model = "", ""
        if context.llm is not None:
            seen = [SourcedLine(text=f"{t.speaker}: {t.text}", at=t.at) for t in window]
            prompt = Prompt(
                job=NAME,
                version=VERSION,
                system=SYSTEM,
                user=f"{record(seen, context.zone)}\nWrite the text.",
                max_tokens=ANSWER_TOKENS,
            )
            try:
                answer = await context.llm.complete(prompt, EpisodeText)
                text = episodes.kept(answer.value, ground(window, context.zone))
                model = answer.model if text else ""
            except (BadAnswerError, EndpointError, PromptTooLongError):
                pass  # its own words tell it, too
        text = text or episodes.by_rule(window, self._tokenize)
        return text, Made(job=NAME, version=VERSION, model=model)


def _known(found: list[Memory], first: Turn) -> list[Memory]:
    """Keep the episodes of before a turn, the latest last."""
    earlier = [one for one in found if not one.retired_at and one.sources[0] < first.id]
    return sorted(earlier, key=lambda one: one.sources[0])


def _open(cursor: Cursor | None) -> dict[str, int]:
    try:
        return msgspec.json.decode(cursor.note, type=Looked).open if cursor else {}
    except msgspec.DecodeError:  # another version's
        return {}


def _task(window: Sequence[Turn], context: JobContext) -> Task:
    first = window[0]
    return Task(
        id=f"{NAME}/{first.scope}/{first.id}",
        job=NAME,
        scope=first.scope,
        key=str(first.id),
        created=context.now,
        rank=RANK,
        sources=tuple(turn.id for turn in window),
    )
