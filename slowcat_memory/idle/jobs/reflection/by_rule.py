"""Jobs by rule: what may be brought up, the profile of the user, and episodes; see ``Job``."""

from collections.abc import Sequence

from msgspec.structs import replace

from slowcat_memory.core.blocks import block as blocks
from slowcat_memory.core.blocks import lasting
from slowcat_memory.core.blocks.block import OWNERS, PROFILE
from slowcat_memory.core.blocks.lasting import PROFILE_VERSION, ProfileField
from slowcat_memory.core.blocks.statements import EVENT, THREAD
from slowcat_memory.core.extraction.options import ExtractiveOptions
from slowcat_memory.core.extraction.prompt_record import small_talk
from slowcat_memory.core.facts.fact import key_id
from slowcat_memory.core.language import language_of
from slowcat_memory.core.memory import EPISODE, ICEBREAKER, family
from slowcat_memory.core.proactive import open_threads
from slowcat_memory.core.proactive.open_threads import PLAN, VERSION, Later, OpenThread, later_of
from slowcat_memory.core.proactive.policy import PASSED, BringUpOptions, outcome_of, waiting
from slowcat_memory.core.summaries import by_rule
from slowcat_memory.core.text.normalize import Tokenizer, fold
from slowcat_memory.core.time.expressions import day_of
from slowcat_memory.idle.job import JobContext, new_task
from slowcat_memory.idle.jobs.options import EpisodesOptions
from slowcat_memory.idle.jobs.session_log import (
    ScopeJob,
    SessionJob,
    recent_sessions,
    user_of,
    visible_turns,
)
from slowcat_memory.records import Memory, Session, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

SESSIONS = 6  # searched for what closes open threads
_BROUGHT_UP = (THREAD, EVENT, PLAN)


class BringUp(ScopeJob):
    """Open threads that the agent may bring up, worded in advance.

    See ``core.proactive.open_threads``. A source is brought up at most once: one that was used, or
    that the user dismissed, is not queued again. One that was displaced by another is, until it
    expires.
    """

    name, version, writes = "bring_up", VERSION, f"{ICEBREAKER}/"
    rank = 88  # after its input facts
    Options = BringUpOptions

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        options: BringUpOptions = context.options
        with context.snapshot() as snapshot:
            memories = list(snapshot.memories(task.scope))
            sessions = recent_sessions(snapshot, task.scope, memories, SESSIONS)
            user = user_of(snapshot, task.scope)
        later = later_of((turn for session in sessions for turn in session.turns), memories)
        matters = open_threads.of_facts(memories, context.now, context.zone, options, later)
        known = {memory.id: memory for memory in memories}
        usable = _usable(matters, task.scope, memories)
        wanted = {matter.id(task.scope): matter for matter in usable[: options.most]}
        mine = [m for m in waiting(memories, context.now) if m.made and m.facets.get("source")]
        still = {matter.source for matter in matters}
        stale = [m for m in mine if m.facets["source"] not in still]
        language = language_of(context.language)
        new = [
            open_threads.icebreaker(
                matter,
                open_threads.phrase(matter, context.zone, language),
                scope=task.scope,
                speaker=user,
                now=context.now,
                made=context.made(),
            )
            for id_, matter in wanted.items()
            if (before := known.get(id_)) is None
            or before.retired_at is not None
            or before.valid_from != matter.due  # else it waits already, for the same day
        ]
        gone = tuple(replace(memory, retired_at=context.now) for memory in stale)
        over = _closed(memories, later, context)
        return WriteBatch(
            memories=(*gone, *new, *over),
            drop=tuple((m.scope, m.id) for m in mine if m not in stale and m.id not in wanted),
            drop_keys=tuple((fact.scope, key_id(fact)) for fact in over),
        )


def _usable(
    matters: Sequence[OpenThread], scope: str, memories: Sequence[Memory]
) -> list[OpenThread]:
    """Return the matters that were never brought up, nor dismissed, each once."""
    every = [m for m in memories if family(m.kind) == ICEBREAKER]
    gone = [m for m in every if m.retired_at is not None and outcome_of(m) != PASSED]
    past, usable = [(m.text, m.valid_from) for m in gone], list[OpenThread]()
    ids = {m.id for m in gone}
    for matter in matters:
        if matter.id(scope) in ids or any(open_threads.repeats(matter, *old) for old in past):
            continue
        usable.append(matter)
        past.append((matter.said.text, matter.due))
    return usable


