"""``slowcat-memory remember``: store a statement that was not said in a conversation."""

from typing import Annotated

import typer

from slowcat_memory.cli.shared.exits import usage
from slowcat_memory.cli.shared.output import listed, out, print_json, warn
from slowcat_memory.cli.shared.settings import AsJson, Scope, settings


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
