"""What the page's handlers work with: the memory, whose it may show, requests and their answers."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

import msgspec
from aiohttp import web

from slowcat_memory.core.catalogue import Catalogue
from slowcat_memory.core.disclosure import present_name, renamed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Memory as Record
from slowcat_memory.records import Session
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.store import Snapshot

PAGE, MOST_CHARS = 50, 4000  # rows of a page, and characters of a text that a request has


class Refusal(Exception):
    """A request that is not answered: a status, and why in words for the person."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


def reply(value: Any, status: int = 200) -> web.Response:
    """Return a value as JSON."""
    return web.Response(
        body=msgspec.json.encode(value), status=status, content_type="application/json"
    )


def number(given: Mapping[str, str], name: str, default: int = 0) -> int:
    """Return a parameter that is a number, at least 0.

    Raises:
        Refusal: It is none.
    """
    value = given.get(name, "")
    if not value:
        return default
    if not value.isascii() or not value.isdecimal() or len(value) > 18:
        raise Refusal(400, f"{name} is not a number.")
    return int(value)


def moment(given: Mapping[str, str], name: str) -> datetime | None:
    """Return a parameter that is a time in ISO 8601, in UTC; None when it is not given.

    Raises:
        Refusal: It is no time, or has no time zone.
    """
    value = given.get(name, "")
    if not value:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise Refusal(400, f"{name} is not a time.")
    return at.astimezone(UTC)


def text(given: Mapping[str, Any], name: str) -> str:
    """Return a field of a request's body that is text, without space around it.

    Raises:
        Refusal: It is missing, not text, or longer than ``MOST_CHARS``.
    """
    value = given.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Refusal(400, f"{name} is missing.")
    if len(value) > MOST_CHARS:
        raise Refusal(400, f"{name} is longer than {MOST_CHARS} characters.")
    return value.strip()


async def body(request: web.Request, most: int) -> dict[str, Any]:
    """Return a request's JSON object.

    Raises:
        Refusal: It is none, or larger than ``most`` bytes.
    """
    if request.content_type != "application/json":
        raise Refusal(415, "Only JSON is read.")
    if (request.content_length or 0) > most:
        raise Refusal(413, "That is too much at once.")
    try:
        value = msgspec.json.decode(await request.read())
    except (msgspec.DecodeError, RecursionError):  # brackets in brackets in …
        value = None
    if not isinstance(value, dict):
        raise Refusal(400, "That is not a JSON object.")
    return value


# ------------------------------------------------------------------- the memory


STOP_S = 5.0  # that idle work may take to stop when the page ends


class Stopped(Exception):
    """Idle work that the page began is to end."""


Doctor = Callable[[MemoryEngine], Sequence[Any]]
"""Returns the findings of all checks, with the fields that ``views.health.FINDING`` names."""


class PageContext:
    """One page's memory.

    Attributes:
        person: The scope that the page opens with.
        everyone: Whether it may show every person's memory.
        doctor: Runs the checks of `slowcat-memory doctor`; None when the page has none.
    """

    def __init__(
        self,
        memory: MemoryEngine,
        *,
        person: str,
        everyone: bool = False,
        doctor: Doctor | None = None,
    ) -> None:
        self.memory, self.person, self.doctor = memory, check_scope(person), doctor
        self.everyone = everyone or memory.config.people.scopes == "one"
        self._thinking, self._stop = threading.Lock(), threading.Event()
        self._viewing = threading.RLock()
        self._talks: dict[str, tuple[tuple[int, int], list[Session]]] = {}

    def think(self) -> int | None:
        """Do the idle work that is due; return how much is left, None when it was stopped.

        Raises:
            Refusal: The page is doing it already.
        """
        if not self._thinking.acquire(blocking=False):
            raise Refusal(409, "Idle work is being done already.")

        def go_on(_: object) -> None:
            if self._stop.is_set():
                raise Stopped

        try:
            self._stop.clear()
            return self.memory.idle.until_done(progress=go_on)
        except Stopped:
            return None
        finally:
            self._thinking.release()

    def stop_thinking(self) -> None:
        """End the idle work that the page began. Returns at once."""
        self._stop.set()

    def close(self) -> None:
        """End what the page began. Blocks."""
        self.stop_thinking()
        if self._thinking.acquire(timeout=STOP_S):
            self._thinking.release()

    def scopes(self, snapshot: Snapshot) -> list[str]:
        """Return whose memories the page may show; guests' only with ``everyone``."""
        if not self.everyone:
            return [self.person]
        return sorted({self.person, *snapshot.scopes()})

    def name(self, scope: str, name: str) -> str:
        """Return the present name of a scope's user for an earlier one; other names stay."""
        return present_name(name, scope, self.memory.reader(scope, local=True).called)

    def present(self, memory: Record) -> Record:
        """Return a memory under the present name of its scope's user."""
        return renamed(memory, self.memory.reader(memory.scope, local=True).called)

    def shows(self, scope: str) -> bool:
        """Return whether the page may show a person's memory; "" stands for work of nobody's."""
        return self.everyone or scope in ("", self.person)

    def scope(self, given: Mapping[str, Any]) -> str:
        """Return the scope that a request names, by default the page's person.

        Raises:
            Refusal: The page may not show it.
        """
        wanted = given.get("scope") or self.person
        if not self.shows(str(wanted)):
            raise Refusal(403, "This page shows one person's memory.")
        return check_scope(str(wanted))

    def catalogue(self, scope: str, snapshot: Snapshot) -> AbstractContextManager[Catalogue]:
        """Lend a scope's catalogue, as new as a snapshot."""
        self.talks(scope, snapshot)  # read at the same time
        return self.memory.catalogue(scope, snapshot)

    def talks(self, scope: str, snapshot: Snapshot) -> list[Session]:
        """Return a scope's conversations, the latest spoken first; read again when one goes on."""
        at = snapshot.forget_epoch(), snapshot.last_id()
        with self._viewing:
            if scope not in self._talks or self._talks[scope][0] != at:
                talks = [talk for talk in snapshot.sessions(scope) if talk.turns]
                talks.sort(key=lambda talk: (talk.last, talk.id), reverse=True)
                self._talks[scope] = at, talks
            return self._talks[scope][1]