def _closed(
    memories: Sequence[Memory], later: Sequence[Later], context: JobContext
) -> list[Memory]:
    """Return the open tasks, and the events that do not take place, as over since it was said."""
    over = list[Memory]()
    for fact in memories:
        kept = fact.kind in _BROUGHT_UP and not (fact.retired_at or fact.pinned)
        ending = open_threads.closed(fact, later) if kept else None
        if ending and (fact.kind == THREAD or ending[0] in ("off", "moved")):
            outcome, by = ending
            facets = fact.facets | {"why": outcome, "closed_by": str(by.turn)}
            until = max(by.at, fact.valid_from)
            over.append(replace(fact, valid_to=until, retired_at=context.now, facets=facets))
    return over


class Profile(ScopeJob):
    """The job that keeps the profile of the user; see ``core.blocks.lasting``."""

    name, version, rank, writes = PROFILE, PROFILE_VERSION, BringUp.rank + 1, "block/"

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        with context.snapshot() as snapshot:
            memories = list(snapshot.memories(task.scope))
            user = user_of(snapshot, task.scope)
        before = blocks.current(memories, PROFILE)
        if before is not None and blocks.owner_of(before) == "user":
            return WriteBatch()
        fields = lasting.profile_of(memories, user, context.now)
        new = blocks.block(
            PROFILE,
            lasting.profile_line(_beyond_name(fields, user), language_of(context.language)),
            scope=task.scope,
            speaker=user,
            now=context.now,
            sources=(turn for field in fields.values() for turn in field.sources),
            of=(id_ for field in fields.values() for id_ in field.of),
            made=context.made(),
        )
        changed = blocks.revised(memories, new, owner=OWNERS[PROFILE], limit=0)
        return WriteBatch(memories=changed)


def _beyond_name(fields: dict[str, ProfileField], user: str) -> dict[str, ProfileField]:
    """Leave out a name that is the user's, which the line begins with."""
    return {n: row for n, row in fields.items() if n != "name" or fold(row.value) != fold(user)}


TEXT = ExtractiveOptions(words=45, least=45)


class Episodes(SessionJob):
    """The parts of a conversation in which the user says something, with what was stated.

    Which parts these are follows from the turns alone, so that a conversation has the same episodes
    whenever, and in whatever order, it is worked on. Recall ignores episodes: it finds the turns
    themselves.
    """

    name, version, needs = "episodes", 2, "nothing"
    Options = EpisodesOptions

    def due(
        self, snapshot: Snapshot, session: Session, new: range, context: JobContext
    ) -> tuple[Task, ...]:
        return (new_task(self.name, session.scope, session.id, session.started, 70),)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Write the episodes of a conversation, as many as its day still has room for."""
        with context.snapshot() as snapshot:
            session = snapshot.session(task.key)
            if session is None:
                return WriteBatch()
            turns = visible_turns(snapshot, session, None)
            known = list(snapshot.memories(task.scope, f"{EPISODE}/"))
        episodes = [row for row in known if row.made is not None and row.made.job == self.name]
        earlier = [row.facets["day"] for row in episodes if row.sources[0] < session.first_turn]
        new = dict[str, Memory]()
        for window in context.pausing(_windows(turns, context.options.window)):
            if not _is_substantial(window, context.options.words):
                continue
            episode = _episode(window, context)
            if episode.text and earlier.count(episode.facets["day"]) < context.options.per_day:
                earlier.append(episode.facets["day"])
                new[episode.id] = episode
        own = [row for row in episodes if session.first_turn <= row.sources[0] <= session.last_turn]
        gone = tuple((row.scope, row.id) for row in own if row.id not in new and not row.pinned)
        return WriteBatch(memories=tuple(new.values()), drop=gone)


def _windows(turns: Sequence[Turn], size: int) -> list[list[Turn]]:
    """Divide turns into windows of so many of the user's, each beginning with one."""
    firsts = [place for place, turn in enumerate(turns) if turn.role == "user"][::size]
    return [list(turns[at:end]) for at, end in zip(firsts, (*firsts[1:], None), strict=True)]


def _is_substantial(window: Sequence[Turn], words: int) -> bool:
    own = [turn.text for turn in window if turn.role == "user" and not small_talk(turn.text)]
    return sum(len(text.split()) for text in own) >= words


def _episode(window: Sequence[Turn], context: JobContext) -> Memory:
    first, tokenize = window[0], Tokenizer().for_queries()
    return Memory(
        id=f"{EPISODE}/{first.id}",
        kind=EPISODE,
        scope=first.scope,
        speaker=first.speaker,
        text=by_rule.of_turns(window, context.zone, tokenize, TEXT).text,
        valid_from=first.at,
        recorded_at=context.now,
        sources=tuple(turn.id for turn in window),
        trust="agent",
        facets={"day": day_of(first.at, context.zone).name, "until": window[-1].at.isoformat()},
        made=context.made(),
    )
