"""``slowcat-memory facts``: the facts, their start of validity, and their source turns."""

from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.exits import NotFound
from slowcat_memory.cli.shared.output import (
    count,
    entries,
    entry,
    listed,
    out,
    print_json,
    short,
    when,
)
from slowcat_memory.cli.shared.settings import AsJson, Scope, nothing_in, settings

if TYPE_CHECKING:
    from datetime import tzinfo

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Memory


def facts(
    ctx: typer.Context,
    type_: Annotated[
        str | None, typer.Option("--type", help="Only this type: preference, work, …")
    ] = None,
    about: Annotated[
        str | None, typer.Option(help="Only about this person or thing.", metavar="NAME")
    ] = None,
    history: Annotated[
        bool, typer.Option("--history", help="Also facts that no longer hold.")
    ] = False,
    audit: Annotated[
        bool,
        typer.Option("--audit", help="Also quarantined, replaced and repeated facts, and why."),
    ] = False,
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Show the facts people stated about themselves and others, newest first.

    "turn" is the turn that says it:
    [bold]slowcat-memory show 17[/]. Facts marked "rule" were extracted without an LLM.

    Examples: [bold]slowcat-memory facts --about Max --history[/],
    [bold]slowcat-memory facts --type preference[/]
    """
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(readonly=True, words_only=True) as engine:
        found = _found(engine, where, history=history, audit=audit)
        found = [one for one in found if _fits(one, type_, about)]
        if as_json:
            return print_json(found)
        if not found:
            raise NotFound(_why_none(engine, where, type_, about))
        _print(found, engine.zone, past=history or audit, audit=audit)
    return None


def _found(engine: "MemoryEngine", scope: str, *, history: bool, audit: bool) -> "list[Memory]":
    from slowcat_memory.core.disclosure import renamed
    from slowcat_memory.core.memory import FACT, QUARANTINED, family

    called = engine.reader(scope, local=True).called
    with engine.snapshot() as snapshot:
        stored = (m for m in snapshot.memories(scope) if family(m.kind) == FACT)
        every = [renamed(m, called) for m in stored]
    kept = []
    for one in every:
        over = one.retired_at is not None
        hidden = one.kind == QUARANTINED or (over and one.facets.get("why") == "same")
        if audit or (not hidden and (history or not over)):
            kept.append(one)
    return sorted(kept, key=lambda one: (one.valid_from, one.id), reverse=True)


def _fits(fact: "Memory", type_: str | None, about: str | None) -> bool:
    from slowcat_memory.core.text.normalize import fingerprint

    if type_ and fact.kind.partition("/")[2] != type_.strip().lower():
        return False
    if not about:
        return True
    names = f" {fingerprint(fact.facets.get('subject', ''))} {fingerprint(fact.text)} "
    return f" {fingerprint(about)} " in names.replace("'s ", " ")


def _why_none(engine: "MemoryEngine", scope: str, type_: str | None, about: str | None) -> str:
    with engine.snapshot() as snapshot:
        if scope not in snapshot.scopes():
            return nothing_in(engine, scope)
    known = _found(engine, scope, history=False, audit=False)
    if not known:
        return (
            "No facts found. `slowcat-memory idle` extracts facts from turns it has not read yet."
        )
    types = sorted({one.kind.partition("/")[2] for one in known})
    asked = f"about {about}" if about else f"of type {type_}"
    return (
        f"No facts {asked}; there are {count(len(known), 'fact')} of the types {listed(types, 9)}."
    )


def _print(found: "list[Memory]", zone: "tzinfo", *, past: bool, audit: bool) -> None:
    made = entries()
    for one in found:
        over = one.retired_at is not None
        text = short(one.text)
        if past and one.valid_to:
            text = f"{text.rstrip('.')}, until {when(one.valid_to, zone)[:10]}"
        days = " to ".join(filter(None, map(one.facets.get, ("date", "last"))))
        about = [
            one.kind.partition("/")[2].replace("_", " "),
            f"on {days}" if days else "",
            f"{one.facets.get('confidence', 'high')} confidence",
            "by you" if one.made is None else "by an LLM" if one.made.model else "by rule",
            f"turn {one.sources[0]}" if one.sources else "",
            _note(one) if audit else "",
        ]
        entry(
            made,
            when(one.valid_from, zone)[:10],
            text,
            " · ".join(filter(None, about)),
            style="dim" if over else "",
        )
    out().print(made)
    holds = sum(one.retired_at is None for one in found)
    out().print(f"[dim]{count(len(found), 'fact')}, {holds:,} of them still hold[/]")


def _note(fact: "Memory") -> str:
    why = fact.facets.get("why", "")
    words = {
        "order": "reads like an instruction",
        "injected": "said with an instruction",
        "link": "contains a link",
        "same": "stated before",
    }
    return words.get(why, "superseded" if fact.retired_at else "")
