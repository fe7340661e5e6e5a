"""What the page's handlers work with: the memory, whose it may show, requests, answers and rows.

Rows are plain values, times in ISO 8601, texts as they are. The page is on this machine, so
local-only texts are shown; whether one is local-only is shown too. A page has some 50 rows, the
newest first, and the place of the last one as a cursor.
"""

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any

import msgspec
from aiohttp import web

from slowcat_memory.core.catalogue import place
from slowcat_memory.core.disclosure import present_name, renamed
from slowcat_memory.core.graph.portrait import predicate_in_words
from slowcat_memory.core.memory import BLOCK, FACT, NOTE, QUARANTINED, chunk_id, family
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Memory, Session, Turn
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

    def present(self, memory: Memory) -> Memory:
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


# ------------------------------------------------------------------- rows


JOBS = {  # what a job does, in words for "by which rule or model"
    "facts": "facts, people and things from what was said",
    "summaries": "summaries",
    "merge": "facts compared",
    "note_facts": "facts from notes",
    "blocks": "what the agent keeps in mind",
}

_SHOWN = ("id", "scope", "text", "speaker", "pinned", "muted", "local_only")


def time_of(at: datetime | None) -> str | None:
    return None if at is None or at.year < 2 else at.isoformat()


def memory_row(page: PageContext, memory: Memory) -> dict[str, Any]:
    """Return a memory with all that is shown of it beside its words: see ``proof`` for these."""
    memory = page.present(memory)
    facets, made = memory.facets, memory.made
    return {
        **{name: getattr(memory, name) for name in _SHOWN},
        "family": family(memory.kind),
        "type": memory.kind.partition("/")[2].replace("_", " "),
        "since": time_of(memory.valid_from),
        "until": time_of(memory.valid_to),
        "retired": time_of(memory.retired_at),
        "replaced_by": facets.get("superseded_by", ""),
        "why": facets.get("why", ""),
        "sure": memory.statement.confidence,
        "quote": memory.statement.quote,
        "how": how_known(memory),
        "by": {
            "job": JOBS.get(made.job, made.job.replace("_", " ")) if made else "",
            "version": made.version if made else 0,
            "model": made.model if made else "",
        },
        "turns": list(memory.sources[:8]),
    }


def how_known(memory: Memory) -> str:
    """Return "said" (its words are there), "inferred" (from several), or "yours" (written by hand)."""
    if memory.made is None:
        own = family(memory.kind) in (NOTE, BLOCK) or not memory.sources
        return "yours" if own else "said"
    return "said" if memory.statement.quote else "inferred"


def turn_row(page: PageContext, turn: Turn, chunk: Memory | None = None) -> dict[str, Any]:
    """Return a turn, with the marks of its memory if it has any."""
    return {
        "id": chunk_id(turn.id),
        "turn": turn.id,
        **{name: getattr(turn, name) for name in ("scope", "session", "role", "text")},
        "speaker": page.name(turn.scope, turn.speaker),
        "at": time_of(turn.at),
        "pinned": bool(chunk and chunk.pinned),
        "muted": bool(chunk and chunk.muted),
        "retired": time_of(chunk.retired_at) if chunk else None,
        "local_only": chunk.local_only if chunk else turn.local_only,
    }


def relation_words(page: PageContext, memory: Memory, snapshot: Snapshot) -> dict[str, str]:
    """Return a relation's two sides by name, and what it says of them."""
    fact = page.present(memory).statement
    words = {"what": predicate_in_words(fact.predicate)}
    sides = (("subject", fact.subject, fact.subject_id), ("object", fact.object, fact.object_id))
    for side, named, id_ in sides:
        entity = snapshot.memory(memory.scope, id_) if id_ else None
        name = entity.facets.get("name", "") if entity else ""
        words[side] = page.name(memory.scope, name or named)
    return words


def session_row(session: Session, first: Turn | None) -> dict[str, Any]:
    """Return a conversation, with the words that it begins with."""
    return {
        "id": session.id,
        "started": time_of(session.started),
        "open": session.ended is None,
        "turns": session.turns,
        "words": first.text[:160] if first else "",
    }


