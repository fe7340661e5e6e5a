"""The subject of a derived row: whether it exists or is forgotten, its text and vectors.

Forgotten data stays deleted: the step that made a row may have begun before the forget.
"""

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from slowcat_memory.core.memory import chunk, indexed_text, turn_of
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Context, Key, Memory, Turn
from slowcat_memory.store.blocks.reader import EVENTS, BlockCache, BlockReader
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.tables import EMBEDDERS
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows.pending import PENDING_KEY, Hidden, hidden_by


def exists(scope: str, memory: str, tx: Transaction) -> bool:
    """Return whether a memory, or a chunk's turn, exists."""
    turn = turn_of(memory)
    if turn and any(tx.get(table, keys.id_key(turn)) is not None for table in EVENTS):
        return True
    return tx.get("memories", keys.scoped_key(scope, memory)) is not None


def text_of(scope: str, id: str, tx: Transaction) -> str:
    """Return the text of a memory or key to be embedded, its context included.

    "" when there is none, or it is damaged.
    """
    row = keys.scoped_key(scope, id)
    try:
        if key := tx.read(Key, "keys", row):
            return key.text
        memory = tx.read(Memory, "memories", row)
        if memory is None and (turn := turn_of(id)):
            event = BlockReader(tx.get, BlockCache()).event(keys.id_key(turn))
            memory = chunk(event) if isinstance(event, Turn) and event.scope == scope else None
        if memory is None:
            return ""
        context = tx.read(Context, "contexts", row)
    except StoreDamagedError:
        return ""
    return indexed_text(replace(memory, context=context.text) if context else memory)


def names_forgotten(scope: str, memory: str, tx: Transaction) -> bool:
    """Return whether an id is a forgotten memory's, or that of a forgotten turn's chunk."""
    if tx.get("tombstones", keys.memory_tombstone(scope, memory)) is not None:
        return True
    turn = turn_of(memory)
    return hidden(tx).names(scope, memory) or (turn > 0 and any_forgotten((turn,), tx))


def any_forgotten(turns: Iterable[int], tx: Transaction) -> bool:
    """Return whether any of the turns is forgotten, or about to be deleted."""
    away = hidden(tx).turns
    return any(
        turn in away or tx.get("tombstones", keys.turn_tombstone(turn)) is not None
        for turn in turns
    )


def hidden(tx: Transaction) -> Hidden:
    """Return what is selected to be erased and may still have rows."""
    return hidden_by(tx.get("meta", PENDING_KEY))


def embedders(tx: Transaction) -> list[str]:
    """Return the key of every embedder that ever made a vector here."""
    return list(tx.meta(EMBEDDERS, {}).values())


def drop_vectors(subjects: Collection[tuple[str, str]], tx: Transaction) -> None:
    """Delete all vectors of memories or keys, (scope, id), by every embedder, with those of tokens."""
    for embedder in embedders(tx) if subjects else ():
        for scope, id in subjects:
            tx.drop("vectors", keys.vector_key(embedder, scope, id))
