"""``slowcat-memory summaries``: summaries of conversations, days, weeks and topics."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from slowcat_memory.cli.shared.output import count, out, print_json, row, short, table, warn, when
from slowcat_memory.cli.shared.settings import AsJson, Scope, nothing_in, parse_time, settings

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Memory


class Kind(StrEnum):
    """Kinds of summaries."""

    session = "session"
    day = "day"
    week = "week"
    topic = "topic"
    window = "window"
    meta = "meta"


def summaries(
    ctx: typer.Context,
    kind: Annotated[
        Kind | None, typer.Option(help="Only this kind; by default all but parts of long sessions.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Only summaries of this time or later: a date or time.")
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", help="Show one summary in full, by its id.")
    ] = None,
    sources: Annotated[
        bool,
        typer.Option("--sources", help="With --id: also what it was made from, down to the turns."),
    ] = False,
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Show what conversations, days, weeks and topics were about, latest last.

    Works while an agent is running. A [dim]·[/] after the kind marks summaries made without an LLM:
    extracted sentences.

    Examples: [bold]slowcat-memory summaries --kind week[/],
    [bold]slowcat-memory summaries --id summary/day/2026-05-12 --sources[/]
    """
    if sources and not id:
        raise typer.BadParameter("needs --id", param_hint="--sources")
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(readonly=True, words_only=True) as engine:
        found = _found(engine, where, kind, parse_time(since, engine.zone, "--since"))
        if id:
            found = [
                memory for memory in _found(engine, where, None, None, True) if memory.id == id
            ]
            if not found:
                raise typer.BadParameter(f"there is no summary {id}", param_hint="--id")
        if as_json:
            return print_json(found)
        if not found:
            return warn(_why_none(engine, where))
        if id:
            return _one(engine, found[0], sources)
        _table(engine, found)
    return None


def _found(
    engine: "MemoryEngine",
    scope: str,
    kind: Kind | None,
    since: datetime | None,
    parts: bool = False,
) -> "list[Memory]":
    from slowcat_memory.core.summaries.summary import META, WINDOW, current, until

    with engine.snapshot() as snapshot:
        every = list(current(snapshot.memories(scope, f"summary/{kind or ''}")))
    wanted = (m for m in every if parts or kind or m.kind not in (WINDOW, META))
    kept = [m for m in wanted if since is None or until(m) > since]
    return sorted(kept, key=lambda m: (until(m), m.kind, m.id))


def _table(engine: "MemoryEngine", found: "list[Memory]") -> None:
    made = table("when", "what", "text*")
    for memory in found:
        ruled = memory.made is not None and not memory.made.model
        what = memory.kind.partition("/")[2] + (" ·" if ruled else "")
        told = memory.facets.get("name") or memory.facets.get("topics", "")
        text = Text(short(memory.text)).append(f"\n{memory.id}", "dim")
        if told:
            text.append(f"  {short(told, 60)}", "dim italic")
        row(made, _period(engine, memory), what, text)
    out().print(made)
    ruled_ = sum(memory.made is not None and not memory.made.model for memory in found)
    note = f", {ruled_} made without an LLM (·)" if ruled_ else ""
    out().print(f"[dim]{count(len(found), 'summary')}{note}[/]")


def _period(engine: "MemoryEngine", memory: "Memory") -> str:
    from slowcat_memory.core.summaries.summary import DAY, WEEK

    if memory.kind in (DAY, WEEK):
        return memory.id.rpartition("/")[2]
    return when(memory.valid_from, engine.zone)


def _one(engine: "MemoryEngine", memory: "Memory", sources: bool) -> None:
    """Print a summary as text; with ``sources`` also the parts it covers and its turns."""
    from slowcat_memory.core.summaries.summary import archival, items

    out().print(archival(memory), markup=False, highlight=False)
    for name in ("tone", "relationship"):
        if value := memory.facets.get(name):
            out().print(f"{name.capitalize()}: {value}", markup=False, highlight=False)
    if not sources:
        return
    with engine.snapshot() as snapshot:
        parts = [snapshot.memory(memory.scope, id_) for id_ in items(memory, "covers")]
        turns = [] if any(parts) else [snapshot.turn(turn) for turn in memory.sources]
    made = table("when", "who", "text*", "id")
    for part in filter(None, parts):
        row(made, _period(engine, part), part.kind.partition("/")[2], short(part.text), part.id)
    for turn in filter(None, turns):
        row(made, when(turn.at, engine.zone), turn.speaker, short(turn.text), str(turn.id))
    out().print(made)


def _why_none(engine: "MemoryEngine", scope: str) -> str:
    with engine.snapshot() as snapshot:
        known = scope in snapshot.scopes()
    if not known:
        return nothing_in(engine, scope)
    return f"No summaries in the scope {scope} yet: `slowcat-memory idle` writes them."
