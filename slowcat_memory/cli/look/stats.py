"""``slowcat-memory stats``: counts, storage tiers, models and idle work."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from slowcat_memory.cli.shared.dates import ago, day_in_words
from slowcat_memory.cli.shared.output import (
    count,
    listed,
    out,
    print_json,
    row,
    size,
    table,
    when,
)
from slowcat_memory.cli.shared.settings import NEXT_STEP, AsJson, settings
from slowcat_memory.core.retention.tiering import TIERS

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from rich.table import Table

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.store import Snapshot

MADE = {"facts": "fact", "stated": "note", "summaries": "summary"}  # of a scope, and the noun
HOW = {"hot": "single rows", "warm": "LZ4", "cold": "zstd"}


def stats(
    ctx: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Also vectors, storage tiers, models and idle work.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say how much is remembered: of whom, since when, how many facts, how large.

    With --all, every memory can be found by its words; those with vectors also by meaning. The second table shows the storage tiers:
    older text is compressed; search speed is unaffected. "idle work" is what is left to do,
    "judged" how many judgements of queries are kept.

    Example: [bold]slowcat-memory stats --json | jq .scopes[/]
    """
    with settings(ctx).existing().engine(readonly=True) as engine:
        found = collect(engine)
        if as_json:
            return print_json(found)
        for line in in_words(found, engine.zone, engine.clock()):
            out().print(line, markup=False)
        if len(found["scopes"]) > 1 or everything:
            out().print(_people(found, engine.zone))
        if everything:
            _print_all(found, engine.zone)
        else:
            out().print("[dim]--all shows vectors, tiers, models and idle work.[/]")
    return None


def in_words(found: dict[str, Any], zone: "tzinfo", now: "datetime") -> Iterator[str]:
    """Return what is remembered in sentences, for example "317 things said in 41 conversations"."""
    scopes = found["scopes"].values()
    total = {name: sum(one[name] for one in scopes) for name in ("turns", "sessions", *MADE)}
    if not any(total.values()):
        yield f"Nothing is remembered yet. {NEXT_STEP}"
        return
    first = min((one["first"] for one in scopes if one["first"]), default=None)
    since = f" since {day_in_words(first, zone)}" if first else ""
    people = f" with {len(scopes)} people" if len(scopes) > 1 else ""
    said = count(total["turns"], "thing") + " said"
    yield f"{said} in {count(total['sessions'], 'conversation')}{people}{since}."
    made = [count(total[name], noun) for name, noun in MADE.items() if total[name]]
    yield f"{', '.join([*made, size(found['disk_bytes'])])} on disk."
    last = max((one["last"] for one in scopes if one["last"]), default=None)
    times = {"Last conversation": last, "last thought": found["last_thought"]}
    known = [f"{what} {ago(at, now, zone)}" for what, at in times.items() if at]
    if known:
        yield f"{'; '.join(known)}.".replace("last", "Last", not last)
    if doubt := _clock(found["clock_doubted"]):
        yield f"The clock is {doubt}."
    if writer := found["writer"]:
        yield f"In use by process {writer['pid']} ({writer['program']})."


def _people(found: dict[str, Any], zone: "tzinfo") -> "Table":
    made = table("whose*", ">said", ">conversations", ">facts", "last")
    for name, one in found["scopes"].items():
        whose = f"{name} (guests)" if name == found["guest"] else name
        last = when(one["last"], zone)[:10] if one["last"] else ""
        row(made, whose, f"{one['turns']:,}", f"{one['sessions']:,}", f"{one['facts']:,}", last)
    return made


def collect(engine: "MemoryEngine") -> dict[str, Any]:
    from msgspec import to_builtins

    from slowcat_memory.idle.forecast import forecast
    from slowcat_memory.runtime.conversation.audience import guest_scope

    found = engine.stats()
    with engine.snapshot() as snapshot:
        found["idle"] = to_builtins(forecast(snapshot))
        found["last_thought"] = max((run.at for run in snapshot.runs(1)), default=None)
        key = engine.embedding.key
        found["scopes"] = {name: _scope(snapshot, name, key) for name in snapshot.scopes()}
    report = engine.embedding
    found["embedding"] = {"state": report.state, "source": report.source, "hint": report.hint}
    found["writer"] = _writer(engine)
    overdue = engine.maintain("overdue")
    found["kept_as_evidence"] = {"turns": overdue.kept, "since": overdue.kept_since}
    found["guest"] = guest_scope(engine.config.people)
    return found


