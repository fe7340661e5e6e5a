"""``slowcat-memory search`` and ``show``: what is in a memory."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace
from rich.text import Text

from slowcat_memory.cli.shell import (
    NotFound,
    Settings,
    count,
    dots,
    memory_id,
    nothing_in,
    out,
    print_entries,
    print_json,
    print_list,
    reading,
    settings,
    short,
    shown_id,
    size,
    takes,
    usage,
    warn,
    when,
)

if TYPE_CHECKING:
    from datetime import tzinfo

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import Hit, Memory, Session, Task, Turn
    from slowcat_memory.store import Snapshot

UNLIKELY = 0.05  # a probability below which a hit answers nothing
VIEWS = {
    "window": "its words and those around it",
    "session": "its conversation",
    "dense": "meaning",
    "tokens": "the meaning of single words",
    "keys": "a fact or question about it",
    "asked": "an earlier question",
}
MEMORIES = ("notes", "summaries", "episodes", "blocks", "icebreakers")
KINDS = ("sessions", "turns", *MEMORIES, "jobs", "calls", "stats")
IMPORTED = "import"  # why an imported session ended, as ``transfer.import_.REASON``
MOST = 1000  # memories of one search
RUNS = 10  # of jobs that are shown


@takes("limit", "user", "as_json")
def search(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    kind: Annotated[str, typer.Option(help="Only this kind: fact, note, summary, episode, …")] = "",
    why: Annotated[bool, typer.Option("--why", help="Also what each was found by.")] = False,
) -> None:
    """Find memories, best first: when, what was said and by whom, and how likely it answers.

    Uses the agent's recall, without its deadline. Ten at most, without --limit.

    Examples: [bold]slowcat-memory search "what is my dog called" --limit 3[/],
    [bold]slowcat-memory search "the garden" --kind summary[/]
    """
    if not text.strip():
        raise usage("say in a few words what to look for", "TEXT")
    from slowcat_memory.core.render.memory_block import mark_of
    from slowcat_memory.runtime.conversation.audience import guest_scope

    known = settings(ctx)
    known.limit = min(known.limit or 10, MOST)
    with reading(ctx, words_only=False) as (engine, where):
        if where != guest_scope(engine.config.people):
            engine.prepare(where)  # a short-lived process has no later answer to be complete
        kinds = (kind,) if kind else ()
        found = engine.search(text, where, known.limit, kinds=kinds, local=True)

        def entry(hit: "Hit") -> Sequence[str | Text]:
            memory = hit.memory
            likely = f"{likelihood(hit.probability)} likely" if hit.probability else ""
            over = mark_of(memory, engine.clock(), engine.zone)
            pinned = "pinned" if memory.pinned else ""
            about = dots(memory.speaker, over, pinned, likely, shown_id(memory.id))
            words = Text(short(memory.text), style="bold" if memory.pinned else "")
            by = f"found by {found_by(hit.views) or 'its time'}" if why else ""
            return when(memory.valid_from, engine.zone)[:10], words, about, by

        hits = list(found.hits)
        if known.as_json:
            shown = [{"score": h.score, "views": h.views, "memory": h.memory} for h in hits]
            timed = {"stage": found.stage, "timings_ms": found.timings}
            return print_json({**timed, "hits": shown})
        if hits and all(hit.probability < UNLIKELY for hit in hits):
            warn("Nothing there answers that; this is nearest to it:")
        how = "by words and meaning" if found.stage == "full" else "by words only"
        ms = found.timings.get("total", sum(found.timings.values()))
        note = f", found {how} in {ms:.0f} ms"
        none = partial(nothing_in, engine, where, "Nothing found.")
        print_list(known, hits, entry, "memory", none, note=note)
        report = engine.embedding
        if report.state in ("needs export", "missing"):
            hint = report.hint or "slowcat-memory init prepares it."
            warn(f"No vectors: {report.source}. {hint}")
    return None


def likelihood(probability: float | None) -> str:
    """Return a probability as every command shows it: never certain, "" for none."""
    return f"{min(probability, 0.99):.0%}" if probability else ""


def found_by(views: dict[str, float]) -> str:
    """Return in words what a memory was found by, strongest first, with scores."""
    best_first = sorted(views.items(), key=lambda item: -item[1])
    return ", ".join(
        f"{VIEWS.get(name, name)} {score:.2f}" for name, score in best_first if score >= 0.005
    )


@takes("limit", "user", "as_json")
def show(
    ctx: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="[KIND|ID]",
            help=f"{', '.join(KINDS)}; or a session's id, a turn's number, a memory's id.",
        ),
    ] = "sessions",
    last: Annotated[
        int | None, typer.Option("--last", help="Show this many of the latest turns.", min=1)
    ] = None,
) -> None:
    """Show the sessions, the turns of one, one memory with its sources, or all of a kind.

    The latest come last. The beginning of a session's id is enough. Notes are statements that were
    not made in a conversation; with them, everything that is pinned, muted or local-only is listed.

    Examples: [bold]slowcat-memory show[/], [bold]slowcat-memory show --last 20[/],
    [bold]slowcat-memory show 17[/], [bold]slowcat-memory show summaries[/]
    """
    known = settings(ctx)
    if last is not None:
        what, known.limit = "turns", last
    if what == "stats":
        with known.existing().readonly() as engine:
            return _stats(engine, known.as_json)
    with reading(ctx) as (engine, where), engine.snapshot() as snapshot:
        if what not in KINDS and not _is_session(snapshot, what, where):
            return _one(engine, snapshot, where, what, known.as_json)
        if what == "jobs":
            return _jobs(known, engine, snapshot)
        rows: Sequence[Any]
        if what == "sessions":
            rows = sorted(snapshot.sessions(where), key=lambda one: (one.started, one.id))
        elif what == "calls":
            rows = snapshot.calls()[::-1]
        elif what in MEMORIES:
            rows = _memories(engine, snapshot, where, what)
        else:
            session = None if what == "turns" else find_session(snapshot, what, where)
            rows = as_called(engine, snapshot.turns(session.scope if session else where))
            rows = [turn for turn in rows if session is None or turn.session == session.id]

        def entry(one: Any) -> Sequence[str]:
            if what == "sessions":
                return _session(one, snapshot.turn(one.first_turn), engine.zone)
            if what == "calls":
                result = "refused" if one.failed else count(len(one.memories), "memory")
                return when(one.at, engine.zone), one.client, dots(one.tool, one.scope, result)
            return _memory(one, engine.zone) if what in MEMORIES else turn_entry(one, engine.zone)

        nouns = {"summaries": "summary"}
        noun = nouns.get(what, what[:-1] if what in KINDS else "turn")
        nothing = {
            "calls": "No program has asked yet: `slowcat-memory mcp` offers the memory to them.",
            "notes": f"No notes in the scope {where}, and nothing pinned, muted or local-only.",
            "icebreakers": "No icebreaker is queued.",
        }.get(what, f"No {what} in the scope {where} yet: `slowcat-memory idle` writes them.")
        late = "" if what in ("sessions", "turns") else nothing
        turns = sum(getattr(one, "turns", 0) for one in rows) if what == "sessions" else 0
        note = (f", {count(turns, 'turn')}" if turns else "") + f" in scope {where}"
        none = partial(nothing_in, engine, where, late)
        print_list(known, rows, entry, noun, none, latest_last=True, note=note)
    return None


def as_called(memory: "MemoryEngine", turns: "Iterable[Turn | None]") -> "list[Turn]":
    """Return the turns that there are, under the present names of those who spoke."""
    from slowcat_memory.core.disclosure import present_name

    every = [one for one in turns if one]
    called = memory.reader(*{one.scope for one in every}).called
    return [replace(one, speaker=present_name(one.speaker, one.scope, called)) for one in every]


def _is_session(snapshot: "Snapshot", what: str, scope: str) -> bool:
    return not what.isdecimal() and find_session(snapshot, what, scope) is not None


def find_session(snapshot: "Snapshot", name: str, scope: str) -> "Session | None":
    """Return the session whose id starts with ``name``; None if there is none or several.

    One of ``scope`` comes first.
    """
    from slowcat_memory.core.memory import session_in

    every = [one for one in snapshot.sessions() if one.id.startswith(name)]
    for found in ([one for one in every if one.scope == scope], every):
        exact = [one for one in found if one.id in (name, session_in(name, one.scope))]
        if len(exact or found) == 1:
            return (exact or found)[0]
    return None


def find_memory(snapshot: "Snapshot", scope: str, id_: str) -> "Memory | None":
    """Return a memory of a scope, or a turn's chunk of any scope: turn numbers are global."""
    from slowcat_memory.core.memory import turn_of

    turn = snapshot.turn(turn_of(id_)) if turn_of(id_) else None
    return snapshot.read(turn.scope if turn else scope, id_)


