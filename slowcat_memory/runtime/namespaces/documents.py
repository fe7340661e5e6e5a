"""What an index is told of a memory: its line in its context, its times, and the keys to it."""

from collections.abc import Iterable, Iterator
from datetime import tzinfo

from msgspec import Struct

from slowcat_memory.core.memory.chunk import chunk, chunk_id, spoken, turn_of
from slowcat_memory.core.memory.kinds import findable
from slowcat_memory.core.time.expressions import WhenOptions, times
from slowcat_memory.index import Document, Pointer, Searcher
from slowcat_memory.records import Key, Memory
from slowcat_memory.store import Snapshot


class Reading(Struct, frozen=True):
    """How a memory's own words for time are read.

    Attributes:
        zone: The user's time zone.
        language: Whose words.
    """

    zone: tzinfo
    language: str


class Place(Struct, frozen=True):
    """Where in its session a chunk was said. What is retired is not in an index: neighbours close up.

    Attributes:
        before: Ids of the chunks said before it, the latest first, up to one that is there.
        after: Id of the first chunk said after it that is there; only where none before it is.
    """

    before: tuple[str, ...] = ()
    after: str = ""


def place_of(memory_id: str, snapshot: Snapshot, there: Searcher) -> Place:
    """Find where a chunk goes in an index.

    Args:
        memory_id: Any memory's id.
        snapshot: The store.
        there: The index.

    Returns:
        The place; an empty one for what is no chunk.
    """
    turn = snapshot.turn(turn_of(memory_id)) if turn_of(memory_id) else None
    if turn is None:
        return Place()
    before, at = list[str](), turn.id
    while at := snapshot.turn_before(turn.scope, turn.session, at):
        before.append(chunk_id(at))
        if before[-1] in there:
            return Place(tuple(before))
    session = snapshot.session(turn.session)
    later = snapshot.turns(turn.scope, turn.id, session.last_turn if session else turn.id)
    after = (chunk_id(said.id) for said in later if said.session == turn.session)
    return Place(tuple(before), next((id_ for id_ in after if id_ in there), ""))


def document(
    memory: Memory,
    reading: Reading,
    before: str = "",
    keys: Iterable[Key] = (),
    after: str = "",
) -> Document:
    """Say what the index keeps of a memory.

    Args:
        memory: The memory, its context included.
        reading: Of its words for time.
        before: Id of the memory said just before it in the same session.
        keys: All that point to it.
        after: As in ``Document``.

    Returns:
        The document.
    """
    when = WhenOptions(language=reading.language)
    about = times(memory.text, memory.valid_from, reading.zone, when)[:1]
    return Document(
        id=memory.id,
        text=spoken(memory),
        at=memory.valid_from.timestamp(),
        importance=memory.importance,
        pinned=memory.pinned,
        agent=memory.role == "assistant",
        before=before,
        after=after,
        words=len(memory.text.split()),
        speaker=memory.speaker,
        about=(about[0].start.timestamp(), about[0].end.timestamp()) if about else None,
        keys=tuple(
            Pointer(key.id.rpartition("?")[2], key.kind, key.text, key.weight) for key in keys
        ),
    )


def stored(
    snapshot: Snapshot, memory: Memory, reading: Reading, before: str = "", *, keys: bool = True
) -> Document:
    """Say what the index keeps of a memory, with all that the store knows about it.

    Args:
        snapshot: The store.
        memory: The memory as it is kept, or a chunk.
        reading: Of its words for time.
        before: As in ``document``.
        keys: False where the namespace is known to have none: it saves a look for each memory.

    Returns:
        The document.
    """
    found = snapshot.keys(memory.scope, memory.id) if keys else ()
    return document(snapshot.in_context(memory), reading, before, found)


def any_keys(snapshot: Snapshot, scope: str) -> bool:
    """Tell whether a namespace has any keys.

    Args:
        snapshot: The store.
        scope: The namespace.

    Returns:
        Whether it has.
    """
    return next(iter(snapshot.keys(scope)), None) is not None


def inventory(snapshot: Snapshot, scope: str, reading: Reading) -> Iterator[Document]:
    """Walk what a namespace's index holds: first the chunks as they were said, then the rest.

    Args:
        snapshot: The store.
        scope: The namespace.
        reading: Of the words for time.

    Yields:
        Documents.
    """
    latest, keys = dict[str, str](), any_keys(snapshot, scope)
    for turn in snapshot.turns(scope):
        if turn.aside:
            continue
        memory = snapshot.memory(scope, chunk_id(turn.id)) or chunk(turn)
        if not memory.retired_at:
            yield stored(snapshot, memory, reading, latest.get(turn.session, ""), keys=keys)
            latest[turn.session] = memory.id
    for memory in snapshot.memories(scope):
        if memory.retired_at or not findable(memory):
            continue
        said = snapshot.turn(turn_of(memory.id)) if turn_of(memory.id) else None
        if said is None or said.scope != scope:
            yield stored(snapshot, memory, reading, keys=keys)
