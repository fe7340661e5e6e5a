"""Looking at what is there: sessions, the head of a session, why something was said, and counts."""

from datetime import datetime
from typing import Any

from msgspec.structs import asdict

from slowcat_memory.engine.wiring import Parts
from slowcat_memory.records import LedgerEntry, Memory, Session


class Looking(Parts):
    """Tells what there is."""

    def latest_session(self, scope: str) -> Session | None:
        """Find the scope's session that was active last.

        Args:
            scope: The scope.

        Returns:
            The session, or None when there was none.
        """
        with self.store.snapshot() as snapshot:
            return max(snapshot.sessions(scope), key=lambda session: session.last, default=None)

    def session_context(self, scope: str, *, local: bool = False) -> str:
        """Write what stays the same during a session, for the system instruction.

        Byte-stable while nothing is pinned or unpinned: put it there before the session starts, so
        that it costs the LLM's prefix cache nothing. Takes an icebreaker from the queue, if one may
        be used; asked for again in the same session, it is the same one. Blocks.

        Args:
            scope: The scope.
            local: Whether the LLM is on this machine: else what is local-only is left out.

        Returns:
            A few lines, "" when there is nothing to say, and for guests.
        """
        return "" if self._namespaces.is_guests(scope) else self._heads.write(scope, local=local)

    def push_icebreaker(
        self,
        scope: str,
        text: str,
        *,
        priority: float = 0.5,
        expires: datetime | None = None,
        quiet: bool = True,
    ) -> Memory | None:
        """Let the agent bring something up by itself, once, in a later session. Blocks.

        ``icebreakers`` lists and drops what waits.

        Args:
            scope: Whose agent.
            text: What, for the LLM to say in its own words.
            priority: 0 to 1; the highest is used first.
            expires: When it is no longer worth saying; None for as configured.
            quiet: Whether it keeps the quiet hours.

        Returns:
            The memory; None when it is not taken (see ``Icebreakers.push``).

        Raises:
            ValueError: There is no text, the priority is none, or it has expired already.
            ConfigError: That is not a scope's name.
            StoreError: It cannot be saved.
        """
        return self.icebreakers.push(scope, text, priority=priority, expires=expires, quiet=quiet)

    def why(self, turn: int) -> tuple[LedgerEntry, dict[str, Memory]] | None:
        """Tell what was put before the LLM at a turn.

        Args:
            turn: Log id of the user's turn.

        Returns:
            The ledger's entry, and its memories that still exist, by id; None without an entry.
        """
        with self.store.snapshot() as snapshot:
            entry = snapshot.ledger(turn)
            if entry is None:
                return None
            elsewhere = {offer.memory: offer.scope for offer in entry.offers if offer.scope}
            read = (
                (id_, snapshot.read(elsewhere.get(id_, entry.scope), id_)) for id_ in entry.memories
            )
            return entry, {id_: memory for id_, memory in read if memory}

    def stats(self) -> dict[str, Any]:
        """Count what there is.

        Returns:
            Plain values: ``counts`` by table, ``scopes``, ``sessions``, ``disk_bytes``,
            ``tiers``, ``embedding``, ``index`` by loaded scope, ``unsaved``, ``counters``,
            ``latency_ms``.
        """
        with self.store.snapshot() as snapshot:
            counts, scopes = snapshot.counts(), snapshot.scopes()
            tiers = snapshot.tiers()
        files = (path for path in self.config.folder.rglob("*") if path.is_file())
        return {
            "path": str(self.config.folder),
            "counts": counts,
            "scopes": scopes,
            "disk_bytes": sum(path.stat().st_blocks * 512 for path in files),
            "tiers": {name: asdict(held) for name, held in tiers.items()},
            "embedding": self.embedding.source,
            "index": {
                namespace.scope: {
                    "memories": len(namespace.searcher),
                    "sealed": namespace.searcher.sealed_count,
                    "tail": namespace.searcher.tail_count,
                    "vectors": len(namespace.searcher.dense),
                }
                for namespace in self._namespaces
            },
            "unsaved": self.store.unsaved(),
            "counters": self.metrics.counts(),
            "latency_ms": self.metrics.summary(),
        }
