"""The context of a session for the system instruction, and the icebreaker that it takes.

The context is read from the store, and constant during the session. Icebreakers wait in a queue of
each scope, in the store. An application, or a job, pushes; the context of the next session takes
one. It is retired, and the session that took it is recorded with it, in the same transaction and
before its text is used: a crash may lose an icebreaker, and never repeats one. A session has no id
before somebody speaks in it, so it is identified by the session that ended before it.
"""

import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import msgspec
from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.blocks.session_head import HeadOptions, SessionStart, session_preamble
from slowcat_memory.core.blocks.statements import DATED, may_have_line
from slowcat_memory.core.catalogue import Catalogue
from slowcat_memory.core.disclosure import Reader, disclose
from slowcat_memory.core.memory import BLOCK, ICEBREAKER, NOTE, SESSION_SUMMARY, family, holds
from slowcat_memory.core.proactive.policy import (
    ANY_HOUR,
    PASSED,
    USED,
    IcebreakerOptions,
    choose,
    due,
    expired,
    waiting,
    with_outcome,
)
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.errors import StoreError, describe_error
from slowcat_memory.records import Cursor, Disclosed, Memory, Session, WriteBatch
from slowcat_memory.runtime.namespaces.registry import UserNames, check_scope
from slowcat_memory.store import Snapshot, Store

HOLD = timedelta(hours=1)  # between session_context and the first words
WRITTEN_S = 5.0


class Taken(Struct, frozen=True):
    """Which session took which icebreaker.

    Attributes:
        memory: The icebreaker's id, "" once that session is over: a resumed one gets no second.
        after: The session that had ended last by then, "" for none.
    """

    memory: str
    after: str
    at: datetime


@dataclass(eq=False, repr=False)
class Icebreakers:
    """Pushes, lists, drops and takes icebreakers. Safe to use from several threads."""

    store: Store
    zone: tzinfo
    clock: Callable[[], datetime]
    options: IcebreakerOptions
    user_name: str

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def push(
        self,
        scope: str,
        text: str,
        *,
        priority: float = 0.5,
        expires: datetime | None = None,
        quiet: bool = True,
    ) -> Memory | None:
        """Add an icebreaker to the queue. Blocks until it is durable.

        Args:
            text: The subject; the LLM words it.
            priority: 0 to 1; the highest is used first.
            expires: When it is no longer worth saying; None for as configured.
            quiet: Hold it back during the quiet hours.

        Returns:
            The memory; None when it is not queued: the same one was used or dropped, and has not
            expired since, or the queue is full of higher priorities.

        Raises:
            ValueError: The text is empty, the priority out of range, or it has expired already.
            ConfigError: The scope has no valid name.
            StoreError: It cannot be saved.
        """
        now, (kept, _) = self.clock(), clean(text)
        expires = expires or now + timedelta(days=self.options.expire_days)
        if not kept:
            raise ValueError("an icebreaker needs a text")
        if not 0 <= priority <= 1:
            raise ValueError(f"the priority must be between 0 and 1, not {priority}")
        if expires <= now:
            raise ValueError("the icebreaker has expired already")
        digest = hashlib.blake2b(f"{check_scope(scope)}\0{kept}".encode(), digest_size=8)
        memory = Memory(
            id=f"{ICEBREAKER}/{digest.hexdigest()}",
            kind=ICEBREAKER if quiet else ANY_HOUR,
            scope=scope,
            speaker=self.user_name,
            text=kept,
            valid_from=now,
            valid_to=expires,
            recorded_at=now,
            importance=priority,
            trust="agent",
        )
        with self._lock:
            with self.store.snapshot() as snapshot:
                known = {memory.id: memory for memory in _all(snapshot, scope)}
            same = known.get(memory.id)
            if same is not None and same.retired_at and not expired(same, now):
                return None
            known[memory.id] = memory
            surplus = waiting(known.values(), now)[max(0, self.options.most) :]
            if memory in surplus:
                return None
            stale = tuple((scope, memory.id) for memory in known.values() if expired(memory, now))
            puts = (memory, *_retired(surplus, now))
            self.store.apply(ICEBREAKER, WriteBatch(memories=puts, drop=stale)).wait(None)
        return memory

    def waiting(self, scope: str) -> list[Memory]:
        """Return the queued icebreakers, the next one first."""
        with self.store.snapshot() as snapshot:
            return waiting(_all(snapshot, scope), self.clock())

    def for_session(
        self, scope: str, sessions: Sequence[Session], reader: Reader
    ) -> Disclosed | None:
        """Take the icebreaker of the next or present session; the same one at every call.

        None if none may be used. One that ``reader`` must not see is left in the queue.
        """
        now = self.clock()
        going = max((s.started for s in sessions if s.ended is None), default=None)
        latest = max((s for s in sessions if s.ended), key=lambda s: s.last, default=None)
        after = latest.id if latest else ""
        with self._lock:
            with self.store.snapshot() as snapshot:
                every = _all(snapshot, scope)
                shown = (disclose(memory, reader) for memory in every)
                known = {memory.id: memory for memory in shown if memory}
                taken = _taken(snapshot, scope)
            if taken and taken.after == after and (going or now) - taken.at <= HOLD:
                return known.get(taken.memory)
            if going is not None or self.store.readonly:
                return None
            last = latest.last if latest else None
            chosen = choose(known.values(), now, self.zone, last, self.options)
            if chosen is None:
                if taken and taken.memory:
                    self._record(scope, Taken("", after, now), ())
                return None
            others = due(known.values(), now) if self.options.drop_others else ()
            rest = (icebreaker for icebreaker in others if icebreaker.id != chosen.id)
            passed = (with_outcome(icebreaker, PASSED) for icebreaker in rest)
            used = (with_outcome(chosen, USED), *passed)
            if not self._record(scope, Taken(chosen.id, after, now), used):
                return None
        logger.info(f"memory: {chosen.id} of scope {scope} is used")
        return chosen

    def _record(self, scope: str, taken: Taken, used: Iterable[Memory]) -> bool:
        """Record a session's icebreaker, and retire it if used; return False if not durable."""
        note = msgspec.json.encode(taken).decode()
        cursor = Cursor(name=f"{ICEBREAKER}/{scope}", position=0, note=note)
        batch = WriteBatch(memories=_retired(used, taken.at), cursor=cursor)
        try:
            self.store.apply(ICEBREAKER, batch).wait(WRITTEN_S)
        except (StoreError, TimeoutError) as error:
            logger.warning(f"memory: an icebreaker is left unused: {describe_error(error)}")
            return False
        return True


