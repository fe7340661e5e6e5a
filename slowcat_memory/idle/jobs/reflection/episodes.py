"""Stores the salient moments of a conversation; see ``core.blocks.episodes``.

One task for each window of new turns of a session, when it is full or the session has ended. The
limits depend on the turns' own times only, so that a conversation always yields the same episodes.
"""

from collections.abc import Iterable, Sequence
from itertools import islice

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
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger, cursor_at, payload_of
from slowcat_memory.idle.jobs.changed_scopes import readable_among, readable_turns
from slowcat_memory.idle.jobs.session_log import EVENTS_PER_PLAN, read_log
from slowcat_memory.idle.prompt_gate import names_of
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Made, Memory, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

NAME = "episodes"
RANK = 70
RECENT = 12  # episodes from which a new one must differ
ANSWER_TOKENS = 150


class EpisodesCursor(Struct, frozen=True, omit_defaults=True):
    """The cursor's payload: for each open session, the first turn not yet in a window."""

    open: dict[str, int] = {}


class Episodes:
    """The job; see ``Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "llm if any"
    trigger = Trigger(turns=8, session_end=True)
    Options: type[Struct] = EpisodesOptions

    def __init__(self) -> None:
        self._tokenize = Tokenizer()

    def plan(self, context: JobContext) -> Plan | None:
        """Plan a task for each full window."""
        tasks, still = list[Task](), dict[str, int]()
        with context.snapshot() as snapshot:
            before = snapshot.cursor(NAME)
            after = before.position if before else 0
            upto, first = read_log(
                snapshot, after, payload_of(before, EpisodesCursor).open, set(context.scopes())
            )
            caught_up = upto >= snapshot.last_id() or upto - after < EVENTS_PER_PLAN
            for id_, turn in first.items():
                session = snapshot.session(id_)
                if session is None:
                    continue
                whole = session.ended is not None and caught_up
                turns = readable_turns(snapshot, session, turn, upto)
                full = episodes.windows(turns, context.options.window, whole=whole)
                tasks += [_task(window, context) for window in full]
                rest = turns[sum(map(len, full)) :]
                if not whole:
                    still[id_] = rest[0].id if rest else upto + 1
        cursor = cursor_at(NAME, upto, EpisodesCursor(still))
        return None if cursor == before else Plan(tasks=tuple(tasks), cursor=cursor)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Make or extend an episode from a window, if it is salient."""
        options: EpisodesOptions = context.options
        with context.snapshot() as snapshot:
            first = snapshot.turn(task.sources[0])
            session = snapshot.session(first.session) if first else None
            if first is None or session is None:
                return WriteBatch()
            said = readable_turns(snapshot, session, task.sources[0], task.sources[-1])
            window = [turn for turn in said if turn.id in task.sources]
            known = _known(context.view(AllEpisodes, snapshot, task.scope).found.values(), first)
            before = known[-1] if known else None
            since = before.sources[-1] if before else 0
            turns = snapshot.turns(task.scope, since, window[0].id - 1) if window and before else ()
            own = (turn for turn in turns if turn.role == "user")
            between = len(list(islice(own, options.cooldown_turns)))  # more make no difference
            told = readable_among(snapshot, session, before.sources) if before else []
        if not window or not episodes.is_substantial(window, options):
            return WriteBatch()
        if before and episodes.continues(window, before, self._tokenize, options):
            longer = told + window
            text, made = await self._text_of(longer, context)
            one = episodes.merged(before, window, text, context.now, made)
        else:
            if not self._may_begin(window, known, between, context):
                return WriteBatch()
            text, made = await self._text_of(window, context)
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

    async def _text_of(self, window: Sequence[Turn], context: JobContext) -> tuple[str, Made]:
        text, model = "", ""
        if context.llm is not None:
            seen = [SourcedLine(text=f"{t.speaker}: {t.text}", at=t.at) for t in window]
            prompt = Prompt(
                job=NAME,
                version=VERSION,
                system=SYSTEM,
                user=f"{record(seen, context.zone)}\nWrite the text.",
                made_from=names_of(window[0].scope, (turn.id for turn in window)),
                max_tokens=ANSWER_TOKENS,
            )
            try:
                answer = await context.llm.complete(prompt, EpisodeText)
                text = episodes.kept(answer.value, ground(window, context.zone))
                model = answer.model if text else ""
            except (BadAnswerError, EndpointError, PromptTooLongError):
                pass  # the rule below is used
        text = text or episodes.by_rule(window, context.zone, self._tokenize)
        return text, Made(job=NAME, version=VERSION, model=model)


class AllEpisodes:
    """The episodes of a namespace, for all steps; see ``WorkingSet``."""

    beginnings = (f"{EPISODE}/",)

    def __init__(self) -> None:
        self.found: dict[str, Memory] = {}

    def put(self, memory: Memory, snapshot: Snapshot) -> None:
        self.found[memory.id] = memory

    def drop(self, id: str) -> None:
        self.found.pop(id, None)


def _known(found: Iterable[Memory], first: Turn) -> list[Memory]:
    earlier = [one for one in found if not one.retired_at and one.sources[0] < first.id]
    return sorted(earlier, key=lambda one: one.sources[0])


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
