"""``slowcat-memory show``: sessions, the turns of one, or one memory with its sources."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.look.notes import list_notes
from slowcat_memory.cli.shared.exits import NotFound
from slowcat_memory.cli.shared.output import (
    count,
    entries,
    entry,
    out,
    print_json,
    row,
    short,
    table,
    when,
)
from slowcat_memory.cli.shared.paging import ROWS, Limit, Page, page_of, print_paged
from slowcat_memory.cli.shared.settings import (
    AsJson,
    Scope,
    find_session,
    memory_id,
    nothing_in,
    settings,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from rich.table import Table

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Memory, Session, Turn
    from slowcat_memory.store import Snapshot

IMPORTED = "import"  # why an imported session ended, as ``transfer.ingest.REASON``


def show(
    ctx: typer.Context,
    what: Annotated[
        str | None,
        typer.Argument(help="A session, a turn's number, or a memory's id.", show_default=False),
    ] = None,
    last: Annotated[
        int | None, typer.Option("--last", help="Show this many of the latest turns.", min=1)
    ] = None,
    notes: Annotated[
        bool, typer.Option("--notes", help="The same as `slowcat-memory notes`.")
    ] = False,
    limit: Limit = None,
    page: Page = 1,
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Show the sessions, the turns of one, or one memory with its sources.

    The latest come last. The beginning of a session's id is enough.

    Examples: [bold]slowcat-memory show[/], [bold]slowcat-memory show --last 20[/],
    [bold]slowcat-memory show 20240512T1830[/], [bold]slowcat-memory show 17[/]
    """
    known = settings(ctx)
    where = known.scope(scope)
    if notes:
        return list_notes(known, where, frozenset(), limit, page, as_json)
    rows = limit if as_json else limit or ROWS
    with known.engine(readonly=True, words_only=True) as engine:
        with engine.snapshot() as snapshot:
            if what is not None:
                return _one(engine, snapshot, where, what, (rows, page), as_json)
            if last is not None:
                turns = list(snapshot.turns(where))[-last:]
                return _turns(turns, engine.zone, (limit, page), as_json)
            every = sorted(snapshot.sessions(where), key=lambda one: (one.started, one.id))
            sessions, place = page_of(every, rows, page)
            firsts = [snapshot.turn(session.first_turn) for session in sessions]
        if as_json:
            return print_json(sessions)
        if not sessions:
            raise NotFound(nothing_in(engine, where))
        print_paged(_sessions(sessions, firsts, engine.zone))
        turns_ = sum(session.turns for session in every)
        much = f"{count(len(every), 'session')}, {count(turns_, 'turn')}"
        out().print(f"[dim]{place.note or much} in scope {where}[/]")
    return None


def _sessions(
    sessions: "Sequence[Session]", firsts: "Sequence[Turn | None]", zone: "tzinfo"
) -> "Table":
    """Return a list: when each began, its first words, and beneath them how long it was."""
    made = entries(width=16)
    for session, first in zip(sessions, firsts, strict=True):
        minutes = (session.last - session.started).total_seconds() / 60
        about = [
            count(session.turns, "turn"),
            f"{minutes:.0f} min",
            "" if session.reason == IMPORTED else session.reason if session.ended else "open",
            session.id,
        ]
        words = short(first.text, 100) if first else ""
        entry(made, when(session.started, zone), words, " · ".join(filter(None, about)))
    return made


def _turns(
    turns: "list[Turn]", zone: "tzinfo", pages: tuple[int | None, int], as_json: bool
) -> None:
    shown, place = page_of(turns, *pages)
    if as_json:
        return print_json(shown)
    if not shown:
        raise NotFound("there are no turns in this scope")
    print_paged(turns_table(shown, zone))
    if place.note:
        out().print(f"[dim]{place.note}[/]")
    return None


def _one(
    engine: "MemoryEngine",
    snapshot: "Snapshot",
    scope: str,
    what: str,
    pages: tuple[int | None, int],
    as_json: bool,
) -> None:
    from slowcat_memory.core.disclosure import renamed

    if not what.isdecimal() and (session := find_session(snapshot, what, scope)):
        turns = [t for t in snapshot.turns(session.scope) if t.session == session.id]
        return _turns(turns, engine.zone, pages, as_json)
    memory = find_memory(snapshot, scope, memory_id(what))
    if memory is None:
        raise NotFound(
            f"there is no session and no memory {what!r} in scope {scope}",
            hint="`slowcat-memory show` lists the sessions, and `show --last 20` the latest turns.",
        )
    memory = renamed(memory, engine.reader(memory.scope, local=True, muted=True).called)
    sources = [turn for id_ in memory.sources if (turn := snapshot.turn(id_))]
    if as_json:
        return print_json({"memory": memory, "sources": sources})
    _memory(memory, sources, engine.zone)
    return None


def find_memory(snapshot: "Snapshot", scope: str, id_: str) -> "Memory | None":
    """Return a memory of a scope, or a turn's chunk of any scope: turn numbers are global."""
    from slowcat_memory.core.memory import turn_of

    turn = snapshot.turn(turn_of(id_)) if turn_of(id_) else None
    return snapshot.read(turn.scope if turn else scope, id_)


def _memory(memory: "Memory", sources: "list[Turn]", zone: "tzinfo") -> None:
    made = table("", "*")
    made.show_header = False
    row(made, "text", memory.text, style="bold")
    for name, value in _facts(memory, zone).items():
        row(made, name, value)
    out().print(made)
    if sources:
        out().print(turns_table(sources, zone, title="sources"))


def _facts(memory: "Memory", zone: "tzinfo") -> dict[str, Any]:
    facts = {
        "id": memory.id,
        "kind": memory.kind,
        "scope": memory.scope,
        "who": f"{memory.speaker} ({memory.role})",
        "context": memory.context,
        "holds since": when(memory.valid_from, zone),
        "holds until": when(memory.valid_to, zone) if memory.valid_to else "",
        "superseded": when(memory.retired_at, zone) if memory.retired_at else "",
        "importance": f"{memory.importance:.2f}",
        "pinned": "yes" if memory.pinned else "",
        "muted": "yes: kept, and never recalled" if memory.muted else "",
        "stays here": "yes: never sent to an LLM on another machine" if memory.local_only else "",
    }
    return {name: value for name, value in facts.items() if value}


def turns_table(turns: "Sequence[Turn]", zone: "tzinfo", title: str = "") -> Any:
    made = table(">id", "when", "who", "text*", title=title)
    for turn in turns:
        text = turn.text + (" …[interrupted]" if turn.interrupted else "")
        text += f" …[{turn.cut:,} characters cut]" if turn.cut else ""
        style = "dim" if turn.role == "assistant" else ""
        row(made, turn.id, when(turn.at, zone), turn.speaker, text, style=style)
    return made
