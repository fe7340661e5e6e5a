"""Records whose content follows from their number, so that each can be checked alone."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from slowcat_memory.records import Manifest, Memory, SessionEdge, Turn
from tests.support import said
from tests.support.memories import contents

DAY = datetime(2025, 6, 1, 8, 0, tzinfo=UTC)
SIZES = (40, 200, 400, 900, 3000, 6000)


def at(seconds: float = 0) -> datetime:
    return DAY + timedelta(seconds=seconds)


def token(number: int) -> str:
    """A word that occurs in this turn's text only."""
    return f"tok{number:08d}en"


def text(number: int) -> str:
    rng = random.Random(number)
    filler = rng.randbytes(rng.choice(SIZES) // 2).hex()
    return f"{token(number)} {filler} {token(number)}"


def traces(folder: Path, *numbers: int) -> list[tuple[int, str]]:
    """Return which turns' words are in which files of a folder."""
    held = contents(folder)
    return [(n, name) for n in numbers for name, body in held if token(n).encode() in body]


def turn(number: int = 0, **fields: object) -> Turn:
    own = {"id": 0, "session": "s1", "speaker": "anna", "at": at(number), **fields}
    return said.turn(own.pop("text", text(number)), **own)


def edge(kind: str = "start", **fields: object) -> SessionEdge:
    given = {"session": "s1", "scope": "anna", "kind": kind, "at": at()}
    return SessionEdge(**{**given, **fields})  # type: ignore[arg-type]


def memory(id: str = "fact/1", **fields: object) -> Memory:
    own = {"speaker": "anna", "text": f"about {id}", "at": at(), **fields}
    return said.memory_at(id, **own)


def manifest(**fields: object) -> Manifest:
    """Return the manifest of an index of Anna's without files."""
    texts = {"scope": "anna", "generation": "g1", "files": (), "embedder": ""}
    numbers = {"documents": 1, "dim": 0, "upto": 1, "tokenizer": 1, "forget_epoch": 0}
    return Manifest(**{**texts, **numbers, **fields})  # type: ignore[arg-type]
