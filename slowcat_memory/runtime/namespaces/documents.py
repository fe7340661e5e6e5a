"""The index document of a memory: its line in its context, its times, its keys and vectors."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import tzinfo
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from slowcat_memory.core.memory import CHUNK, chunk, chunk_id, findable, indexed_text, turn_of
from slowcat_memory.core.query.understand import substance
from slowcat_memory.core.text.normalize import digest
from slowcat_memory.core.time.expressions import times
from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index import Document, Pointer, Searcher
from slowcat_memory.index.format import split_key_id
from slowcat_memory.records import Event, Key, Memory, Turn, WriteBatch
from slowcat_memory.store import Snapshot
from slowcat_memory.store.bookkeeping import subjects_of

PART = 1000  # rows that are read from one snapshot
Read = Callable[[], AbstractContextManager[Snapshot]]
Row = TypeVar("Row", bound=Event | Memory)


class Space(Struct, frozen=True):
    """The vector space in use: vectors of different spaces are never compared.

    Without an embedder ``key`` is "" and ``dim`` 0.
    """

    key: str = ""
    dim: int = 0


class DateLocale(Struct, frozen=True):
    """How the time expressions of a memory are read: time zone and language."""

    zone: tzinfo
    language: str


class Place(Struct, frozen=True):
    """A chunk's position in its session. Retired chunks are not indexed: neighbours close up.

    Attributes:
        before: Ids of the chunks before it, latest first, up to one that is indexed.
        after: Id of the first indexed chunk after it; set only if none before it is indexed.
    """

    before: tuple[str, ...] = ()
    after: str = ""


def place_of(memory_id: str, snapshot: Snapshot, searcher: Searcher) -> Place:
    """Return a chunk's position in an index; an empty place for other memories."""
    turn = snapshot.turn(turn_of(memory_id)) if turn_of(memory_id) else None
    if turn is None:
        return Place()
    before = tuple(_chunks_before(turn, searcher, snapshot))
    if before and before[-1] in searcher:
        return Place(before)
    session = snapshot.session(turn.session)
    later = snapshot.turns(turn.scope, turn.id, session.last_turn if session else turn.id)
    after = (chunk_id(other.id) for other in later if other.session == turn.session)
    return Place(before, next((id_ for id_ in after if id_ in searcher), ""))


def _chunks_before(turn: Turn, searcher: Searcher, snapshot: Snapshot) -> Iterator[str]:
    """Yield the chunks of a session before a turn, the latest first, up to one that is indexed."""
    at = turn.id
    while at := snapshot.turn_before(turn.scope, turn.session, at):
        yield chunk_id(at)
        if chunk_id(at) in searcher:
            return


def pointers(keys: Iterable[Key]) -> tuple[Pointer, ...]:
    return tuple(Pointer(split_key_id(key.id)[1], key.kind, key.text, key.weight) for key in keys)


def document(
    memory: Memory,
    reading: DateLocale,
    before: str = "",
    keys: Iterable[Key] = (),
    after: str = "",
    about: tuple[float, float] | None = None,
) -> Document:
    """Return the index document of a memory.

    Args:
        before: Id of the previous memory of the same session.
        after: As in ``Document``.
        about: Likewise; reading it (``time_about``) is most of the work.
    """
    says = substance(memory, reading.language)
    is_agents = memory.kind == CHUNK and memory.role == "assistant"
    return Document(
        id=memory.id,
        text=indexed_text(memory),
        at=memory.valid_from.timestamp(),
        importance=memory.importance,
        pinned=memory.pinned,
        substance=says.share,
        asks=says.asks,
        agent=is_agents and not memory.facets.get("tools"),
        before=before,
        after=after,
        words=len(memory.text.split()),
        local=memory.local_only,
        speaker=memory.speaker,
        about=about,
        keys=pointers(keys),
    )


def time_about(memory: Memory, reading: DateLocale) -> tuple[float, float] | None:
    """Return the first time that a memory's text is about, as in ``Document``. Takes 0.2 ms."""
    about = times(memory.text, memory.valid_from, reading.zone, reading.language)[:1]
    return (about[0].start.timestamp(), about[0].end.timestamp()) if about else None


def stored_document(
    snapshot: Snapshot, memory: Memory, reading: DateLocale, before: str = "", *, keys: bool = True
) -> Document:
    """Return the index document of a memory, with the stored context and keys.

    ``keys`` is False where the namespace is known to have none: it saves a lookup per memory.
    """
    rows = snapshot.keys(memory.scope, memory.id) if keys else ()
    about = time_about(memory, reading)
    return document(snapshot.in_context(memory), reading, before, rows, about=about)


