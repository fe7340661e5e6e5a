"""The reports of one processor: its start line, events, spans, metrics, messages to a client (RTVI).

The client is outside this machine's trust: it gets nothing by default, texts only when asked for,
and neither local-only nor muted ones, nor those that are being forgotten.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar
from weakref import WeakSet

from loguru import logger
from pipecat.frames.frames import Frame
from pipecat.processors.frame_processor import FrameProcessor

from slowcat_memory.config import Config
from slowcat_memory.core.disclosure import disclose
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import ConfigError, SlowcatError, describe_error, how_to_install
from slowcat_memory.metrics import Metrics
from slowcat_memory.records import Hit, MemoryEvent, Turn
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.runtime.recall.time_travel import waiting_to_be_erased
from slowcat_memory.store.sharing import others_of

Content = Literal["", "ids", "texts"]  # what leaves: nothing, ids and times, or the texts as well
MESSAGE = "slowcat-memory"  # the type of a message to a client
OPERATIONS = {
    "stored": "create_memory",
    "created": "create_memory",
    "updated": "update_memory",
    "retired": "update_memory",
    "marked": "update_memory",
    "forgotten": "delete_memory",
}
NS_OF_MS = 1_000_000
T = TypeVar("T")


class FrameGuard:
    """Runs work whose failure or slowness must not affect the conversation. Use it on the event loop.

    A failure is logged once and counted; its result is missing, and the agent continues.
    ``metrics`` counts the failures; None while the memory is not open. Once it has ``ended``, what
    other threads report is ignored.
    """

    def __init__(
        self, processor: FrameProcessor, call: Callable[..., Coroutine[Any, Any, None]]
    ) -> None:
        """Start with no task; ``processor`` owns the tasks, and log messages have its name.

        Args:
            call: Calls the application's handlers of an event.
        """
        self.metrics: Metrics | None = None
        self._processor, self.call = processor, call
        self._tasks: set[asyncio.Task] = set()
        self.ended = False

    def __str__(self) -> str:
        return str(self._processor)

    def run(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T | None:
        """Call a function that neither blocks nor waits; return None if it raises."""
        try:
            return work(*arguments, **named)
        except Exception as error:
            self.log_failure(error)
            return None

    def posted(self, work: Callable[..., None]) -> Callable[..., None]:
        """Return what calls a function on this event loop, from any thread, until it has ended."""
        loop = asyncio.get_running_loop()

        def on_loop(*arguments: Any) -> None:
            if not self.ended:  # it may have ended since this was posted
                self.run(work, *arguments)

        def on_any_thread(*arguments: Any) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(on_loop, *arguments)

        return on_any_thread

    def log_failure(self, error: Exception) -> None:
        """Log and count a failure."""
        self.count("failures")
        logger.error(f"{self}: memory failed: {describe_error(error)}")

    def count(self, name: str) -> None:
        """Increment a counter, if the memory is open."""
        if self.metrics:
            self.metrics.count(name)

    async def report(self, message: str, error: Exception) -> None:
        """Push an error frame. The message must not quote a user."""
        await self._processor.push_error(f"{message}: {describe_error(error)}", error)

    def notify(self, event: str, *arguments: Any) -> None:
        """Call the application's handlers of an event without waiting for them."""
        self.spawn(self.call(event, *arguments))

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = self._processor.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def join(self, timeout_s: float) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)


def start_line(engine: MemoryEngine, config: Config, scope: str, file: str) -> str:
    """Return the store, whose memory, how many turns, the model, the configuration, other processes.

    Blocks for some milliseconds.

    Args:
        file: Where the configuration comes from.

    Raises:
        StoreError: The store cannot be read.
    """
    with engine.snapshot() as snapshot:
        turns = sum(session.turns for session in snapshot.sessions(scope))
    whose = "everybody has their own" if config.people.scopes == "each" else f"of {scope!r}"
    parts = (
        f"memory {whose} in {str(config.folder).replace(f'{Path.home()}{os.sep}', f'~{os.sep}', 1)}",
        f"turns: {turns:,}",
        f"embedding: {engine.embedding.report.source}",
        f"configuration: {file}",
        *(f"beside {other.program} (process {other.pid})" for other in others_of(config.folder)),
    )
    return "; ".join(parts)


