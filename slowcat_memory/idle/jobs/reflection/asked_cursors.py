"""Keeps when an LLM was last asked to write a block, in a cursor."""

import msgspec

from slowcat_memory.core.blocks.asking import Asked
from slowcat_memory.records import Cursor


def read_asked(cursor: Cursor | None) -> Asked | None:
    """Return what a cursor keeps; None for none, or one that another version wrote."""
    try:
        return msgspec.json.decode(cursor.note, type=Asked) if cursor else None
    except msgspec.MsgspecError:
        return None


def asked_cursor(name: str, asked: Asked) -> Cursor:
    return Cursor(name=name, position=0, note=msgspec.json.encode(asked).decode())
