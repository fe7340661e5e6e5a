"""Options that several commands share, and what people type for times and ids."""

from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Session
    from slowcat_memory.store import Snapshot

Scope = Annotated[
    str | None,
    typer.Option(help="Whose memory: a scope's name; by default the configured user's."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script, and nothing else.")]


def parse_time(text: str | None, zone: tzinfo, option: str) -> datetime | None:
    """Read a date or a time that a person typed.

    Args:
        text: For example "2024-05-12" or "2024-05-12 18:30"; None when nothing was typed.

    Returns:
        The time in UTC.

    Raises:
        typer.BadParameter: It is neither.
    """
    from slowcat_memory.transfer.ingest import utc
    from slowcat_memory.transfer.transcript import time_of

    try:
        at = time_of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
    return utc(at, zone) if at else None


def memory_id(text: str) -> str:
    """Read the id of a memory; a turn's number stands for its chunk.

    Args:
        text: For example "12", "chunk/12" or "note/0a1b2c".
    """
    from slowcat_memory.core.memory import chunk_id

    return chunk_id(int(text)) if text.isdecimal() else text


def find_session(snapshot: "Snapshot", name: str) -> "Session | None":
    """Find a session by its id, or by the beginning of it.

    Returns:
        The session; None when there is none, or more than one.
    """
    if session := snapshot.session(name):
        return session
    found = [session for session in snapshot.sessions() if session.id.startswith(name)]
    return found[0] if len(found) == 1 else None


def nothing_in(engine: "MemoryEngine", scope: str) -> str:
    """Say that a scope is empty, and which are not.

    Args:
        scope: The empty one.
    """
    from slowcat_memory.cli.shared.output import listed

    with engine.snapshot() as snapshot:
        others = [name for name in snapshot.scopes() if name != scope]
    if not others:
        return "Nothing is remembered yet."
    return f"Nothing is remembered in the scope {scope}; --scope takes {listed(others, 8)}."
