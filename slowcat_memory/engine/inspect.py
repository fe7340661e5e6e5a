"""What is there: the latest session, why something was said, and counts."""

from typing import Any

from msgspec.structs import asdict

from slowcat_memory.engine.wiring import EngineWiring
from slowcat_memory.records import LedgerEntry, Memory, Session
from slowcat_memory.store import Snapshot


def latest_session(snapshot: Snapshot, scope: str) -> Session | None:
    """Return the scope's session that was active last."""
    return max(snapshot.sessions(scope), key=lambda session: session.last, default=None)


def why(snapshot: Snapshot, turn: int) -> tuple[LedgerEntry, dict[str, Memory]] | None:
    """Return the ledger row of a user's turn, and its memories that still exist, by id."""
    entry = snapshot.ledger(turn)
    if entry is None:
        return None
    elsewhere = {offer.memory: offer.scope for offer in entry.offers if offer.scope}
    read = ((id_, snapshot.read(elsewhere.get(id_, entry.scope), id_)) for id_ in entry.memories)
    return entry, {id_: memory for id_, memory in read if memory}


def stats(wiring: EngineWiring) -> dict[str, Any]:
    """Count what there is; see ``Memory.stats``."""
    with wiring.store.snapshot() as snapshot:
        counts, scopes = snapshot.counts(), snapshot.scopes()
        tiers = snapshot.tiers()
    files = (path for path in wiring.config.folder.rglob("*") if path.is_file())
    return {
        "path": str(wiring.config.folder),
        "counts": counts,
        "scopes": scopes,
        "disk_bytes": sum(path.stat().st_blocks * 512 for path in files),
        "tiers": {name: asdict(held) for name, held in tiers.items()},
        "embedding": wiring.embedding.report.source,
        "index": {
            namespace.scope: {
                "memories": len(namespace.searcher),
                "sealed": namespace.searcher.sealed_count,
                "tail": namespace.searcher.tail_count,
                "vectors": len(namespace.searcher.dense),
            }
            for namespace in wiring.namespaces
        },
        "unsaved": wiring.store.unsaved(),
        "counters": wiring.metrics.counts(),
        "latency_ms": wiring.metrics.summary(),
    }
