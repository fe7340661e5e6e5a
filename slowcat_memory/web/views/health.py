"""Is it well? Speed over time, sizes, checks, backups, and who is connected."""

from collections.abc import Mapping
from typing import Any

from slowcat_memory import __version__
from slowcat_memory.engine.search import disk_bytes
from slowcat_memory.owner import who_owns
from slowcat_memory.store import backups_of
from slowcat_memory.web.context import PageContext
from slowcat_memory.web.replies import Refusal
from slowcat_memory.web.shapes import time_of

TURNS = 200  # shown in the plot, each as a point
COUNTED = {  # rows of these tables, in words
    "log": "turns, and starts and ends of conversations",
    "memories": "memories made from them",
    "vectors": "vectors for search by meaning",
    "sessions": "conversations",
    "ledger": "recalls on record",
    "tasks": "idle tasks waiting",
}


def overview(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return counts, sizes, backups, and which process keeps the memory."""
    folder = page.memory.config.folder
    with page.memory.snapshot() as snapshot:
        counts = snapshot.counts()
    owner = who_owns(folder)
    return {
        "version": __version__,
        "disk_bytes": disk_bytes(folder),
        "counts": {COUNTED[name]: n for name, n in counts.items() if name in COUNTED},
        "embedding": page.memory.embedding.source,
        "backups": [
            {"at": time_of(one.at), "bytes": one.file.stat().st_size} for one in backups_of(folder)
        ],
        "owner": {"program": owner.program, "since": owner.since} if owner else None,
    }


def process(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what the process that keeps the memory counts: it reads the store's tiers for that."""
    stats = page.memory.stats()
    return {
        "latency_ms": stats["latency_ms"],
        "unsaved": stats["unsaved"],
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
