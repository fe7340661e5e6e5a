"""``slowcat-memory people``: the people in a memory, and their facts."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from slowcat_memory.cli.shared.exits import NotFound
from slowcat_memory.cli.shared.output import (
    count,
    entries,
    entry,
    listed,
    out,
    print_json,
    say,
    short,
    when,
)
from slowcat_memory.cli.shared.settings import AsJson, Scope, nothing_in, settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from slowcat_memory.core.graph.portrait import Portrait
    from slowcat_memory.engine import MemoryEngine

SHOWN = 6  # facts of a person in the list


def people(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Show this person in full.")] = None,
    scope: Scope = None,
    every: Annotated[bool, typer.Option("--all", help="Also places, things and topics.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show people and what is true of them; with a name, also what was true before, and the quotes.

    Idle work extracts this: [bold]slowcat-memory idle[/] does it now.

    Example: [bold]slowcat-memory people Clara[/]
    """
    from slowcat_memory.engine.search import read_graph

    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(readonly=True, words_only=True) as engine:
        found = read_graph(engine, where).portraits(name or "")
        if not (name or every):
            found = [one for one in found if one.type in ("person", "pet")]
        if as_json:
            return print_json(found)
        if not found:
            raise NotFound(no_person(engine, where, name))
        if not name:
            out().print(_everyone(found))
            return say(f"[dim]{count(len(found), 'name')} known[/]")
        for one in found:
            out().print(_heading(one))
            out().print(_one(one, engine.zone))


def no_person(engine: "MemoryEngine", scope: str, name: str | None) -> str:
    """Return the message for an unknown name, or for a memory without people."""
    from slowcat_memory.engine.search import read_graph

    with engine.snapshot() as snapshot:
        if scope not in snapshot.scopes():
            return nothing_in(engine, scope)
    if name and (others := [one.name for one in read_graph(engine, scope).portraits()]):
        return f"No {name} is known; known are {listed(others)}."
    return "No people are known yet: `slowcat-memory idle` extracts them."


def _everyone(found: "Sequence[Portrait]") -> Any:
    made = entries(width=min(16, max(len(one.name) for one in found)))
    for one in found:
        known = [f"{line.what} {line.value}" for line in one.holds]
        known += [f"{key} {value}" for key, value in one.attributes.items()]
        known += [f"{line.value}: {line.what} {one.name}" for line in one.others]
        more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
        entry(made, one.name, short("; ".join(known[:SHOWN])) + more, f"({one.type})")
    return made


def _one(one: "Portrait", zone: "tzinfo") -> Any:
    made = entries()
    for key, value in one.attributes.items():
        entry(made, "", f"{key} {value}")
    for line in (*one.holds, *one.before):
        over = f", until {day(line.until, zone)}" if line.until else ""
        text = f"{line.what} {line.value}{over}"
        style = "dim" if line in one.before else ""
        entry(made, day(line.since, zone), text, said(line.quote, line.turn), style=style)
    for line in one.others:
        text = f"{line.value} {line.what} {one.name}"
        entry(made, day(line.since, zone), text, said(line.quote, line.turn))
    return made


def _heading(one: "Portrait") -> Text:
    also = f", also {listed(one.also)}" if one.also else ""
    return Text.assemble((one.name, "bold"), f" ({one.type}{also})")


def said(quote: str, turn: object, speaker: str = "") -> str:
    """Return the words that say a fact, and where they were said."""
    words = f"“{short(quote, 160)}”" if quote else ""
    where = f"turn {turn}" if turn else ""
    source = ", ".join(filter(None, (speaker, where)))
    return f"{words} ({source})".strip() if source else words


def day(at: "datetime | None", zone: "tzinfo") -> str:
    """Return a day, for example "2024-05-12"; "" for None and for "always"."""
    from slowcat_memory.core.graph.relations import ALWAYS

    return "" if at is None or at == ALWAYS else when(at, zone)[:10]
