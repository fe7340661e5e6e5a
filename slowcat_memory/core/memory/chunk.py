"""Chunks: one memory per turn, its id, and the text under which it is indexed.

A chunk is indexed by several *views*, each with a text of its own, because what is indexed matters
more than the encoder (measured on LoCoMo, R@10): the speaker's name gives the dense view 14 points
and the lexical one 4; a window of neighbours gives the lexical view 7, and would cost the dense
view some.
"""

from slowcat_memory.records import Memory, Turn

CHUNK = "chunk"


def chunk_id(turn: int) -> str:
    """Return the memory id of a turn's chunk, by the turn's log id."""
    return f"{CHUNK}/{turn}"


def turn_of(memory_id: str) -> int:
    """Return the log id of a chunk's turn, or 0 when the memory is no chunk."""
    kind, _, number = memory_id.partition("/")
    return int(number) if kind == CHUNK and number.isdecimal() else 0


def chunk(turn: Turn) -> Memory:
    """Return the chunk of a numbered turn: a memory in the speaker's own words."""
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


def indexed_text(memory: Memory) -> str:
    """Return what is embedded and indexed by the "turn" view: context, speaker, words."""
    line = f"{memory.speaker}: {memory.text}"
    return f"{memory.context}\n{line}" if memory.context else line