def _memories(
    engine: "MemoryEngine", snapshot: "Snapshot", scope: str, kind: str
) -> "list[Memory]":
    """Return the memories of a kind, latest last; "notes" are also those with a mark."""
    from slowcat_memory.core.disclosure import renamed
    from slowcat_memory.core.proactive.policy import waiting
    from slowcat_memory.core.summaries.summary import META, WINDOW, current, until

    singular = {"notes": "", "summaries": "summary/"}.get(kind, f"{kind[:-1]}/")
    every = [one for one in snapshot.memories(scope, singular) if one.retired_at is None]
    if kind == "notes":
        every = [one for one in every if one.kind == "note" or marks_of(one)]
    elif kind == "icebreakers":
        every = waiting(every, engine.clock())
    elif kind != "blocks":
        every = [one for one in current(every) if one.kind not in (WINDOW, META)]
        every.sort(key=lambda one: (until(one), one.kind, one.id))
    if kind in ("notes", "blocks"):
        every.sort(key=lambda one: (one.valid_from, one.id))
    called = engine.reader(scope, local=True, muted=True).called
    return [renamed(one, called) for one in every]


def marks_of(memory: "Memory") -> str:
    """Return the marks that a person put on a memory, and none that it inherited."""
    marks = {
        "pinned": memory.pinned,
        "muted": memory.muted and not memory.muted_inherited,
        "local-only": memory.local_only and not memory.local_inherited,
    }
    return dots(*(name for name, on in marks.items() if on))


