"""``slowcat-memory notes``: what a person asked to keep, or to treat specially."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from slowcat_memory.cli.shared.exits import NotFound
from slowcat_memory.cli.shared.output import count, entries, entry, out, print_json, short, when
from slowcat_memory.cli.shared.paging import ROWS, Limit, Page, page_of, print_paged
from slowcat_memory.cli.shared.settings import (
    AsJson,
    Scope,
    Settings,
    nothing_in,
    settings,
    shown_id,
)

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Memory


def notes(
    ctx: typer.Context,
    pinned: Annotated[bool, typer.Option("--pinned", help="Only what always counts.")] = False,
    muted: Annotated[
        bool, typer.Option("--muted", help="Only what is kept and never recalled.")
    ] = False,
    local: Annotated[
        bool, typer.Option("--local", help="Only what stays on this machine.")
    ] = False,
    limit: Limit = None,
    page: Page = 1,
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """List the notes, and what is pinned, muted, or stays on this machine; latest last.

    Notes are statements that were not made in a conversation: by [bold]remember[/], by an import
    from Mem0, or by a voice command. The other marks may be on anything: a turn, a fact, a note.

    Examples: [bold]slowcat-memory notes[/], [bold]slowcat-memory notes --muted --local[/]
    """
    known = settings(ctx)
    marks = {"pinned": pinned, "muted": muted, "local-only": local}
    wanted = frozenset(name for name, asked in marks.items() if asked)
    list_notes(known, known.scope(scope), wanted, limit, page, as_json)


def list_notes(
    known: Settings, scope: str, wanted: frozenset[str], limit: int | None, page: int, as_json: bool
) -> None:
    """Print the notes and marked memories of a scope.

    Args:
        wanted: Of "pinned", "muted" and "local-only": only what has one of these; none for all.

    Raises:
        NotFound: There are none.
    """
    with known.engine(readonly=True, words_only=True) as engine:
        found = _found(engine, scope, wanted)
        if as_json and limit is None:
            return print_json(found)
        if not found:
            raise NotFound(_why_none(engine, scope, wanted))
        shown, place = page_of(found, limit or ROWS, page)
        if as_json:
            return print_json(shown)
        made = entries()
        for memory in shown:
            kind = memory.kind.partition("/")[0]
            what = shown_id(memory.id) if kind == "chunk" else kind
            id_ = "" if kind == "chunk" else memory.id
            about = filter(None, (what, *marks_of(memory), memory.speaker, id_))
            words = Text(short(memory.text), style="bold" if memory.pinned else "")
            entry(made, when(memory.valid_from, engine.zone)[:10], words, " · ".join(about))
        print_paged(made)
        out().print(f"[dim]{place.note or count(len(found), 'memory')} in scope {scope}[/]")
    return None


def _found(engine: "MemoryEngine", scope: str, wanted: frozenset[str]) -> "list[Memory]":
    from slowcat_memory.core.disclosure import renamed

    called = engine.reader(scope, local=True, muted=True).called
    with engine.snapshot() as snapshot:
        every = [memory for memory in snapshot.memories(scope) if memory.retired_at is None]
    chosen = [
        memory
        for memory in every
        if (wanted & set(marks_of(memory)) if wanted else _is_listed(memory))
    ]
    in_order = sorted(chosen, key=lambda memory: (memory.valid_from, memory.id))
    return [renamed(memory, called) for memory in in_order]


def _is_listed(memory: "Memory") -> bool:
    return memory.kind == "note" or bool(marks_of(memory))


def marks_of(memory: "Memory") -> tuple[str, ...]:
    """Return the marks that a person put on a memory, and none that it inherited."""
    marks = {
        "pinned": memory.pinned,
        "muted": memory.muted and not memory.muted_inherited,
        "local-only": memory.local_only and not memory.local_inherited,
    }
    return tuple(name for name, on in marks.items() if on)


def _why_none(engine: "MemoryEngine", scope: str, wanted: frozenset[str]) -> str:
    with engine.snapshot() as snapshot:
        known = scope in snapshot.scopes()
    if not known:
        return nothing_in(engine, scope)
    if wanted:
        return f"Nothing in the scope {scope} is {' or '.join(sorted(wanted))}."
    return f"No notes in the scope {scope}, and nothing pinned, muted or local-only."
