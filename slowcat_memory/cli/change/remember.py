"""``slowcat-memory remember``, ``pin`` and ``local``: store, pin, or restrict a memory."""

from typing import Annotated

import typer

from slowcat_memory.cli.look.show import find_memory
from slowcat_memory.cli.shared.output import out, print_json, short
from slowcat_memory.cli.shared.settings import AsJson, Scope, memory_id, settings


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
        raise typer.BadParameter("the text is empty", param_hint="TEXT")
    known = settings(ctx)
    with known.engine(words_only=True) as engine:
        memory = engine.remember(text, known.scope(scope), speaker=speaker, pinned=pin)
    if as_json:
        return print_json(memory)
    out().print(f"[green]✓[/] Kept as [bold]{memory.id}[/] in scope {memory.scope}.")
    return None


def local(
    ctx: typer.Context,
    what: Annotated[str, typer.Argument(metavar="ID", help="A turn's number or a memory's id.")],
    off: Annotated[bool, typer.Option("--off", help="Undo it.")] = False,
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Never send a memory to an LLM on another machine; --off allows it again.

    Recall is unchanged while the conversation's LLM is on this machine.

    Examples: [bold]slowcat-memory local 17[/], [bold]slowcat-memory local note/0a1b2c --off[/]
    """
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(words_only=True) as engine:
        with engine.snapshot() as snapshot:
            found = find_memory(snapshot, where, memory_id(what))
        memory = engine.mark(found.scope, found.id, local_only=not off) if found else None
    if memory is None:
        raise typer.BadParameter(f"there is no memory {what!r} in scope {where}", param_hint="ID")
    if as_json:
        return print_json(memory)
    done = "Stays on this machine" if memory.local_only else "May leave this machine"
    out().print(f"[green]✓[/] {done}:", end=" ")
    out().print(short(memory.text), markup=False)
    return None


def pin(
    ctx: typer.Context,
    what: Annotated[str, typer.Argument(metavar="ID", help="A turn's number or a memory's id.")],
    off: Annotated[bool, typer.Option("--off", help="Undo it.")] = False,
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Always include this memory; --off undoes it.

    Examples: [bold]slowcat-memory pin 17[/], [bold]slowcat-memory pin note/0a1b2c --off[/]
    """
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(words_only=True) as engine:
        with engine.snapshot() as snapshot:
            found = find_memory(snapshot, where, memory_id(what))
        memory = engine.mark(found.scope, found.id, pinned=not off) if found else None
    if memory is None:
        raise typer.BadParameter(f"there is no memory {what!r} in scope {where}", param_hint="ID")
    if as_json:
        return print_json(memory)
    done = "Pinned" if memory.pinned else "No longer pinned"
    out().print(f"[green]✓[/] {done}:", end=" ")
    out().print(short(memory.text), markup=False)
    return None
