"""``slowcat-memory blocks``: shows and edits the blocks that are always in the agent's context."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.shared.exits import NotFound, usage
from slowcat_memory.cli.shared.output import entries, entry, listed, out, print_json, short, when
from slowcat_memory.cli.shared.settings import AsJson, Scope, nothing_in, settings

if TYPE_CHECKING:
    from slowcat_memory.engine.memory import Memory as MemoryVerbs
    from slowcat_memory.records import Memory


def blocks(
    ctx: typer.Context,
    label: Annotated[
        str | None,
        typer.Argument(
            metavar="[LABEL]",
            help="persona, human, relationship, self_perception, background_context, profile, "
            "or one of your own.",
            show_default=False,
        ),
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Every version.")] = False,
    edit: Annotated[
        str | None,
        typer.Option(
            help="Write this text; jobs will not overwrite it. Empty deletes the block.",
            metavar="TEXT",
        ),
    ] = None,
    release: Annotated[
        bool, typer.Option("--release", help="Let jobs write the block again.")
    ] = False,
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Show what the agent always has in its context: about you, itself, both, and the last days.

    [bold]session_context()[/] puts it into every session; it changes only between sessions.

    Examples: [bold]slowcat-memory blocks[/], [bold]slowcat-memory blocks human --history[/],
    [bold]slowcat-memory blocks persona --edit "You are Mo, calm and brief."[/]
    """
    if label is None and (edit is not None or release):
        raise usage("name the block", "LABEL")
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(readonly=edit is None and not release, words_only=True) as engine:
        if label and (edit is not None or release):
            _change(engine, where, label, edit)
        found = _found(engine, where, label or "", every=history)
        if as_json:
            return print_json(found)
        if not found and edit == "":
            return out().print("[green]✓[/] Deleted.")
        if not found:
            raise NotFound(_explain_empty(engine, where, label))
        out().print(_table(engine, found, whole=label is not None))
    return None


def _found(engine: "MemoryVerbs", scope: str, label: str, *, every: bool) -> "list[Memory]":
    from slowcat_memory.core.blocks.block import history
    from slowcat_memory.core.disclosure import renamed

    called = engine.reader(scope, local=True).called
    with engine.snapshot() as snapshot:
        found = history((renamed(m, called) for m in snapshot.memories(scope, "block/")), label)
    return found if every else [memory for memory in found if not memory.retired_at]


def _explain_empty(engine: "MemoryVerbs", scope: str, label: str | None) -> str:
    from slowcat_memory.core.blocks.block import label_of

    with engine.snapshot() as snapshot:
        if scope not in snapshot.scopes():
            return nothing_in(engine, scope)
    there = sorted({label_of(one) for one in _found(engine, scope, "", every=False)})
    if label and there:
        return f"There is no block {label}; there are {listed(there, 9)}."
    how = "slowcat-memory idle writes them; --edit writes your own"
    return f"There {f'is no block {label}' if label else 'are no blocks'} yet: {how}."


def _change(engine: "MemoryVerbs", scope: str, label: str, text: str | None) -> None:
    from slowcat_memory.engine.notes import edit_block, release_block

    try:
        if text is None:
            release_block(engine, scope, label)
        else:
            edit_block(engine, scope, label, text)
    except ValueError as error:
        raise usage(str(error)) from None


def _table(engine: "MemoryVerbs", found: "list[Memory]", *, whole: bool) -> Any:
    from slowcat_memory.core.blocks.block import label_of, owner_of

    made = entries(width=max(10, *(len(label_of(memory)) for memory in found)))
    for memory in found:
        at = when(memory.recorded_at or memory.valid_from, engine.zone)
        about = f"version {memory.facets.get('version', '')}, by {owner_of(memory)}, {at}"
        text = memory.text if whole else short(memory.text)
        entry(made, label_of(memory), text, about, style="dim" if memory.retired_at else "")
    return made
