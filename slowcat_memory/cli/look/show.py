"""``slowcat-memory show``: sessions, the turns of one, or one memory with its sources."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.shared.output import count, out, print_json, row, short, table, warn, when
from slowcat_memory.cli.shared.settings import (
    AsJson,
    Scope,
    find_session,
    memory_id,
    nothing_in,
    settings,
)

if TYPE_CHECKING:
    from datetime import tzinfo

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Memory, Session, Turn
    from slowcat_memory.store import Snapshot


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
        bool,
        typer.Option(
            "--notes", help="Show the notes, and what is pinned or stays on this machine."
        ),
    ] = False,
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Show the sessions, the turns of one, one memory with its sources, or the notes.

    Works while an agent is running. The beginning of a session's id is enough.

    Examples: [bold]slowcat-memory show[/], [bold]slowcat-memory show --last 20[/],
    [bold]slowcat-memory show --notes[/],
    [bold]slowcat-memory show 20240512T1830[/], [bold]slowcat-memory show 17[/]
    """
    from slowcat_memory.core.disclosure import renamed

    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(readonly=True, words_only=True) as engine:
        with engine.snapshot() as snapshot:
            if what is not None:
                return _one(engine, snapshot, where, what, as_json)
            if notes:
                called = engine.reader(where, local=True).called
                stored = filter(_is_marked, snapshot.memories(where))
                marked = [renamed(one, called) for one in stored]
                return _notes(engine, where, marked, as_json)
            if last is not None:
                turns = list(snapshot.turns(where))[-last:]
                return _turns(turns, engine.zone, as_json)
            sessions = snapshot.sessions(where)
            rows = [(session, snapshot.turn(session.first_turn)) for session in sessions]
        _sessions(engine, where, rows, as_json)


def _sessions(
    engine: "MemoryEngine", scope: str, rows: "list[tuple[Session, Turn | None]]", as_json: bool
) -> None:
    if as_json:
        return print_json([session for session, _ in rows])
    if not rows:
        return warn(nothing_in(engine, scope))
    made = table("session", "began", ">minutes", ">turns", "ended", "first words*")
    for session, first in rows:
        row(
            made,
            session.id,
            when(session.started, engine.zone),
            f"{(session.last - session.started).total_seconds() / 60:.0f}",
            session.turns,
            session.reason if session.ended else "open",
            short(first.text, 80) if first else "",
        )
    out().print(made)
    turns = sum(session.turns for session, _ in rows)
    out().print(f"[dim]{count(len(rows), 'session')}, {count(turns, 'turn')} in scope {scope}[/]")


def _is_marked(memory: "Memory") -> bool:
    """Return whether a person asked for a memory, or to treat it specially."""
    own = (
        memory.kind == "note" or memory.pinned or (memory.local_only and not memory.local_inherited)
    )
    return own and memory.retired_at is None


def _notes(engine: "MemoryEngine", scope: str, found: "list[Memory]", as_json: bool) -> None:
    in_order = sorted(found, key=lambda memory: (not memory.pinned, memory.valid_from, memory.id))
    if as_json:
        return print_json(in_order)
    if not in_order:
        with engine.snapshot() as snapshot:
            known = scope in snapshot.scopes()
        none = f"No notes in the scope {scope}, and nothing pinned or local-only."
        return warn(none if known else nothing_in(engine, scope))
    made = table("since", "what", "who", "text*", "id")
    for memory in in_order:
        row(made, when(memory.valid_from, engine.zone)[:10], _marks(memory), memory.speaker,
            short(memory.text), memory.id)  # fmt: skip
    out().print(made)
    return None


def _marks(memory: "Memory") -> str:
    kind = "turn" if memory.kind == "chunk" else memory.kind.partition("/")[0]
    marks = ("pinned" if memory.pinned else "", "local-only" if memory.local_only else "")
    return ", ".join(filter(None, (kind, *marks)))


def _turns(turns: "list[Turn]", zone: "tzinfo", as_json: bool) -> None:
    if as_json:
        return print_json(turns)
    out().print(turns_table(turns, zone) if turns else "[dim]No turns in this scope.[/]")
    return None


def _one(
    engine: "MemoryEngine", snapshot: "Snapshot", scope: str, what: str, as_json: bool
) -> None:
    from slowcat_memory.core.disclosure import renamed

    if not what.isdecimal() and (session := find_session(snapshot, what, scope)):
        turns = [t for t in snapshot.turns(session.scope) if t.session == session.id]
        return _turns(turns, engine.zone, as_json)
    memory = find_memory(snapshot, scope, memory_id(what))
    if memory is None:
        raise typer.BadParameter(f"there is no session and no memory {what!r} in scope {scope}")
    memory = renamed(memory, engine.reader(memory.scope, local=True).called)
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
        "stays here": "yes: never sent to an LLM on another machine" if memory.local_only else "",
    }
    return {name: value for name, value in facts.items() if value}


def turns_table(turns: "list[Turn]", zone: "tzinfo", title: str = "") -> Any:
    made = table(">id", "when", "who", "text*", title=title)
    for turn in turns:
        text = turn.text + (" …[interrupted]" if turn.interrupted else "")
        text += f" …[{turn.cut:,} characters cut]" if turn.cut else ""
        style = "dim" if turn.role == "assistant" else ""
        row(made, turn.id, when(turn.at, zone), turn.speaker, text, style=style)
    return made
