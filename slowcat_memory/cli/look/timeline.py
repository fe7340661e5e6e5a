"""``slowcat-memory timeline`` and ``as-of``: facts by the time at which they were true."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.look.people import day, no_person, said
from slowcat_memory.cli.shared.dates import last_moment
from slowcat_memory.cli.shared.exits import NotFound
from slowcat_memory.cli.shared.output import (
    count,
    entries,
    entry,
    out,
    print_json,
    say,
    short,
    when,
)
from slowcat_memory.cli.shared.settings import AsJson, Scope, nothing_in, settings

if TYPE_CHECKING:
    from slowcat_memory.core.graph.relations import Relation
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Hit


def timeline(
    ctx: typer.Context,
    about: Annotated[str, typer.Argument(help="A name, or a topic.")],
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Show what changed when about a person or thing, with the quotes.

    A name shows its facts with their dates; other words show the facts that contain them.

    Example: [bold]slowcat-memory timeline Anna[/]
    """
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(readonly=True, words_only=True) as engine:
        found = _relations_of(engine, where, about)
        if as_json:
            return print_json(found)
        if not found:
            raise NotFound(no_person(engine, where, about))
        out().print(_timeline(engine, where, found))
        say(f"[dim]{count(len(found), 'fact')}[/]")


def _relations_of(engine: "MemoryEngine", scope: str, about: str) -> "list[Relation]":
    """Return the relations of the people with this name; else those with these words."""
    from slowcat_memory.core.graph.relations import fold
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


def _timeline(engine: "MemoryEngine", scope: str, found: "list[Relation]") -> Any:
    from slowcat_memory.core.graph.portrait import in_words
    from slowcat_memory.engine.search import read_graph

    names = read_graph(engine, scope).names
    made = entries()
    for one in found:
        fact = in_words(one, names)
        over = f", until {day(one.valid_to, engine.zone)}" if one.valid_to else ""
        turn = one.sources[0] if one.sources else ""
        entry(
            made,
            day(one.valid_from, engine.zone),
            f"{fact}{over}",
            said(one.quote, turn, one.speaker),
            style="dim" if one.valid_to else "",
        )
    return made


def as_of(
    ctx: typer.Context,
    date: Annotated[
        str,
        typer.Argument(help="A day or a minute, such as 2025-11-15; or words, such as yesterday."),
    ],
    text: Annotated[
        str | None, typer.Argument(help="Only facts about this; all by default.")
    ] = None,
    scope: Scope = None,
    known: Annotated[
        bool, typer.Option("--known", help="Use what was believed then, not what is known now.")
    ] = False,
    k: Annotated[int, typer.Option(help="How many memories at most.", min=1, max=1000)] = 10,
    as_json: AsJson = False,
) -> None:
    """Show what was true on a day; with --known, what was believed on that day.

    With a text, also shows the turns about it up to then.

    Example: [bold]slowcat-memory as-of 2025-11-15 "where does Clara live" --known[/]
    """
    from slowcat_memory.engine.search import read_graph

    given = settings(ctx)
    where = given.scope(scope)
    with given.engine(readonly=True) as engine:
        at = last_moment(date, engine.clock(), engine.zone, "DATE")
        true_then = read_graph(engine, where, true=at, known=at if known else None).relations
        true_then = _about(true_then, text) if text else true_then
        hits = engine.search(text, where, k, at=at, local=True).hits if text else []
        if as_json:
            return print_json({"held": true_then, "said": [hit.memory for hit in hits]})
        if not true_then and not hits:
            raise NotFound(_nothing(engine, where))
        if true_then:
            out().print(_facts_table(engine, where, true_then, at, known))
        if hits:
            out().print(_said(engine, hits))


def _about(true_then: "list[Relation]", text: str) -> "list[Relation]":
    """Return the relations that share a content word with a text."""
    from slowcat_memory.core.extraction.evidence import shared

    return [one for one in true_then if shared(f"{one.text} {one.quote}", text, "")]


def _nothing(engine: "MemoryEngine", scope: str) -> str:
    with engine.snapshot() as snapshot:
        known = scope in snapshot.scopes()
    return "Nothing is known about that time." if known else nothing_in(engine, scope)


def _facts_table(
    engine: "MemoryEngine", scope: str, true_then: "list[Relation]", at: datetime, known: bool
) -> Any:
    from slowcat_memory.core.graph.portrait import in_words
    from slowcat_memory.engine.search import read_graph

    names = read_graph(engine, scope).names
    on = day(at, engine.zone)
    say(f"[bold]{'Believed' if known else 'True'} on {on}[/]")
    made = entries()
    for one in true_then:
        fact = in_words(one, names)
        over = f", until {day(one.valid_to, engine.zone)}" if one.valid_to else ""
        turn = one.sources[0] if one.sources else ""
        entry(made, day(one.valid_from, engine.zone), f"{fact}{over}", said(one.quote, turn))
    return made


def _said(engine: "MemoryEngine", hits: "list[Hit]") -> Any:
    say("\n[bold]Said until then[/]")
    made = entries()
    for hit in hits:
        memory = hit.memory
        at = when(memory.valid_from, engine.zone)[:10]
        entry(made, at, f"{memory.speaker}: {short(memory.text)}")
    return made