def _all(snapshot: Snapshot, scope: str) -> list[Memory]:
    return list(snapshot.memories(scope, f"{ICEBREAKER}/"))


def _retired(memories: Iterable[Memory], now: datetime) -> tuple[Memory, ...]:
    return tuple(replace(memory, retired_at=now) for memory in memories)


def _taken(snapshot: Snapshot, scope: str) -> Taken | None:
    cursor = snapshot.cursor(f"{ICEBREAKER}/{scope}")
    return None if cursor is None else msgspec.json.decode(cursor.note, type=Taken)


# ------------------------------------------------------------------- the context


_WHOLE = ("kind", BLOCK), ("kind", NOTE)  # all of these are read
Lend = Callable[[str, Snapshot], AbstractContextManager[Catalogue]]

SLACK = timedelta(minutes=1)  # a session that is later than now by more was dated by a wrong clock


@dataclass(eq=False, repr=False)
class Heads:
    """Renders the context of sessions."""

    store: Store
    lend: Lend
    icebreakers: Icebreakers
    zone: tzinfo
    clock: Callable[[], datetime]
    options: HeadOptions
    users: UserNames
    language: str

    def __post_init__(self) -> None:
        # By scope: the latest session when a context was rendered after its end, and when that was.
        self._ended: dict[str, tuple[Session, datetime]] = {}
        self._asked: dict[str, tuple[int, datetime]] = {}  # by scope: talks before, and when

    def write(self, scope: str, reader: Reader) -> str:
        """Render the context of the scope's next session, or of the present one.

        Returns:
            A few lines, "" if there is nothing to include, or the reader may not read the scope.
        """
        if scope not in reader.scopes:
            return ""
        with self.store.snapshot() as snapshot:
            sessions = self._continued(scope, snapshot.sessions(scope))
            ended = [session for session in sessions if session.ended is not None]
            moment = self._moment(scope, sessions, len(ended))
            past = [session for session in ended if session.last <= self.clock() + SLACK]
            last = max(past, key=lambda session: session.last, default=None)
            going = len(ended) < len(sessions)
            with self.lend(scope, snapshot) as catalogue:
                rows = self._chosen(catalogue, moment, last, going=going)
            memories = [
                replace(shown, retired_at=None)
                for row in rows
                if (memory := snapshot.memory(scope, row.id))
                and (shown := disclose(memory, reader))
            ]
        icebreaker = self.icebreakers.for_session(scope, sessions, reader)
        told = [m for m in memories if last and m.kind == SESSION_SUMMARY and _is_of(m, last)]
        start = SessionStart(
            moment=moment,
            talks=len(ended),
            last=last.last if last else None,
            summary=max(told, key=lambda m: (m.recorded_at or m.valid_from, m.id), default=None),
            memories=memories,
            icebreaker=icebreaker,
            user=self.users.of(scope),
        )
        return session_preamble(start, self.zone, self.options, self.language)

    def _chosen(
        self, catalogue: Catalogue, moment: datetime, last: Session | None, *, going: bool
    ) -> list[Memory]:
        """Return the rows of the memories that a context may be made of."""
        facts = catalogue.having(*(("kind", kind) for kind in DATED))
        summaries = catalogue.having(("kind", SESSION_SUMMARY)) if last else ()
        every = (
            *(row for row in facts if may_have_line(row, moment, self.zone)),
            *(row for row in summaries if last and _is_of(row, last)),
            *catalogue.having("/pinned", *_WHOLE),
        )
        return [
            row
            for row in {row.id: row for row in every}.values()
            if _is_due(row, moment, going)
            and holds(replace(row, retired_at=None), self.clock())
            and (row.retired_at is None or (going and _stood(row, moment, catalogue)))
        ]

    def _continued(self, scope: str, sessions: Sequence[Session]) -> list[Session]:
        """Return a scope's sessions such that a context stays the same once words are said.

        A context is rendered before the first words. These may resume the latest session, which had
        ended by then: it stays ended here, and what follows is a session of its own.
        """
        open_ = {session.id for session in sessions if session.ended is None}
        latest, since = self._ended.get(scope, (None, self.clock()))
        if latest is not None and latest.id in open_:
            rest = [session for session in sessions if session.id != latest.id]
            new = Session(id=f"{latest.id} resumed", scope=scope, started=since, last=since)
            return [*rest, latest, new]
        last = max(sessions, key=lambda session: session.last, default=None)
        if not open_ and last is not None and last != latest:
            self._ended[scope] = (last, self.clock())
        return list(sessions)

    def _moment(self, scope: str, sessions: Sequence[Session], talks: int) -> datetime:
        """Return when the session begins, or its context was first rendered, shortly before."""
        going = [session.started for session in sessions if session.ended is None]
        begins = max(going) if going else self.clock()
        known, at = self._asked.get(scope, (-1, begins))
        if known != talks or begins - at > HOLD:
            at = begins
        self._asked[scope] = (talks, at)
        return at


def _stood(row: Memory, moment: datetime, catalogue: Catalogue) -> bool:
    """Return whether a retired memory was superseded since a session began.

    What idle work supersedes during the session stays until its end; what a user retires is removed
    at once.
    """
    alike = catalogue.having(("kind", row.kind))
    newer = {new.recorded_at for new in alike if new.made or family(new.kind) == BLOCK}
    return row.retired_at is not None and row.retired_at > moment and row.retired_at in newer


def _is_due(memory: Memory, moment: datetime, going: bool) -> bool:
    """Return whether a memory is included; one recorded since waits for the next session.

    A pinned one does not wait: a user who pins something in a session wants it at once.
    """
    return memory.pinned or not going or (memory.recorded_at or memory.valid_from) <= moment


def _is_of(memory: Memory, session: Session) -> bool:
    """Return whether a summary is of a session's turns or, without sources, of its time."""
    if memory.sources:
        return any(session.first_turn <= turn <= session.last_turn for turn in memory.sources)
    return session.started <= memory.valid_from <= (session.ended or session.last)