def has_keys(snapshot: Snapshot, scope: str) -> bool:
    return next(iter(snapshot.keys(scope)), None) is not None


def stored_vectors(
    snapshot: Snapshot, space: Space, memory: Memory, keys: Sequence[Key]
) -> Iterator[tuple[str, int, np.ndarray]]:
    """Yield the stored vectors of a memory and its keys: id, digest of the text, values."""
    texts = {memory.id: indexed_text(memory), **{key.id: key.text for key in keys}}
    for id_, text in texts.items() if space.dim else ():
        if (vector := snapshot.vector(space.key, memory.scope, id_)) is not None:
            yield id_, digest(text), vector.values


def indexable(memory: Memory) -> bool:
    return memory.retired_at is None and findable(memory)


def index_memory(
    searcher: Searcher,
    memory: Memory,
    keys: Sequence[Key],
    reading: DateLocale,
    place: Place,
    about: tuple[float, float] | None = None,
) -> None:
    """Index the whole state of a stored memory with all its keys, or remove it."""
    if not indexable(memory):
        searcher.remove(memory.id)
        return
    # Resolved only now: a journal may repeat this on a searcher with newer data.
    before = next((id_ for id_ in place.before if id_ in searcher), "")
    searcher.add(document(memory, reading, before, keys, place.after, about))


def all_documents(read: Read, scope: str, reading: DateLocale, upto: int) -> Iterator[Document]:
    """Yield a namespace's index documents: first the chunks in order, then the rest by id.

    ``upto`` is the log id of the last turn.

    Raises:
        IndexDamagedError: An event of the log was not read.
    """
    with read() as snapshot:
        latest, keys = dict[str, str](), has_keys(snapshot, scope)
        unread = snapshot.logged_between(scope, 1, upto)
    for snapshot, turn in in_parts(read, lambda s, after: s.events(scope, after, upto), 0):
        unread -= 1
        if not isinstance(turn, Turn) or turn.aside:
            continue
        memory = snapshot.memory(scope, chunk_id(turn.id)) or chunk(turn)
        if indexable(memory):
            before = latest.get(turn.session, "")
            yield stored_document(snapshot, memory, reading, before, keys=keys)
            latest[turn.session] = memory.id
    if unread:
        raise unread_error(unread)
    for snapshot, memory in in_parts(read, lambda s, after: s.memories(scope, after=after), ""):
        if not indexable(memory):
            continue
        turn_behind = snapshot.turn(turn_of(memory.id)) if turn_of(memory.id) else None
        if turn_behind is None or turn_behind.scope != scope:
            yield stored_document(snapshot, memory, reading, keys=keys)


def in_parts(
    read: Read, rows: Callable[[Snapshot, Any], Iterable[Row]], last: Any
) -> Iterator[tuple[Snapshot, Row]]:
    """Yield rows behind the last id with the snapshots that they are in; none lives for long.

    ``rows`` reads a snapshot's rows behind an id.
    """
    while last is not None:
        with read() as snapshot:
            after, last = last, None
            for row in islice(rows(snapshot, after), PART):
                last = row.id
                yield snapshot, row


def unread_error(rows: int) -> IndexDamagedError:
    return IndexDamagedError(
        f"{rows} rows of the store were not read: an index of the rest would hide them",
        hint="It is tried again; if it fails each time: `slowcat-memory doctor --repair`",
    )


class LastChunks:
    """The last chunk of each session, after which the session's next turn is inserted."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def before(self, turn: Turn, searcher: Searcher, snapshot: Snapshot) -> str:
        """Return the indexed chunk that a turn follows, "" for none."""
        if (last := self._last.get(turn.session, "")) in searcher:
            return last
        before = [*_chunks_before(turn, searcher, snapshot)]
        return before[-1] if before and before[-1] in searcher else ""

    def record(self, turn: Turn) -> None:
        self._last[turn.session] = chunk_id(turn.id)

    def forget(self, memory_ids: Collection[str]) -> None:
        self._last = {s: last for s, last in self._last.items() if last not in memory_ids}


def changed_by_scope(batch: WriteBatch) -> dict[str, list[str]]:
    """Return the ids of the memories that a batch changes in an index, by namespace."""
    embedded = ((row.scope, split_key_id(row.memory)[0] or row.memory) for row in batch.vectors)
    changed: dict[str, list[str]] = defaultdict(list)
    for scope, memory_id in dict.fromkeys((*subjects_of(batch), *embedded)):
        changed[scope].append(memory_id)
    return dict(changed)
