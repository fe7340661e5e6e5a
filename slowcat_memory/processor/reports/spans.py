"""OpenTelemetry spans of memory operations, named by the GenAI semantic conventions.

Off by default. Without ``content="texts"`` a span has ids, counts and times alone. Traces are read on
other machines, so local-only texts are in none.
"""

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any, Literal

from slowcat_memory.engine import Memory
from slowcat_memory.errors import ConfigError, how_to_install
from slowcat_memory.records import MemoryEvent, Turn
from slowcat_memory.runtime.recall.query import Recollection

OPERATIONS = {
    "stored": "create_memory",
    "created": "create_memory",
    "updated": "update_memory",
    "retired": "update_memory",
    "marked": "update_memory",
    "forgotten": "delete_memory",
}
NS_OF_MS = 1_000_000


class Spans:
    """Writes spans of one conversation's namespaces; thread-safe, as tracers are."""

    def __init__(
        self,
        engine: Memory,
        scopes: Collection[str],
        content: Literal["ids", "texts"],
        tracer: Any = None,
    ) -> None:
        """Subscribe; ``tracer`` is the global provider's by default.

        Raises:
            ConfigError: OpenTelemetry is not installed.
        """
        self._tracer = tracer or _tracer()
        self._scopes, self._texts, self._clock = scopes, content == "texts", engine.clock
        self._store = str(engine.config.folder.name)
        self._unsubscribe = engine.subscribe(on_event=self._on_event)

    def end(self) -> None:
        self._unsubscribe()

    def recalled(self, turn: Turn | None, found: Recollection, ids: Collection[str]) -> None:
        """Write the span of a turn's recall, which has just ended.

        Args:
            ids: Of the memories that were put before the LLM.
        """
        ms = found.timings.get("wait", 0.0)
        attributes = self._attributes("search_memory") | {
            "gen_ai.memory.record.count": len(ids),
            "slowcat_memory.stage": found.stage,
            "slowcat_memory.ids": list(ids),
        }
        if turn is not None:
            attributes["gen_ai.conversation.id"] = turn.session
        if self._texts and turn is not None and not turn.local_only:
            attributes["gen_ai.memory.query.text"] = turn.text
        if self._texts:
            shown = [
                {"id": hit.memory.id, "content": hit.memory.text}
                for hit in found.hits
                if hit.memory.id in ids and not hit.memory.local_only
            ]
            attributes["gen_ai.memory.records"] = json.dumps(shown, ensure_ascii=False)
        self._write("search_memory", attributes, self._clock(), ms)

    def _on_event(self, event: MemoryEvent) -> None:
        operation = OPERATIONS.get(event.what)
        if operation is None or event.scope not in self._scopes:
            return
        attributes = self._attributes(operation) | {
            "gen_ai.memory.record.count": len(event.ids),
            "slowcat_memory.event": event.what,
            "slowcat_memory.kind": event.kind,
            "slowcat_memory.ids": list(event.ids),
        }
        if len(event.ids) == 1:
            attributes["gen_ai.memory.record.id"] = event.ids[0]
        if event.session:
            attributes["gen_ai.conversation.id"] = event.session
        self._write(operation, attributes, event.at or self._clock())

    def _attributes(self, operation: str) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": "slowcat_memory",
            "gen_ai.memory.store.id": self._store,
        }

    def _write(self, name: str, attributes: dict[str, Any], end: datetime, ms: float = 0.0) -> None:
        until = int(end.timestamp() * 1e9)
        span = self._tracer.start_span(
            name, attributes=attributes, start_time=until - int(ms * NS_OF_MS)
        )
        span.end(end_time=until)


def _tracer() -> Any:
    try:
        from opentelemetry import trace  # only when on
    except ImportError as error:
        raise ConfigError(
            "OpenTelemetry is not installed, so spans cannot be written",
            hint=how_to_install("otel"),
        ) from error
    return trace.get_tracer("slowcat_memory")