def _memory(memory: "Memory", zone: "tzinfo") -> Sequence[str]:
    from slowcat_memory.core.summaries.summary import until

    at = until(memory) if memory.kind.startswith("summary") else memory.valid_from
    ruled = memory.made is not None and not memory.made.model
    about = dots(
        memory.kind.replace("/", " ") if not memory.id.startswith("chunk/") else "",
        shown_id(memory.id),
        marks_of(memory),
        memory.speaker,
        "without an LLM" if ruled else "",
        short(memory.facets.get("topics", ""), 60),
    )
    return when(at, zone)[:10], short(memory.text), about


def _session(session: "Session", first: "Turn | None", zone: "tzinfo") -> Sequence[str]:
    minutes = (session.last - session.started).total_seconds() / 60
    state = "" if session.reason == IMPORTED else session.reason if session.ended else "open"
    about = dots(count(session.turns, "turn"), f"{minutes:.0f} min", state, session.id)
    return when(session.started, zone), short(first.text, 100) if first else "", about


def turn_entry(turn: "Turn", zone: "tzinfo") -> Sequence[str]:
    """Return a turn as an entry of a list."""
    cut = f"{turn.cut:,} characters cut" if turn.cut else ""
    interrupted = "interrupted" if turn.interrupted else ""
    about = dots(turn.speaker, f"turn {turn.id}", interrupted, cut)
    return when(turn.at, zone), turn.text, about


def _one(
    engine: "MemoryEngine", snapshot: "Snapshot", scope: str, what: str, as_json: bool
) -> None:
    from slowcat_memory.core.disclosure import renamed

    memory = find_memory(snapshot, scope, memory_id(what))
    if memory is None:
        raise NotFound(
            f"there is no session and no memory {what!r} in scope {scope}",
            hint="`slowcat-memory show` lists the sessions, and `show --last 20` the latest turns.",
        )
    memory = renamed(memory, engine.reader(memory.scope).called)
    sources = as_called(engine, map(snapshot.turn, memory.sources))
    if as_json:
        return print_json({"memory": memory, "sources": sources})
    zone = engine.zone
    about = {
        "text": memory.text,
        "id": memory.id,
        "kind": memory.kind,
        "scope": memory.scope,
        "who": f"{memory.speaker} ({memory.role})",
        "context": memory.context,
        "holds since": when(memory.valid_from, zone),
        "holds until": when(memory.valid_to, zone) if memory.valid_to else "",
        "superseded": when(memory.retired_at, zone) if memory.retired_at else "",
        "made from": memory.facets.get("covers", ""),
        "pinned": "yes" if memory.pinned else "",
        "muted": "yes: kept, and never recalled" if memory.muted else "",
        "stays here": "yes: never sent to an LLM on another machine" if memory.local_only else "",
    }
    print_entries([(name, value) for name, value in about.items() if value])
    if sources:
        out().print("Said in", style="bold")
        print_entries([turn_entry(turn, zone) for turn in sources])
    return None


