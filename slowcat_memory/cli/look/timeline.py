"""``slowcat-memory timeline``: what changed when, in whose words."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.look.people import day, nobody
from slowcat_memory.cli.shared.arguments import AsJson, Scope
from slowcat_memory.cli.shared.output import count, out, print_json, row, say, short, table, warn
from slowcat_memory.cli.shared.settings import settings

if TYPE_CHECKING:
    from slowcat_memory.core.graph.relations import Relation
    from slowcat_memory.engine import MemoryEngine


def timeline(
    ctx: typer.Context,
    about: Annotated[str, typer.Argument(help="Whom or what: a name, or a topic.")],
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """See what changed when with somebody or something, and the words that say so.

    A name shows what held from when until when; other words show what holds them.

    Example: [bold]slowcat-memory timeline Anna[/]
    """
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(readonly=True, words_only=True) as engine:
        found = _about(engine, where, about)
        if as_json:
            return print_json(found)
        if not found:
            return warn(nobody(engine, where, about))
        out().print(_table(engine, where, found))
        say(f"[dim]{count(len(found), 'thing')} that held[/]")


def _about(engine: "MemoryEngine", scope: str, about: str) -> "list[Relation]":
    """Find what was true of those who are called so; else what holds these words."""
    from slowcat_memory.core.text.normalize import fold
    from slowcat_memory.engine.search import read_graph

    graph = read_graph(engine, scope)
    every = graph.relations
    ids = {one.id for one in graph.names.find(about)}
    if ids:
        return [one for one in every if ids & {one.subject, one.object}]
    wanted = set(fold(about).split())
    return [
        one
        for one in every
        if wanted <= set(fold(f"{one.text} {one.quote}").replace(".", "").split())
    ]


def _table(engine: "MemoryEngine", scope: str, found: "list[Relation]") -> Any:
    from slowcat_memory.core.graph.portrait import predicate_in_words
    from slowcat_memory.engine.search import read_graph

    names = read_graph(engine, scope).names
    made = table("since", "until", "what*", "who said it", "in these words*", ">turn")
    for one in found:
        told = f"{names[one.subject]} {predicate_in_words(one.predicate)} {names[one.object]}"
        row(
            made,
            day(one.valid_from, engine.zone),
            day(one.valid_to, engine.zone),
            told,
            one.speaker,
            f"“{short(one.quote, 160)}”",
            one.sources[0] if one.sources else "",
            style="dim" if one.valid_to else "",
        )
    return made
