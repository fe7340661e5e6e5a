"""Is it well? Speed over time, sizes, checks, backups, and who is connected."""

from collections.abc import Mapping
from typing import Any

from slowcat_memory import __version__
from slowcat_memory.owner import who_owns
from slowcat_memory.store import backups_of
from slowcat_memory.web.context import PageContext
from slowcat_memory.web.replies import Refusal
from slowcat_memory.web.shapes import time_of

TURNS = 200  # shown in the plot, each as a point
COUNTED = {  # rows of these tables, in words
    "log": "turns and edges of conversations",
    "memories": "memories made from them",
    "vectors": "vectors",
    "sessions": "conversations",
    "ledger": "recalls on record",
    "tasks": "idle tasks waiting",
}


def overview(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return counts, sizes, latencies, backups and connected programs."""
    folder = page.memory.config.folder
    stats = page.memory.stats()
    owner = who_owns(folder)
    return {
        "version": __version__,
        "disk_bytes": stats["disk_bytes"],
        "counts": {COUNTED[name]: n for name, n in stats["counts"].items() if name in COUNTED},
        "tiers": stats["tiers"],
        "embedding": stats["embedding"],
        "unsaved": stats["unsaved"],
        "latency_ms": stats["latency_ms"],
        "backups": [
            {"at": time_of(one.at), "bytes": one.file.stat().st_size} for one in backups_of(folder)
        ],
        "owner": {"program": owner.program, "since": owner.since} if owner else None,
        "clients": stats.get("clients", []),
    }


def speed(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return when and how fast the latest recalls were, the earliest first: columns for a plot."""
    with page.memory.snapshot() as snapshot:
        entries = snapshot.ledger_tail(TURNS)[::-1]
    shown = [one for one in entries if one.timings]
    return {
        "at": [one.at.timestamp() for one in shown],
        "recall": [_ms(one.timings, without="wait") for one in shown],
        "wait": [one.timings.get("wait") for one in shown],
    }


def _ms(timings: Mapping[str, float], without: str) -> float:
    return round(sum(ms for name, ms in timings.items() if name != without), 3)


def doctor(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Run the checks; takes seconds."""
    if page.doctor is None:
        raise Refusal(404, "This page has no checks.")
    return {
        "rows": [
            {"what": one.what, "state": one.state, "found": one.found, "hint": one.hint}
            for one in page.doctor(page.memory)
        ]
    }
