"""``slowcat-memory as-of``: what was true on a day, or what was believed then."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.look.people import day
from slowcat_memory.cli.shared.arguments import AsJson, Scope, nothing_in, parse_time
from slowcat_memory.cli.shared.output import out, print_json, row, short, table, warn, when
from slowcat_memory.cli.shared.settings import settings

if TYPE_CHECKING:
    from slowcat_memory.core.graph.relations import Relation
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Hit


def as_of(
    ctx: typer.Context,
    date: Annotated[str, typer.Argument(help="A day, or a minute: 2025-11-15.")],
    text: Annotated[str | None, typer.Argument(help="What to look for; all by default.")] = None,
    scope: Scope = None,
    known: Annotated[
        bool, typer.Option("--known", help="By what was believed then, not by what is known now.")
    ] = False,
    k: Annotated[int, typer.Option(help="How many memories at most.", min=1, max=1000)] = 10,
    as_json: AsJson = False,
) -> None:
    """See what was true on a day; with --known, what was thought on that day.

    With a text, what had been said about it by then is shown as well.

    Example: [bold]slowcat-memory as-of 2025-11-15 "where does Clara live" --known[/]
    """
    from slowcat_memory.engine.search import read_graph

    given = settings(ctx)
    where = given.scope(scope)
    with given.engine(readonly=True) as engine:
        at = parse_time(date, engine.zone, "DATE")
        assert at is not None
        if len(date.strip()) <= len("2025-11-15"):  # all of that day
            at += timedelta(days=1, microseconds=-1)
        held = read_graph(engine, where, true=at, known=at if known else None).relations
        held = _about(held, text) if text else held
        hits = engine.search(text, where, k, at=at, local=True).hits if text else []
        if as_json:
            return print_json({"held": held, "said": [hit.memory for hit in hits]})
        if not held and not hits:
            return warn(_nothing(engine, where))
        if held:
            out().print(_held(engine, where, held, at, known))
        if hits:
            out().print(_said(engine, hits))


def _about(held: "list[Relation]", text: str) -> "list[Relation]":
    """Keep what shares a word of weight with a text."""
    from slowcat_memory.core.extraction.evidence import shared

    return [one for one in held if shared(f"{one.text} {one.quote}", text, "")]


def _nothing(engine: "MemoryEngine", scope: str) -> str:
    with engine.snapshot() as snapshot:
        known = scope in snapshot.scopes()
    return "Nothing is known of that time." if known else nothing_in(engine, scope)


def _held(
    engine: "MemoryEngine", scope: str, held: "list[Relation]", at: datetime, known: bool
) -> Any:
    from slowcat_memory.core.graph.portrait import predicate_in_words
    from slowcat_memory.engine.search import read_graph

    names = read_graph(engine, scope).names
    on = day(at, engine.zone)
    title = f"What was thought on {on} to be true" if known else f"What was true on {on}"
    made = table("who", "what", "of them*", "since", "until", "in these words*", title=title)
    for one in held:
        row(
            made,
            names[one.subject],
            predicate_in_words(one.predicate),
            names[one.object],
            day(one.valid_from, engine.zone),
            day(one.valid_to, engine.zone),
            f"“{short(one.quote, 120)}”",
        )
    return made


def _said(engine: "MemoryEngine", hits: "list[Hit]") -> Any:
    made = table("when", "who", "text*", title="What had been said")
    for hit in hits:
        memory = hit.memory
        row(made, when(memory.valid_from, engine.zone), memory.speaker, short(memory.text))
    return made
