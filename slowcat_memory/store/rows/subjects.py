"""What a derived row is about: whether that is there, whether it is forgotten, which vectors it has.

What is forgotten does not come back: the step that made a row may have begun before the forgetting.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import chunk, indexed_text, turn_of
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Context, Key, Memory, Turn
from slowcat_memory.store.blocks.locations import EVENTS
from slowcat_memory.store.blocks.reader import BlockReader, Shelf
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.tables import EMBEDDERS
from slowcat_memory.store.disk.transaction import Edit


def is_there(scope: str, memory: str, edit: Edit) -> bool:
    """Tell whether a memory is there, or the turn that a chunk stands for.

    Args:
        scope: Its namespace.
        memory: Its id.
        edit: To read from.

    Returns:
        True when it is.
    """
    turn = turn_of(memory)
    if turn and any(edit.get(table, keys.id_key(turn)) is not None for table in EVENTS):
        return True
    return edit.get("memories", keys.scoped_key(scope, memory)) is not None


def text_of(scope: str, id: str, edit: Edit) -> str:
    """Read the text that a memory, or a key, is embedded by.

    Args:
        scope: Its namespace.
        id: Its id.
        edit: To read from.

    Returns:
        The text as it will be, the context included; "" when there is none, or it is damaged.
    """
    row = keys.scoped_key(scope, id)
    try:
        if key := edit.read(Key, "keys", row):
            return key.text
        memory = edit.read(Memory, "memories", row)
        if memory is None and (turn := turn_of(id)):
            said = BlockReader(edit.get, Shelf()).event(keys.id_key(turn))
            memory = chunk(said) if isinstance(said, Turn) and said.scope == scope else None
        if memory is None:
            return ""
        context = edit.read(Context, "contexts", row)
    except StoreDamagedError:
        return ""
    return indexed_text(replace(memory, context=context.text) if context else memory)


def names_forgotten(scope: str, memory: str, edit: Edit) -> bool:
    """Tell whether an id names something forgotten.

    Args:
        scope: The memory's namespace.
        memory: Its id.
        edit: To read from.

    Returns:
        True for a forgotten memory, and for the chunk of a forgotten turn.
    """
    if edit.get("tombstones", keys.memory_tombstone(scope, memory)) is not None:
        return True
    turn = turn_of(memory)
    return turn > 0 and edit.get("tombstones", keys.turn_tombstone(turn)) is not None


def any_forgotten(turns: Iterable[int], edit: Edit) -> bool:
    """Tell whether any of some turns is forgotten.

    Args:
        turns: Their log ids.
        edit: To read from.

    Returns:
        True when one is.
    """
    buried = (edit.get("tombstones", keys.turn_tombstone(turn)) for turn in turns)
    return any(row is not None for row in buried)


def embedders(edit: Edit) -> list[str]:
    """Return the key of every embedder that ever made a vector here.

    Args:
        edit: To read from.

    Returns:
        Keys.
    """
    return list(edit.meta(EMBEDDERS, {}).values())


def drop_vectors(scope: str, id: str, edit: Edit) -> None:
    """Take the vectors of a memory or of a key away, those of its tokens included.

    Args:
        scope: Its namespace.
        id: Its id.
        edit: Takes the changes.
    """
    for embedder in embedders(edit):
        edit.drop("vectors", keys.vector_key(embedder, scope, id))