def fact_row(page: PageContext, snapshot: Snapshot, memory: Memory, people: bool) -> dict[str, Any]:
    """Return a fact and what took its place; of people as a relation in words."""
    new = snapshot.memory(memory.scope, memory.facets.get("superseded_by", "") or "-")
    sides = relation_words(page, memory, snapshot) if people else {}
    return memory_row(page, memory) | {"replacement": page.present(new).text if new else ""} | sides


def weighed_row(
    page: PageContext, memory: Memory | None, offer: Any, verdict: str
) -> dict[str, Any]:
    """Return what recall decided of a memory, which the page may not show if another's."""
    shown = memory if memory and page.shows(memory.scope) else None
    return {
        "id": shown.id if shown else "",
        "memory": memory_row(page, shown) if shown else None,
        "verdict": verdict,
        "likely": round(offer.probability, 3) if offer else None,
    }


def reply_to(snapshot: Snapshot, turn: Turn | None) -> Turn | None:
    """Return the agent's reply, which is among the few turns after the user's."""
    if turn is None:
        return None
    near = snapshot.turns(turn.scope, turn.id, turn.id + 8)
    agent = (reply for reply in near if reply.role == "assistant" and reply.session == turn.session)
    return next((reply for reply in agent if reply.reply_to in (0, turn.id)), None)


WEEKS = 260  # that a picture goes back


def weeks(page: PageContext, moments: Sequence[Sequence[datetime]]) -> list[list[Any]]:
    """Return week by week how many there are of several kinds of moments."""
    now = page.memory.clock()
    counts: dict[date, list[int]] = defaultdict(lambda: [0] * len(moments))
    for kind, every in enumerate(moments):
        for at in (at for at in every if at <= now):
            day = at.astimezone(page.memory.zone).date()
            counts[day - timedelta(days=day.weekday())][kind] += 1
    if not counts:
        return []
    last = max(counts)
    week, rows = max(min(counts), last - timedelta(weeks=WEEKS)), list[list[Any]]()
    while week <= last:
        rows.append([f"{week}T12:00Z", *counts[week]])
        week += timedelta(weeks=1)
    return rows


# ------------------------------------------------------------------- pages of a catalogue


def newest(
    snapshot: Snapshot,
    rows: Sequence[Memory],
    wanted: Callable[[Memory], bool] = lambda row: True,
    n: int = PAGE,
    after: str = "",
    upto: datetime | None = None,
) -> tuple[list[Memory], str]:
    """Return the newest ``n`` rows that are wanted, as stored, and the cursor of the page behind.

    Args:
        rows: Of a catalogue, in the order of time; those that are gone since are left out.
        after: A cursor, "" for the first page.
        upto: Only what is true since this moment, or since before.
    """
    end = bisect_left(rows, place_of(after), key=place) if after else len(rows)
    if upto is not None:
        end = min(end, bisect_left(rows, (upto, "\U0010ffff"), key=place))
    shown = list(islice((row for row in reversed(rows[:end]) if wanted(row)), n + 1))
    behind = cursor_of(*place(shown[n - 1])) if len(shown) > n else ""
    return stored(snapshot, shown[:n]), behind


def is_fact(memory: Memory) -> bool:
    """Return whether it is a fact that may be shown: neither quarantined nor a repetition."""
    repeats = memory.facets.get("why") == "same"
    return family(memory.kind) == FACT and memory.kind != QUARANTINED and not repeats


def is_current(memory: Memory) -> bool:
    return memory.retired_at is None and memory.kind != QUARANTINED


def stored(snapshot: Snapshot, rows: Sequence[Memory]) -> list[Memory]:
    return [memory for row in rows if (memory := snapshot.read(row.scope, row.id))]


def cursor_of(at: datetime, id: str) -> str:
    return f"{at.isoformat()}|{id}"


def place_of(cursor: str) -> tuple[datetime, str]:
    at, _, id = cursor.partition("|")
    return datetime.fromisoformat(at).astimezone(UTC), id