@dataclass(eq=False, repr=False)
class Reports:
    """Use it on the event loop; nothing here is done while a turn waits.

    Attributes:
        push: Sends a frame downstream.
        rtvi: What a client hears; see ``HybridContextualMemoryProcessor``.
        content: What spans have, likewise.
    """

    guard: FrameGuard
    push: Callable[[Frame], Awaitable[None]]
    rtvi: Content
    content: Content
    _spans: "Spans | None" = field(default=None, init=False)

    def begin(self, engine: MemoryEngine, config: Config, scope: str, file: str) -> None:
        """Start, and log the start line soon; ``file`` is where the configuration comes from.

        Raises:
            ConfigError: Spans are wanted, and OpenTelemetry is not installed.
        """
        self._engine = engine
        self.guard.spawn(self._introduce(engine, config, scope, file))
        if self.content:
            self._spans = Spans(engine, self.content)

    def recalled(self, turn: Turn | None, recall: Recollection, packed: Packed) -> None:
        """Report a turn's recall, after its frame was pushed."""
        if self._spans is not None:
            self.guard.run(self._spans.recalled, turn, recall, packed.hits)

    def happened(self, event: MemoryEvent) -> None:
        """Report an event of one of the conversation's namespaces."""
        if self._spans is not None:
            self.guard.run(self._spans.happened, event)
        if self.rtvi:
            self.guard.spawn(self._send(event))

    async def _send(self, event: MemoryEvent) -> None:
        from pipecat.processors.frameworks.rtvi import RTVIServerMessageFrame  # only when on

        data: dict[str, Any] = {
            "type": MESSAGE,
            "event": event.what,
            "user": event.scope,
            "ids": list(event.ids),
            "kind": event.kind,
            "session": event.session,
            "at": event.at.isoformat() if event.at else "",
        }
        if self.rtvi == "texts":
            data["texts"] = await asyncio.to_thread(texts_of, self._engine, event)
        if not self.guard.ended:
            await self.push(RTVIServerMessageFrame(data=data))

    async def _introduce(self, engine: MemoryEngine, config: Config, scope: str, file: str) -> None:
        try:
            line = await asyncio.to_thread(start_line, engine, config, scope, file)
        except SlowcatError as error:
            line = f"memory in {config.folder}, not there yet: {error}"
        logger.info(f"{self.guard}: {line}")


class Spans:
    """Writes spans of one conversation's namespaces."""

    def __init__(
        self, engine: MemoryEngine, content: Literal["ids", "texts"], tracer: Any = None
    ) -> None:
        """Take the global provider's tracer by default.

        Raises:
            ConfigError: OpenTelemetry is not installed.
        """
        try:
            from opentelemetry import trace  # only when on
        except ImportError as error:
            raise ConfigError(
                "OpenTelemetry is not installed, so spans cannot be written",
                hint=how_to_install("otel"),
            ) from error
        self._tracer = tracer or trace.get_tracer("slowcat_memory")
        export(engine.metrics)
        self._texts, self._clock = content == "texts", engine.clock
        self._store = str(engine.config.folder.name)

    def recalled(self, turn: Turn | None, recall: Recollection, shown: Sequence[Hit]) -> None:
        """Write the span of a turn's recall, which has just ended.

        Args:
            shown: What was put before the LLM.
        """
        attributes: dict[str, Any] = {
            "gen_ai.memory.record.count": len(shown),
            "slowcat_memory.stage": recall.stage,
            "slowcat_memory.ids": [hit.memory.id for hit in shown],
        }
        if turn is not None:
            attributes["gen_ai.conversation.id"] = turn.session
        if self._texts and turn is not None and not turn.local_only:
            attributes["gen_ai.memory.query.text"] = turn.text
        if self._texts:
            memories = (hit.memory for hit in shown if not hit.memory.local_only)
            texts = [{"id": memory.id, "content": memory.text} for memory in memories]
            attributes["gen_ai.memory.records"] = json.dumps(texts, ensure_ascii=False)
        ms = recall.timings.get("wait", 0.0)
        self._write("search_memory", attributes, self._clock(), ms)

    def happened(self, event: MemoryEvent) -> None:
        """Write the span of an event; a recall has its own."""
        operation = OPERATIONS.get(event.what)
        if operation is None:
            return
        attributes: dict[str, Any] = {
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

    def _write(self, name: str, attributes: dict[str, Any], end: datetime, ms: float = 0.0) -> None:
        until = int(end.timestamp() * 1e9)
        attributes |= {
            "gen_ai.operation.name": name,
            "gen_ai.provider.name": "slowcat_memory",
            "gen_ai.memory.store.id": self._store,
        }
        start = until - int(ms * NS_OF_MS)
        self._tracer.start_span(name, attributes=attributes, start_time=start).end(end_time=until)


_exported = WeakSet[Metrics]()


def export(metrics: Metrics) -> None:
    """Offer counters and percentiles to the process's OpenTelemetry meter, once.

    Raises:
        ImportError: OpenTelemetry is not installed.
    """
    from opentelemetry.metrics import Observation, get_meter  # only when on

    def counters(_: Any) -> Iterator[Observation]:
        return (Observation(n, {"name": name}) for name, n in metrics.counts().items())

    def latencies(_: Any) -> Iterator[Observation]:
        for name, summary in metrics.summary().items():
            for figure in ("p50", "p95", "p99"):
                yield Observation(summary[figure], {"name": name, "percentile": figure})

    if metrics not in _exported:
        _exported.add(metrics)
        meter = get_meter("slowcat_memory")
        meter.create_observable_counter("slowcat_memory.count", [counters])
        meter.create_observable_gauge("slowcat_memory.latency", [latencies], unit="ms")


def texts_of(engine: MemoryEngine, event: MemoryEvent) -> dict[str, str]:
    """Return the texts of an event's memories that a client may see, by id. Reads the store."""
    reader = engine.reader(event.scope)
    with engine.snapshot() as snapshot:
        gone = waiting_to_be_erased(snapshot, event.scope)
        rows = (snapshot.read(event.scope, id_) for id_ in event.ids if id_ not in gone)
        shown = (disclose(row, reader) for row in rows if row)
        return {row.id: row.text for row in shown if row}
