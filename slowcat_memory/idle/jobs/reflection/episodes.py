"""Stores the salient moments of a conversation; see ``core.blocks.episodes``.

Planning reads the log in order and decides by the turns alone which windows become episodes, so that
a conversation always yields the same episodes, however its tasks are processed later; a step writes
the text of one.
"""

from collections.abc import Iterable, Sequence
from itertools import islice

import msgspec
from msgspec import Struct

from slowcat_memory.core.blocks import episodes
from slowcat_memory.core.blocks.episodes import VERSION, Moment, moment_of
from slowcat_memory.core.blocks.options import EpisodesOptions
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.time.periods import day_of
from slowcat_memory.idle.job import (
    JobContext,
    Needs,
    Plan,
    Trigger,
    cursor_at,
    new_task,
    payload_of,
)
from slowcat_memory.idle.jobs.changed_scopes import readable_among, readable_turns
from slowcat_memory.idle.jobs.session_log import EVENTS_PER_PLAN, read_log
from slowcat_memory.records import Made, Session, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

NAME = "episodes"
RANK = 70
RECENT = 12  # episodes from which a new one must differ, at least


class Chosen(Struct, frozen=True, omit_defaults=True):
    """Turns that make an episode, and how many windows were merged into the first."""

    sources: tuple[int, ...]
    merged: int = 0


class EpisodesCursor(Struct, frozen=True, omit_defaults=True):
    """The cursor's payload.

    Attributes:
        open: For each open session, the first turn not yet in a window.
        last: For each namespace, its last episodes.
    """

    open: dict[str, int] = {}
    last: dict[str, list[Chosen]] = {}


class Episodes:
    """The job; see ``Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "nothing"
    trigger = Trigger(turns=8, session_end=True)
    Options: type[Struct] = EpisodesOptions

    def __init__(self) -> None:
        self._tokenize = Tokenizer().for_queries()  # jobs outlive a person

    def plan(self, context: JobContext) -> Plan | None:
        """Plan a task for each new or longer episode."""
        tasks, still = dict[str, Task](), dict[str, int]()
        with context.snapshot() as snapshot:
            before = snapshot.cursor(NAME)
            note = payload_of(before, EpisodesCursor) or EpisodesCursor()
            after = before.position if before else 0
            upto, first = read_log(snapshot, after, note.open, set(context.scopes()))
            caught_up = upto >= snapshot.last_id() or upto - after < EVENTS_PER_PLAN
            chains = dict[str, _Chain]()
            for id_, turn in sorted(first.items(), key=lambda one: one[1]):
                session = snapshot.session(id_)
                if session is None:
                    continue
                whole = session.ended is not None and caught_up
                scope = session.scope
                turns = readable_turns(snapshot, session, turn, upto)
                full = episodes.windows(turns, context.options.window, whole=whole)
                if full and scope not in chains:
                    earlier = note.last.get(scope, [])
                    chains[scope] = _Chain(snapshot, scope, earlier, context, self._tokenize)
                for window in full:
                    if chosen := chains[scope].take(window):
                        task = _task(chosen, session, context)
                        tasks[task.id] = task  # one that goes on replaces its beginning
                rest = turns[sum(map(len, full)) :]
                if not whole:
                    still[id_] = rest[0].id if rest else upto + 1
        last = note.last | {scope: one.last for scope, one in chains.items() if one.last}
        cursor = cursor_at(NAME, upto, EpisodesCursor(still, last))
        return None if cursor == before else Plan(tasks=tuple(tasks.values()), cursor=cursor)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Write the text of an episode; none is left if its turns are gone."""
        with context.snapshot() as snapshot:
            moment = _readable(snapshot, task.sources)
        text = episodes.by_rule(moment, context.zone, self._tokenize) if moment else ""
        if not text:
            return WriteBatch()
        merged = msgspec.json.decode(task.note or "0", type=int)
        made = Made(job=NAME, version=VERSION)
        one = episodes.episode(moment, text, merged, context.zone, context.now, made)
        return WriteBatch(memories=(one,))


class _Chain:
    """The episodes of a namespace so far, to which windows are added in the order of the log."""

    def __init__(
        self,
        snapshot: Snapshot,
        scope: str,
        last: Sequence[Chosen],
        context: JobContext,
        tokenize: Tokenizer,
    ) -> None:
        self.last = list(last)
        self._snapshot, self._scope, self._zone = snapshot, scope, context.zone
        self._options: EpisodesOptions = context.options
        self._tokenize = tokenize
        found = (_readable(snapshot, one.sources) for one in last)
        self._moments = [moment_of(turns, tokenize) if turns else None for turns in found]

    def take(self, turns: Sequence[Turn]) -> Chosen | None:
        """Return the new or longer episode that a window makes; None for no episode."""
        if not episodes.is_substantial(turns, self._options):
            return None
        window = moment_of(turns, self._tokenize)
        before = self._moments[-1] if self._moments else None
        if before and episodes.continues(window, before, self._options):
            whole = before.and_then(window)
            self._moments[-1] = whole
            self.last[-1] = Chosen(_ids(whole), self.last[-1].merged + 1)
        elif self._may_begin(window, before):
            most = max(RECENT, self._options.per_day)
            self._moments = [*self._moments, window][-most:]
            self.last = [*self.last, Chosen(_ids(window))][-most:]
        else:
            return None
        return self.last[-1]

    def _may_begin(self, window: Moment, before: Moment | None) -> bool:
        known = [one for one in self._moments if one]
        today = day_of(window.first.at, self._zone)
        had = sum(day_of(one.first.at, self._zone) == today for one in known)
        if had >= self._options.per_day:
            return False
        if not episodes.is_cooled_down(
            window, before, self._between(window, before), self._options
        ):
            return False
        return episodes.novelty(window, known[-RECENT:]) >= self._options.novelty

    def _between(self, window: Moment, before: Moment | None) -> int:
        """Count the user's turns of a session since an episode; more than needed do not matter."""
        if before is None or before.last.session != window.first.session:
            return 0
        turns = self._snapshot.turns(self._scope, before.last.id, window.first.id - 1)
        own = (t for t in turns if t.role == "user" and t.session == window.first.session)
        return len(list(islice(own, self._options.cooldown_turns)))


def _ids(moment: Moment) -> tuple[int, ...]:
    return tuple(turn.id for turn in moment.turns)


def _readable(snapshot: Snapshot, ids: Iterable[int]) -> list[Turn]:
    """Return those of some turns, of any session, that may still be read."""
    found = [turn for id_ in ids if (turn := snapshot.turn(id_))]
    kept = list[Turn]()
    for name in dict.fromkeys(turn.session for turn in found):
        if session := snapshot.session(name):
            of_it = [turn.id for turn in found if turn.session == name]
            kept += readable_among(snapshot, session, of_it)
    return kept


def _task(one: Chosen, session: Session, context: JobContext) -> Task:
    first = one.sources[0]
    return new_task(
        NAME, session.scope, str(first), context.now, RANK, sources=one.sources, note=one.merged
    )
