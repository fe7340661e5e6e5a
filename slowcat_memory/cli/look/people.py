"""``slowcat-memory people``: the people in a memory, and their facts."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.shared.exits import NotFound
from slowcat_memory.cli.shared.output import (
    count,
    listed,
    out,
    print_json,
    row,
    say,
    short,
    table,
    when,
)
from slowcat_memory.cli.shared.settings import AsJson, Scope, nothing_in, settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from slowcat_memory.core.graph.portrait import Line, Portrait
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
    made = table("who", "what", "known*")
    for one in found:
        told = [f"{line.what} {line.value}" for line in one.holds]
        told += [f"{key} {value}" for key, value in one.attributes.items()]
        told += [f"{line.value}: {line.what} {one.name}" for line in one.others]
        row(
            made,
            one.name,
            one.type,
            short("; ".join(told[:SHOWN]))
            + (f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""),
        )
    return made


def _one(one: "Portrait", zone: "tzinfo") -> Any:
    also = f", also {listed(one.also)}" if one.also else ""
    made = table("what", "value*", "since", "until", "in these words*", ">turn")
    for key, value in one.attributes.items():
        row(made, key, value, "", "", "", "")
    for line in (*one.holds, *one.before):
        told = (line.what, line.value, day(line.since, zone), day(line.until, zone))
        row(made, *told, _said(line), line.turn, style="dim" if line in one.before else "")
    for line in one.others:
        told = (f"{line.value} {line.what}", one.name, day(line.since, zone), "")
        row(made, *told, _said(line), line.turn)
    made.title = f"{one.name} ({one.type}{also})".replace("[", "\\[")
    return made


def _said(line: "Line") -> str:
    return f"“{short(line.quote, 120)}”" if line.quote else ""


def day(at: "datetime | None", zone: "tzinfo") -> str:
    """Return a day, for example "2024-05-12"; "" for None and for "always"."""
    from slowcat_memory.core.graph.relations import ALWAYS

    return "" if at is None or at == ALWAYS else when(at, zone)[:10]
