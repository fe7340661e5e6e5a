"""Turns to chunks, and the texts under which a chunk is indexed.

A chunk is one turn. It is found through several *views*, each with a text of its own, because what
is indexed matters more than the encoder (measured on LoCoMo, R@10): the speaker's name gives the
dense view 14 points and the lexical one 4; a window of neighbours gives the lexical view 7, and
would cost the dense view some.
"""

from collections.abc import Sequence

from slowcat_memory.records import Memory, Turn

CHUNK = "chunk"


def chunk_id(turn: int) -> str:
    """Name the chunk of a turn.

    Args:
        turn: The turn's log id.

    Returns:
        The memory id, the same every time.
    """
    return f"{CHUNK}/{turn}"


def turn_of(memory_id: str) -> int:
    """Find the turn behind a chunk.

    Args:
        memory_id: Any memory id.

    Returns:
        The turn's log id, or 0 when the memory is no chunk.
    """
    kind, _, number = memory_id.partition("/")
    return int(number) if kind == CHUNK and number.isdecimal() else 0


def chunk(turn: Turn) -> Memory:
    """Make a turn's chunk.

    Args:
        turn: A numbered turn.

    Returns:
        A memory in the speaker's own words.
    """
    return Memory(
        id=chunk_id(turn.id),
        kind=CHUNK,
        scope=turn.scope,
        speaker=turn.speaker,
        text=turn.text,
        valid_from=turn.at,
        recorded_at=turn.at,
        sources=(turn.id,),
        trust=turn.role if turn.role == "user" else "agent",
        role=turn.role,
    )


def spoken(memory: Memory) -> str:
    """Write a memory as a line of dialogue, its context included.

    Args:
        memory: Any memory.

    Returns:
        The text that is embedded, and that the "turn" view indexes.
    """
    line = f"{memory.speaker}: {memory.text}"
    return f"{memory.context}\n{line}" if memory.context else line


def window(lines: Sequence[str]) -> str:
    """Join a chunk's line with its neighbours'.

    Args:
        lines: The lines of the turn before, the turn, and the turn after, those that exist.

    Returns:
        The text that the "window" view indexes.
    """
    return "\n".join(lines)
