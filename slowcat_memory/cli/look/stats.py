"""``slowcat-memory stats``: counts, storage tiers, models and idle work."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from slowcat_memory.cli.shared.output import listed, out, print_json, row, size, table, when
from slowcat_memory.cli.shared.settings import AsJson, settings
from slowcat_memory.core.retention.tiering import TIERS

if TYPE_CHECKING:
    from datetime import tzinfo

    from rich.table import Table

    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.store import Snapshot

HOW = {"hot": "single rows", "warm": "LZ4", "cold": "zstd"}


def stats(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Count turns, sessions, memories, vectors and bytes, scope by scope.

    Works while an agent is running. Every memory can be found by its words; those with vectors also
    by meaning, and [bold]slowcat-memory tidy[/] makes "drafts" exact. The second table shows the
    storage tiers: older text is compressed; search speed is unaffected. "idle work" is what is left
    to do, "judged" how many judgements of queries are kept.

    Example: [bold]slowcat-memory stats --json | jq .scopes[/]
    """
    with settings(ctx).engine(readonly=True) as engine:
        found = collect(engine)
        if as_json:
            return print_json(found)
        _print(found, engine.zone)
    return None


def collect(engine: "MemoryEngine") -> dict[str, Any]:
    from msgspec import to_builtins

    from slowcat_memory.idle.forecast import forecast
    from slowcat_memory.runtime.conversation.audience import guest_scope

    found = engine.stats()
    with engine.snapshot() as snapshot:
        found["idle"] = to_builtins(forecast(snapshot))
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

    from slowcat_memory.core.memory import findable

    sessions = snapshot.sessions(scope)
    derived = (m for m in snapshot.memories(scope) if findable(m))
    notes = [m for m in derived if not m.id.startswith("chunk/")]
    made = snapshot.vectors(embedder, scope) if embedder else ()
    vectors = [v.draft for v in made if "?" not in v.memory]  # not those of keys
    manifest = snapshot.manifest(scope)
    return {
        "turns": sum(session.turns for session in sessions),
        "sessions": len(sessions),
        "open_sessions": sum(session.ended is None for session in sessions),
        "notes": len(notes),
        "first": min((session.started for session in sessions), default=None),
        "last": max((session.last for session in sessions), default=None),
        "vectors": len(vectors),
        "drafts": sum(vectors),
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


def _print(found: dict[str, Any], zone: "tzinfo") -> None:
    made = table("scope", ">turns", ">sessions", ">notes", ">vectors", ">drafts", ">sealed", "last")
    for name, scope in found["scopes"].items():
        numbers = (scope[column] for column in ("turns", "sessions", "notes", "vectors", "drafts"))
        last = when(scope["last"], zone)[:10] if scope["last"] else ""
        name += " (guests)" if name == found["guest"] else ""
        row(made, name, *(f"{n:,}" for n in numbers), f"{scope['sealed']:,}", last)
    out().print(made if found["scopes"] else "Nothing is remembered yet.")
    if found["scopes"]:
        out().print(_tiers(found))
    facts = table("", "*")
    facts.show_header = False
    for name, value in _facts(found).items():
        row(facts, name, value)
    out().print(facts)


def _tiers(found: dict[str, Any]) -> "Table":
    made = table("tier", ">memories", ">blocks", ">bytes each", ">unpacked", ">on disk", ">saved")
    total: Counter[str] = Counter()
    for tier in TIERS:
        held = found["tiers"][tier.name]
        total.update(held)
        row(made, Text(f"{tier.name:<5}").append(f" {HOW[tier.name]}", "dim"), *_tier(held))
    made.add_section()
    row(made, "all", *_tier(total), style="bold")
    return made


def _tier(held: Mapping[str, int]) -> Iterator[str]:
    raw, stored, memories = held["raw_bytes"], held["stored_bytes"], held["memories"]
    yield f"{memories:,}"
    yield f"{held['blocks']:,}" if held["blocks"] else ""
    yield f"{stored / memories:,.0f}" if memories else ""
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
        "rows": listed((f"{name} {n:,}" for name, n in rows.items()), 20),
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
