"""``slowcat-memory remember``, and ``pin``, ``local``, ``mute``, ``unmute``: the marks of a memory."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.look.show import find_memory
from slowcat_memory.cli.shared.exits import NotFound, usage
from slowcat_memory.cli.shared.output import listed, out, print_json, short, warn
from slowcat_memory.cli.shared.settings import AsJson, Scope, memory_id, settings

if TYPE_CHECKING:
    from slowcat_memory.records import Memory

What = Annotated[str, typer.Argument(metavar="ID", help="A turn's number or a memory's id.")]
Off = Annotated[bool, typer.Option("--off", help="Undo it.")]


def pin(
    ctx: typer.Context, what: What, off: Off = False, scope: Scope = None, as_json: AsJson = False
) -> None:
    """Always include this memory; --off undoes it.

    Examples: [bold]slowcat-memory pin 17[/], [bold]slowcat-memory pin note/0a1b2c --off[/]
    """
    memory = _mark(ctx, what, scope, pinned=not off)
    _print(memory, "No longer pinned" if off else "Pinned", as_json)


def local(
    ctx: typer.Context, what: What, off: Off = False, scope: Scope = None, as_json: AsJson = False
) -> None:
    """Never send a memory to an LLM on another machine; --off allows it again.

    Recall is unchanged while the conversation's LLM is on this machine.

    Examples: [bold]slowcat-memory local 17[/], [bold]slowcat-memory local note/0a1b2c --off[/]
    """
    memory = _mark(ctx, what, scope, local_only=not off)
    _print(memory, "May leave this machine" if off else "Stays on this machine", as_json)


def mute(ctx: typer.Context, what: What, scope: Scope = None, as_json: AsJson = False) -> None:
    """Keep a memory, but never recall it or put it into a prompt; unmute undoes it.

    It stays in lists and in time lines, and [bold]slowcat-memory notes --muted[/] shows it.

    Examples: [bold]slowcat-memory mute 17[/], [bold]slowcat-memory unmute 17[/]
    """
    _print(_mark(ctx, what, scope, muted=True), "Muted", as_json)


def unmute(ctx: typer.Context, what: What, scope: Scope = None, as_json: AsJson = False) -> None:
    """Let a muted memory be recalled again.

    Example: [bold]slowcat-memory unmute 17[/]
    """
    _print(_mark(ctx, what, scope, muted=False), "No longer muted", as_json)


def _mark(ctx: typer.Context, what: str, scope: str | None, **marks: bool) -> "Memory":
    known = settings(ctx).existing()
    where = known.scope(scope)
    with known.engine(words_only=True) as memory:
        with memory.snapshot() as snapshot:
            found = find_memory(snapshot, where, memory_id(what))
        changed = memory.mark(found.scope, found.id, **marks) if found else None
    if changed is None:
        hint = "`slowcat-memory show --last 20` and `search` show the numbers and ids"
        raise NotFound(f"there is no memory {what!r} of {where}", hint=hint)
    return changed


def _print(memory: "Memory", done: str, as_json: bool) -> Any:
    if as_json:
        return print_json(memory)
    out().print(f"[green]✓[/] {done}:", end=" ")
    out().print(short(memory.text), markup=False)
    return None


def remember(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="A statement, in any words.")],
    pin: Annotated[bool, typer.Option("--pin", help="Always include it.")] = False,
    speaker: Annotated[
        str, typer.Option(help="The person it is about; by default the user.", show_default=False)
    ] = "",
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Store a statement that was not said in a conversation.

    Pinned memories rank higher in recall, and [bold]session_context()[/] always includes them.

    Example: [bold]slowcat-memory remember "I am allergic to nuts." --pin[/]
    """
    from slowcat_memory.core.text.normalize import clean

    if not clean(text)[0]:
        raise usage("the text is empty", "TEXT")
    known = settings(ctx)
    where, there = known.scope(scope), known.people
    with known.engine(words_only=True) as memory:
        kept = memory.remember(text, where, speaker=speaker, pinned=pin)
    if as_json:
        return print_json(kept)
    out().print(f"[green]✓[/] Kept for {kept.scope} as [bold]{kept.id}[/].")
    if there and where not in there:
        warn(f"{where} is new to this memory, which is that of {listed(there)}.")
    return None