def _scope(snapshot: "Snapshot", scope: str, embedder: str) -> dict[str, Any]:

    from slowcat_memory.core.memory import FACT, NOTE, QUARANTINED, SUMMARY, family, findable

    sessions = snapshot.sessions(scope)
    stored = [m for m in snapshot.memories(scope) if not m.id.startswith("chunk/")]
    notes = [m for m in stored if findable(m)]
    held = Counter(family(m.kind) for m in stored if not m.retired_at and m.kind != QUARANTINED)
    made = snapshot.vectors(embedder, scope) if embedder else ()
    manifest = snapshot.manifest(scope)
    return {
        "turns": sum(session.turns for session in sessions),
        "sessions": len(sessions),
        "open_sessions": sum(session.ended is None for session in sessions),
        "notes": len(notes),
        "facts": held[FACT],
        "stated": held[NOTE],
        "summaries": held[SUMMARY],
        "first": min((session.started for session in sessions), default=None),
        "last": max((session.last for session in sessions), default=None),
        "vectors": sum("?" not in vector.memory for vector in made),  # not those of keys
        "sealed": manifest.documents if manifest else 0,
        "judged": sum(key.kind == "asked" for key in snapshot.keys(scope)),
    }


def _writer(engine: "MemoryEngine") -> dict[str, Any] | None:
    from slowcat_memory.store.disk.folder import RUNNING
    from slowcat_memory.store.disk.locks import alive, holder

    pid, program = holder(engine.config.folder)
    if not alive(pid) or not (engine.config.folder / RUNNING).exists():
        return None
    return {"pid": pid, "program": program}


def _print_all(found: dict[str, Any], zone: "tzinfo") -> None:
    made = table("whose*", ">derived", ">vectors", ">sealed")
    for name, scope in found["scopes"].items():
        row(
            made,
            name,
            *(f"{scope[column]:,}" for column in ("notes", "vectors", "sealed")),
        )
    if found["scopes"]:
        out().print(made)
    if found["scopes"]:
        out().print(_tiers(found))
    facts = table("", "*")
    facts.show_header = False
    for name, value in _facts(found).items():
        row(facts, name, value)
    out().print(facts)


def _tiers(found: dict[str, Any]) -> "Table":
    made = table("tier", ">memories", ">unpacked", ">on disk", ">saved")
    total: Counter[str] = Counter()
    for tier in TIERS:
        held = found["tiers"][tier.name]
        total.update(held)
        row(made, Text(f"{tier.name:<5}").append(f" {HOW[tier.name]}", "dim"), *_tier(held))
    made.add_section()
    row(made, "all", *_tier(total), style="bold")
    return made


def _tier(held: Mapping[str, int]) -> Iterator[str]:
    raw, stored = held["raw_bytes"], held["stored_bytes"]
    yield f"{held['memories']:,}"
    yield size(raw)
    yield size(stored)
    yield f"{1 - stored / raw:.0%}" if raw > stored else ""


def _idle(now: Mapping[str, Any]) -> str:
    from msgspec import convert

    from slowcat_memory.cli.run.idle import describe
    from slowcat_memory.idle.forecast import Forecast

    dead = ", ".join(f"{job} {n:,}" for job, n in now["dead"].items())
    return describe(convert(now, Forecast)) + (f"; failed: {dead}" if dead else "")


def _facts(found: dict[str, Any]) -> dict[str, str]:
    embedding, writer = found["embedding"], found["writer"]
    rows = {name: n for name, n in found["counts"].items() if n and name != "meta"}
    facts = {
        "store": f"{found['path']} ({size(found['disk_bytes'])} on disk)",
        "open for writing": f"process {writer['pid']} ({writer['program']})" if writer else "no",
        "embedding": embedding["source"],
        "": embedding["hint"],
        "rows": listed((f"{n:,} {name}" for name, n in rows.items()), 20),
        "idle work": _idle(found["idle"]),
        "judged": listed(_judged(found["scopes"]), 20),
        "damaged rows": str(found["counters"].get("store_quarantined", "")),
        "unsaved": str(found["unsaved"] or ""),
        "clock": _clock(found["clock_doubted"]),
        "kept": _kept(found["kept_as_evidence"]),
    }
    return {name: value for name, value in facts.items() if value}


def _clock(doubted: str) -> str:
    remedy = "nothing is erased by it: see slowcat-memory doctor"
    return f"doubted: {doubted}; {remedy}" if doubted else ""


def _kept(evidence: Mapping[str, Any]) -> str:
    since = evidence["since"]
    why = "turns older than raw_days, for what was made of them, since"
    return f"{evidence['turns']:,} {why} {since:%Y-%m-%d}" if since else ""


def _judged(scopes: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    return (f"{name} {one['judged']:,}" for name, one in scopes.items() if one["judged"])
