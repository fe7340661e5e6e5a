"""``slowcat-memory search``: find memories, best first."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from slowcat_memory.cli.shared.exits import NotFound, usage
from slowcat_memory.cli.shared.output import (
    count,
    entries,
    entry,
    out,
    print_json,
    short,
    warn,
    when,
)
from slowcat_memory.cli.shared.paging import print_paged
from slowcat_memory.cli.shared.settings import AsJson, Scope, nothing_in, settings, shown_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Hit
    from slowcat_memory.runtime.recall.query import Recollection

LINE_CHARS = 300
UNLIKELY = 0.05  # a probability below which a hit answers nothing
SUREST = 0.99  # a probability is never certainty
VIEWS = {
    "window": "its words and those around it",
    "session": "its conversation",
    "dense": "meaning",
    "tokens": "the meaning of single words",
    "keys": "a fact or question about it",
    "asked": "an earlier question",
}


def search(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    scope: Scope = None,
    k: Annotated[int, typer.Option(help="How many memories at most.", min=1, max=1000)] = 10,
    why: Annotated[bool, typer.Option("--why", help="Also what each was found by.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find memories, best first: when, what was said and by whom, and how likely it answers.

    Uses the agent's recall, without its deadline.

    Examples: [bold]slowcat-memory search "what is my dog called" --k 3[/],
    [bold]slowcat-memory search "the dog" --why[/]
    """
    if not text.strip():
        raise usage("say in a few words what to look for", "TEXT")
    from slowcat_memory.runtime.conversation.audience import guest_scope

    known = settings(ctx)
    where = known.scope(scope)
    with known.engine(readonly=True) as engine:
        if where != guest_scope(engine.config.people):
            engine.prepare(where)  # a short-lived process has no later answer to be complete
        found = engine.search(text, where, k, local=True)
        if as_json:
            return print_json(_plain(found))
        if not found.hits:
            raise NotFound(_why_none(engine, where))
        if all(hit.probability < UNLIKELY for hit in found.hits):
            warn("Nothing there answers that; this is nearest to it:")
        print_paged(_listed(found.hits, engine, why=why))
        _print_summary(engine, found)


def _plain(found: "Recollection") -> dict[str, Any]:
    return {
        "stage": found.stage,
        "timings_ms": found.timings,
        "hits": [
            {"score": hit.score, "views": hit.views, "memory": hit.memory} for hit in found.hits
        ],
    }


def _listed(hits: "Sequence[Hit]", engine: "MemoryEngine", *, why: bool) -> "Table":
    """Return the hits: the day, the words, and beneath them who said them and how likely."""
    from slowcat_memory.core.render.memory_block import mark_of

    made, zone, now = entries(), engine.zone, engine.clock()
    for hit in hits:
        memory = hit.memory
        about = [
            memory.speaker,
            mark_of(memory, now, zone),
            "pinned" if memory.pinned else "",
            f"{min(hit.probability, SUREST):.0%} likely" if hit.probability else "",
            shown_id(memory.id),
        ]
        entry(
            made,
            when(memory.valid_from, zone)[:10],
            Text(short(memory.text, LINE_CHARS), style="bold" if memory.pinned else ""),
            " · ".join(filter(None, about)),
            f"found by {_views(hit)}" if why else "",
        )
    return made


def _views(hit: "Hit") -> str:
    """Return in words what a memory was found by, strongest first, with scores."""
    best_first = sorted(hit.views.items(), key=lambda item: -item[1])
    words = [f"{VIEWS.get(name, name)} {score:.2f}" for name, score in best_first if score >= 0.005]
    return ", ".join(words) or "its time"


def _why_none(engine: "MemoryEngine", scope: str) -> str:
    with engine.snapshot() as snapshot:
        known = scope in snapshot.scopes()
    return "Nothing found." if known else nothing_in(engine, scope)


def _print_summary(engine: "MemoryEngine", found: "Recollection") -> None:
    how = "by words and meaning" if found.stage == "full" else "by words only"
    ms = found.timings.get("total", sum(found.timings.values()))
    out().print(f"[dim]{count(len(found.hits), 'memory')}, found {how} in {ms:.0f} ms[/]")
    report = engine.embedding
    if report.state in ("needs export", "missing"):
        warn(f"No vectors: {report.source}. {report.hint or 'slowcat-memory init prepares it.'}")
