"""``slowcat-memory summaries``: summaries of conversations, days, weeks and topics."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from slowcat_memory.cli.shared.exits import NotFound, usage
from slowcat_memory.cli.shared.output import (
    count,
    entries,
    entry,
    out,
    print_json,
    row,
    short,
    table,
    when,
)
from slowcat_memory.cli.shared.paging import ROWS, Limit, Page, page_of, print_paged
from slowcat_memory.cli.shared.settings import AsJson, Scope, nothing_in, parse_time, settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

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
    episode = "episode"


def summaries(
    ctx: typer.Context,
    text: Annotated[
        str | None,
        typer.Argument(metavar="SEARCH", help="Only what matches these words, or their meaning."),
    ] = None,
    kind: Annotated[
        Kind | None,
        typer.Option(
            help="Only this kind; by default all but episodes and parts of long sessions."
        ),
    ] = None,
    k: Annotated[int, typer.Option(help="With SEARCH: how many at most.", min=1, max=1000)] = 10,
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
    limit: Limit = None,
    page: Page = 1,
    scope: Scope = None,
    as_json: AsJson = False,
) -> None:
    """Show what conversations, days, weeks and topics were about, latest last.

    With SEARCH: those that match, best first. A [dim]·[/] after the
    kind marks summaries made without an LLM: extracted sentences. "episode" is a moment of a
    conversation that stands out.

    Examples: [bold]slowcat-memory summaries "the new flat" --kind topic[/],
    [bold]slowcat-memory summaries --kind week[/],
    [bold]slowcat-memory summaries --id summary/day/2026-05-12 --sources[/]
    """
    if sources and not id:
        raise usage("needs --id", "--sources")
    if text and id:
        raise usage("give SEARCH or --id")
    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(readonly=True, words_only=text is None) as engine:
        begin = parse_time(since, engine.zone, "--since")
        found = (
            _matching(engine, where, text, kind, begin, k)
            if text
            else _found(engine, where, kind, begin)
        )
        if id:
            found = [
                memory for memory in _found(engine, where, None, None, True) if memory.id == id
            ]
            if not found:
                raise NotFound(
                    f"there is no summary {id}", hint="`slowcat-memory summaries` lists them."
                )
        shown, place = page_of(found, limit if as_json else limit or ROWS, page)
        if as_json:
            return print_json(shown)
        if not found:
            raise NotFound(_why_none(engine, where, text))
        if id:
            return _one(engine, found[0], sources)
        print_paged(_list(engine, shown))
        ruled = sum(memory.made is not None and not memory.made.model for memory in shown)
        note = f", {ruled} made without an LLM (·)" if ruled else ""
        out().print(f"[dim]{place.note or count(len(found), 'summary')}{note}[/]")
    return None


def _found(
    engine: "MemoryEngine",
    scope: str,
    kind: Kind | None,
    since: datetime | None,
    parts: bool = False,
) -> "list[Memory]":
    from slowcat_memory.core.disclosure import renamed
    from slowcat_memory.core.summaries.summary import META, WINDOW, current, until

    with engine.snapshot() as snapshot:
        every = list(current(snapshot.memories(scope, _beginning(kind))))
        if parts:
            every += current(snapshot.memories(scope, _beginning(Kind.episode)))
    every = [renamed(m, engine.reader(scope, local=True, muted=True).called) for m in every]
    wanted = (m for m in every if parts or kind or m.kind not in (WINDOW, META))
    kept = [m for m in wanted if since is None or until(m) > since]
    return sorted(kept, key=lambda m: (until(m), m.kind, m.id))


def _beginning(kind: Kind | None) -> str:
    """Return how the ids of a kind begin."""
    return f"{kind}/" if kind is Kind.episode else f"summary/{kind or ''}"


def _matching(
    engine: "MemoryEngine",
    scope: str,
    text: str,
    kind: Kind | None,
    since: datetime | None,
    most: int,
) -> "list[Memory]":
    from slowcat_memory.core.summaries.summary import META, WINDOW, until

    hits = engine.search(text, scope, 2 * most, kinds=(kind or "summary",), local=True).hits
    found: list[Memory] = [
        hit.memory for hit in hits if kind or hit.memory.kind not in (WINDOW, META)
    ]
    return [one for one in found if since is None or until(one) > since][:most]


def _list(engine: "MemoryEngine", found: "Sequence[Memory]") -> "Table":
    """Return a list: the time, the text, and beneath it what it is and what it is about."""
    made = entries(width=16)
    for memory in found:
        ruled = memory.made is not None and not memory.made.model
        topics = memory.facets.get("name") or memory.facets.get("topics", "")
        about = (_name(memory) + (" ·" if ruled else ""), memory.id, short(topics, 60))
        entry(made, _period(engine, memory), short(memory.text), "  ".join(filter(None, about)))
    return made


def _period(engine: "MemoryEngine", memory: "Memory") -> str:
    """Return a summary's time; of a topic, which spans days, the latest, by which it is sorted."""
    from slowcat_memory.core.summaries.summary import DAY, TOPIC, WEEK, until

    if memory.kind in (DAY, WEEK):
        return memory.id.rpartition("/")[2]
    if memory.kind == TOPIC:
        begin, end = when(memory.valid_from, engine.zone)[:10], when(until(memory), engine.zone)
        return end if end.startswith(begin) else f"{begin} to\n{end}"
    return when(memory.valid_from, engine.zone)


def _name(memory: "Memory") -> str:
    return memory.kind.partition("/")[2] or memory.kind


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
        row(made, _period(engine, part), _name(part), short(part.text), part.id)
    for turn in filter(None, turns):
        row(made, when(turn.at, engine.zone), turn.speaker, short(turn.text), str(turn.id))
    out().print(made)


def _why_none(engine: "MemoryEngine", scope: str, text: str | None) -> str:
    with engine.snapshot() as snapshot:
        known = scope in snapshot.scopes()
    if not known:
        return nothing_in(engine, scope)
    if text and _found(engine, scope, None, None):
        return "No summary matches."
    return f"No summaries in the scope {scope} yet: `slowcat-memory idle` writes them."
