"""The context of a session for the system instruction: from the store, constant during it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta, tzinfo

from msgspec.structs import replace

from slowcat_memory.core.blocks.coming import DATED, may_have_line
from slowcat_memory.core.blocks.session_head import HeadOptions, SessionStart, session_preamble
from slowcat_memory.core.catalogue import Catalogue
from slowcat_memory.core.disclosure import Reader, disclose_found
from slowcat_memory.core.memory import BLOCK, NOTE, SESSION_SUMMARY, family
from slowcat_memory.core.validity import holds
from slowcat_memory.records import Memory, Session
from slowcat_memory.runtime.conversation.user_names import UserNames
from slowcat_memory.runtime.session.icebreakers import HOLD, Icebreakers
from slowcat_memory.store import Snapshot, Store

_WHOLE = ("kind", BLOCK), ("kind", NOTE)  # all of these are read
Lend = Callable[[str, Snapshot], AbstractContextManager[Catalogue]]

SLACK = timedelta(minutes=1)  # a session that is later than now by more was dated by a wrong clock


class Heads:
    """Renders the context of sessions."""

    def __init__(
        self,
        store: Store,
        lend: Lend,
        icebreakers: Icebreakers,
        zone: tzinfo,
        clock: Callable[[], datetime],
        options: HeadOptions,
        users: UserNames,
        language: str = "english",
    ) -> None:
        self._store, self._icebreakers, self._zone = store, icebreakers, zone
        self._lend = lend
        self._clock, self._options, self._users = clock, options, users
        self._language = language
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
        self._users.load(scope)
        with self._store.snapshot() as snapshot:
            sessions = self._continued(scope, snapshot.sessions(scope))
            ended = [session for session in sessions if session.ended is not None]
            moment = self._moment(scope, sessions, len(ended))
            past = [session for session in ended if session.last <= self._clock() + SLACK]
            last = max(past, key=lambda session: session.last, default=None)
            going = len(ended) < len(sessions)
            with self._lend(scope, snapshot) as catalogue:
                rows = self._chosen(catalogue, moment, last, going=going)
            memories = [
                replace(shown, retired_at=None)
                for row in rows
                if (one := snapshot.memory(scope, row.id))
                and (shown := disclose_found(one, reader, snapshot.memory))
            ]
        icebreaker = self._icebreakers.for_session(scope, sessions, reader)
        told = [m for m in memories if last and m.kind == SESSION_SUMMARY and _is_of(m, last)]
        start = SessionStart(
            moment=moment,
            talks=len(ended),
            last=last.last if last else None,
            summary=max(told, key=lambda m: (m.recorded_at or m.valid_from, m.id), default=None),
            memories=memories,
            icebreaker=icebreaker,
            user=self._users.of(scope),
        )
        return session_preamble(start, self._zone, self._options, self._language)

    def _chosen(
        self, catalogue: Catalogue, moment: datetime, last: Session | None, *, going: bool
    ) -> list[Memory]:
        """Return the rows of the memories that a context may be made of."""
        facts = catalogue.having(*(("kind", kind) for kind in DATED))
        summaries = catalogue.having(("kind", SESSION_SUMMARY)) if last else ()
        every = (
            *(one for one in facts if may_have_line(one, moment, self._zone)),
            *(one for one in summaries if last and _is_of(one, last)),
            *catalogue.having("/pinned", *_WHOLE),
        )
        return [
            one
            for one in {one.id: one for one in every}.values()
            if _is_due(one, moment, going)
            and holds(replace(one, retired_at=None), self._clock())
            and (one.retired_at is None or (going and _stood(one, moment, catalogue)))
        ]

    def _continued(self, scope: str, sessions: Sequence[Session]) -> list[Session]:
        """Return a scope's sessions such that a context stays the same once words are said.

        A context is rendered before the first words. These may resume the latest session, which had
        ended by then: it stays ended here, and what follows is a session of its own.
        """
        open_ = {session.id for session in sessions if session.ended is None}
        latest, since = self._ended.get(scope, (None, self._clock()))
        if latest is not None and latest.id in open_:
            rest = [session for session in sessions if session.id != latest.id]
            new = Session(id=f"{latest.id} resumed", scope=scope, started=since, last=since)
            return [*rest, latest, new]
        last = max(sessions, key=lambda session: session.last, default=None)
        if not open_ and last is not None and last != latest:
            self._ended[scope] = (last, self._clock())
        return list(sessions)

    def _moment(self, scope: str, sessions: Sequence[Session], talks: int) -> datetime:
        """Return when the session begins, or its context was first rendered, shortly before."""
        going = [session.started for session in sessions if session.ended is None]
        begins = max(going) if going else self._clock()
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
    newer = {one.recorded_at for one in alike if one.made or family(one.kind) == BLOCK}
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
