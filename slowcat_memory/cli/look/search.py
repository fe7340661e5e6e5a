"""``slowcat-memory search``: find memories, best first."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from slowcat_memory.cli.shared.output import count, out, print_json, short, warn, when
from slowcat_memory.cli.shared.settings import AsJson, Scope, nothing_in, settings

if TYPE_CHECKING:
    from datetime import tzinfo

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Hit
    from slowcat_memory.runtime.recall.query import Recollection

LINE_CHARS = 300
VIEWS = {
    "turn": "its words",
    "window": "the words around it",
    "session": "its conversation",
    "dense": "meaning",
    "tokens": "meaning, word by word",
    "keys": "a fact or question about it",
    "asked": "an earlier question",
}


def search(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    scope: Scope = None,
    k: Annotated[int, typer.Option(help="How many memories at most.", min=1, max=1000)] = 10,
    as_json: AsJson = False,
) -> None:
    """Find memories, best first, and show why each was found.

    Works while an agent is running. Uses the agent's recall, without its deadline.

    Example: [bold]slowcat-memory search "what is my dog called" --k 3[/]
    """
    if not text.strip():
        raise typer.BadParameter("say in a few words what to look for", param_hint="TEXT")
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
            return warn(_why_none(engine, where))
        for hit in found.hits:
            out().print(_lines(hit, engine.zone), soft_wrap=False)
        _print_summary(engine, found)


def _plain(found: "Recollection") -> dict[str, Any]:
    return {
        "stage": found.stage,
        "timings_ms": found.timings,
        "hits": [
            {"score": hit.score, "views": hit.views, "memory": hit.memory} for hit in found.hits
        ],
    }


def _lines(hit: "Hit", zone: "tzinfo") -> Text:
    """Return two lines: what was said, and beneath it when, by whom, how likely and found by what."""
    memory = hit.memory
    beneath = [
        when(memory.valid_from, zone),
        memory.speaker + (" 📌" if memory.pinned else ""),
        f"{hit.probability:.0%} likely" if hit.probability else "",
        found_by(hit.views),
        memory.id,
    ]
    shown = Text(short(memory.text, LINE_CHARS), style="bold" if memory.pinned else "")
    return shown.append(f"\n  {' · '.join(part for part in beneath if part)}\n", style="dim")


def found_by(scores: dict[str, float]) -> str:
    """Return in words which view of the index found a memory most strongly."""
    best_first = sorted(scores.items(), key=lambda item: -item[1])
    words = [VIEWS.get(name, name) for name, score in best_first if score >= 0.005]
    return f"by {words[0]}" if words else ""


def _why_none(engine: "MemoryEngine", scope: str) -> str:
    with engine.snapshot() as snapshot:
        known = scope in snapshot.scopes()
    return "Nothing found." if known else nothing_in(engine, scope)


def _print_summary(engine: "MemoryEngine", found: "Recollection") -> None:
    how = "by words and meaning" if found.stage == "full" else "by words only"
    ms = found.timings.get("total", sum(found.timings.values()))
    out().print(f"[dim]{count(len(found.hits), 'memory')}, {how}, in {ms:.1f} ms[/]")
    report = engine.embedding
    if report.state in ("needs export", "missing"):
        warn(f"No vectors: {report.source}. {report.hint or 'slowcat-memory init prepares it.'}")