def _jobs(known: Settings, engine: "MemoryEngine", snapshot: "Snapshot") -> None:
    """Print the waiting and failed tasks, and the last runs; no texts of memories."""
    from slowcat_memory.idle.forecast import forecast

    tasks, runs, zone = snapshot.tasks(), snapshot.runs(RUNS), engine.zone
    if known.as_json:
        return print_json({"tasks": tasks, "runs": runs, "forecast": forecast(snapshot)})

    def entry(task: "Task") -> Sequence[str | Text]:
        state = Text("failed", "red") if task.state == "dead" else Text("waiting")
        later = f"next try {when(task.not_before, zone)}" if task.not_before else ""
        tried = f"tried {task.attempts:,} times" if task.attempts else ""
        return when(task.created, zone), state.append(f" {task.id}"), dots(tried, later, task.error)

    if tasks:
        failed = sorted(tasks, key=lambda task: task.state != "dead")
        print_list(known, failed, entry, "task", str)
    else:
        out().print("No tasks are waiting.")
    if runs:
        out().print("\nLast runs", style="bold")
    rows = []
    for run in runs:
        used, took = run.tokens_in + run.tokens_out, f"{run.ms:,.0f} ms"
        tokens, made = count(used, "token") * bool(used), count(run.made, "record") * bool(run.made)
        about = dots(run.outcome, took, tokens, made, short(run.error, 80))
        rows.append((when(run.at, zone), run.task or run.job, about))
    print_entries(rows)
    return None


def _stats(engine: "MemoryEngine", as_json: bool) -> None:
    """Print how much is remembered of whom."""
    from slowcat_memory.store.sharing import others_of

    found, others = engine.upkeep.stats(), others_of(engine.config.folder)
    found["processes"] = [{"pid": one.pid, "program": one.program} for one in others]
    report = engine.embedding
    found["embedding"] = {"state": report.state, "source": report.source, "hint": report.hint}
    with engine.snapshot() as snapshot:
        found["scopes"] = {name: _amounts(snapshot, name, report.key) for name in snapshot.scopes()}
    if as_json:
        return print_json(found)
    rows = []
    for name, held in found["scopes"].items():
        last = when(held["last"], engine.zone)[:10] if held["last"] else ""
        shown = [f"{n:,} {what}" for what, n in held.items() if what != "last"]
        rows.append((name, ", ".join(shown), f"last on {last}" if last else ""))
    print_entries(rows)
    used = "".join(f", in use by process {one.pid} ({one.program})" for one in others)
    doubt = f" The clock is doubted: {found['clock_doubted']}." if found["clock_doubted"] else ""
    out().print(
        f"{size(found['disk_bytes'])} in {found['path']}{used}. Embedding: {report.source}.{doubt}",
        markup=False,
    )
    return None


def _amounts(snapshot: "Snapshot", scope: str, embedder: str) -> dict[str, Any]:
    from slowcat_memory.core.memory import FACT, NOTE, QUARANTINED, SUMMARY, family

    sessions, manifest = snapshot.sessions(scope), snapshot.manifest(scope)
    every = (m for m in snapshot.memories(scope) if not m.retired_at and m.kind != QUARANTINED)
    held = Counter(family(memory.kind) for memory in every)
    made = snapshot.vectors(embedder, scope) if embedder else ()
    return {
        "turns": sum(session.turns for session in sessions),
        "sessions": len(sessions),
        "facts": held[FACT],
        "notes": held[NOTE],
        "summaries": held[SUMMARY],
        "vectors": sum("?" not in vector.memory for vector in made),  # not those of keys
        "sealed": manifest.documents if manifest else 0,
        "last": max((session.last for session in sessions), default=None),
    }
