"""Mem0's service and ours in one pipeline: what a turn waits, how the prompt grows, what is stored.

The same fifty turns (``benchmarks/everyday.py``) run through Pipecat's aggregators and OpenAI service
against a scripted server, once with Pipecat's own ``Mem0MemoryService`` and once with our processor,
each over the same past, each with the same embedding model. No LLM is in it: mem0 adds with
``infer=False``, as it was said. (By default an LLM reads the whole conversation again at each turn and
decides what of it to keep: that costs a long request a turn, and merges what is stored.) A turn begins
when all that the one before it caused is done.

    pip install ".[peers]"
    python -m benchmarks.mem0

Without ``mem0ai`` its service runs with a stand-in for mem0's client, which keeps vectors in a list and
takes no time of its own; the result says so.

The JSON: ``machine``, ``load``, ``turns``, ``client`` (which mem0), and ``services`` by name: ``wait``
(milliseconds from a context's arrival at the service to its leaving), ``prompt`` (tokens of the first
and the last request), ``blocks`` (in the last request), ``broken`` (turns that changed what the LLM had
read), ``added`` (records of this conversation), ``distinct`` (different texts among them).
"""

import argparse
import asyncio
import importlib.metadata
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from loguru import logger
from pipecat.frames.frames import Frame, LLMContextFrame
from pipecat.processors.frame_processor import FrameProcessor

from benchmarks import common, everyday, prefix, tables
from benchmarks.mem0_stub import StubMemory
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import EmbedderOptions, QueryEmbedder, open_query_embedder
from slowcat_memory.records import Turn
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.server import ScriptedServer

os.environ["MEM0_TELEMETRY"] = "False"  # read when mem0 is imported
PAGE = Path(__file__).parents[1] / "docs" / "from-mem0.md"
RECALLED = "I recall"  # how Mem0's block begins, after its role
Settle = Callable[[], Awaitable[None]]
Stored = Callable[[], list[str]]


class Door:
    """Times how long contexts stay inside a service."""

    def __init__(self, service: FrameProcessor) -> None:
        """Listen at a service.

        Args:
            service: The processor.
        """
        self.waits: list[float] = []
        self._came = 0.0
        service.add_event_handler("on_before_process_frame", self._on_arrival)
        service.add_event_handler("on_before_push_frame", self._on_leaving)

    async def _on_arrival(self, _: FrameProcessor, frame: Frame) -> None:
        if isinstance(frame, LLMContextFrame):
            self._came = time.perf_counter()

    async def _on_leaving(self, _: FrameProcessor, frame: Frame) -> None:
        if isinstance(frame, LLMContextFrame):
            self.waits.append((time.perf_counter() - self._came) * 1e3)


def main() -> None:
    options = _arguments()
    if options.render:
        return _render()
    logger.remove()  # Pipecat tells a lot
    embedder, report = open_query_embedder(EmbedderOptions())
    if embedder is None:
        sys.exit(f"No embedding model: {report.source}. {report.hint}")
    client, load = _client_name(), common.load_average()
    with common.scratch() as folder:
        services = {
            "Mem0MemoryService": asyncio.run(_mem0(folder / "mem0", embedder, options.turns)),
            "HybridContextualMemoryProcessor": asyncio.run(_ours(folder / "ours", options.turns)),
        }
    written = {
        "machine": common.machine(),
        "load": [load, common.load_average()],
        "turns": options.turns,
        "client": client,
        "services": services,
    }
    common.write_json(options.json, written)
    common.table(f"{options.turns} turns, {client}", _COLUMNS, _rows(written))


def _client_name() -> str:
    """Name the mem0 that is there, and put a stand-in where there is none."""
    try:
        return f"mem0ai {importlib.metadata.version('mem0ai')}, infer=False"
    except importlib.metadata.PackageNotFoundError:
        stub: Any = ModuleType("mem0")
        stub.Memory = stub.MemoryClient = StubMemory
        sys.modules["mem0"] = stub
        return "a stand-in for mem0's client"


async def _mem0(folder: Path, embedder: QueryEmbedder, turns: int) -> dict[str, Any]:
    os.environ["MEM0_DIR"] = str(folder / "home")
    from pipecat.services.mem0.memory import Mem0MemoryService

    unused = {"provider": "openai", "config": {"api_key": "unused"}}  # asked for, never called
    place = {"path": str(folder / "faiss"), "embedding_model_dims": embedder.dim}
    config = {
        "vector_store": {"provider": "faiss", "config": {**place, "distance_strategy": "cosine"}},
        "embedder": unused,
        "llm": unused,
        "history_db_path": str(folder / "history.db"),
    }
    service = Mem0MemoryService(local_config=config, user_id=everyday.SCOPE)
    memory = service.memory_client
    memory.embedding_model = _Hook(embedder)
    for session in everyday.past():
        said = [{"role": t.role, "content": t.text} for t in session if isinstance(t, Turn)]
        memory.add(said, user_id=everyday.SCOPE, infer=False)

    def stored() -> list[str]:
        found = memory.get_all(filters={"user_id": everyday.SCOPE}, top_k=1_000_000)
        return [hit["memory"] for hit in found["results"]]

    adding = Adding(memory)
    return await _talk(service, turns, adding.settled, stored)


class Adding:
    """Makes a client add things as they were said, and knows when it is done."""

    def __init__(self, memory: Any) -> None:
        """Stand in front of a client's ``add``.

        Args:
            memory: The client.
        """
        self._add, self._begun, self._done = memory.add, 0, 0
        memory.add = self.add

    def add(self, *arguments: Any, **named: Any) -> Any:
        """Add without an LLM."""
        try:
            return self._add(*arguments, **named, infer=False)
        finally:
            self._done += 1

    async def settled(self) -> None:
        """Wait until the turn's add is done."""
        self._begun += 1
        while self._done < self._begun:
            await asyncio.sleep(0.005)


class _Hook:
    """Stands for mem0's embedding model."""

    def __init__(self, embedder: QueryEmbedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self._embedder.encode_query(text).tolist()

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        return [self.embed(text) for text in texts]


async def _ours(folder: Path, turns: int) -> dict[str, Any]:
    engine = await asyncio.to_thread(MemoryEngine, common.configuration(folder))
    try:
        for session in everyday.past():
            engine.append_all(session, draft=True)
        await asyncio.to_thread(engine.drain)
        service = HybridContextualMemoryProcessor(engine=engine, user_id=everyday.SCOPE)

        def stored() -> list[str]:
            engine.store.flush(None)
            with engine.store.snapshot() as snapshot:
                return [turn.text for turn in snapshot.turns()]

        async def settled() -> None:
            await asyncio.to_thread(engine.drain)

        return await _talk(service, turns, settled, stored)
    finally:
        await asyncio.to_thread(engine.close)


async def _talk(
    service: FrameProcessor, turns: int, settled: Settle, stored: Stored
) -> dict[str, Any]:
    exchanges, door = everyday.talk(turns), Door(service)
    answers = iter(answer for _, answer in exchanges)
    before = len(stored())
    async with (
        ScriptedServer(
            reply=lambda request: next(answers) if request.get("stream") else ""
        ) as server,
        HeadlessConversation(llm_url=server.url, memory=service, speaker=everyday.PERSON) as talk,
    ):
        for said, _ in exchanges:
            await talk.say(said)
            await settled()
    requests = [request["messages"] for request in server.requests if request.get("stream")]
    prompts = [prefix.render(messages) for messages in requests]
    added = stored()[before:]
    return {
        "wait": common.percentiles(door.waits),
        "prompt": [estimate_tokens(prompts[0]), estimate_tokens(prompts[-1])],
        "blocks": sum("<memories>\n" in p or RECALLED in p for p in _texts(requests[-1][1:])),
        "broken": sum(step.broken for step in prefix.steps(requests, exchanges)),
        "added": len(added),
        "distinct": len(set(added)),
    }


def _texts(messages: list[dict[str, Any]]) -> list[str]:
    return [prefix.message_text(message) for message in messages]


_COLUMNS = (
    "",
    "wait p50",
    "p95",
    "max, ms",
    "first prompt",
    "last prompt, tokens",
    "blocks in it",
    "prefix broken",
    "stored",
    "of them distinct",
)


def _rows(written: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (
            name,
            *(s["wait"][p] for p in ("p50", "p95", "max")),
            *s["prompt"],
            s["blocks"],
            f"{s['broken']} times",
            s["added"],
            s["distinct"],
        )
        for name, s in written["services"].items()
    ]


def page(written: dict[str, Any]) -> str:
    """Write what was measured, for docs/from-mem0.md.

    Args:
        written: The JSON.

    Returns:
        Markdown.
    """
    machine = written["machine"]
    where = (
        f"{written['turns']} turns, {written['client']}; {machine['cores']} cores "
        f"({machine['cpu']}), load average before and after: {written['load'][0]}, "
        f"{written['load'][1]}."
    )
    return f"{where}\n\n{tables.table(_COLUMNS, _rows(written))}"


def _render() -> None:
    written = common.read_json(common.RESULTS / "mem0.json")
    PAGE.write_text(tables.fill(PAGE.read_text(), {"mem0": page(written)}))


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--turns", type=int, default=50, help="up to 200 (default 50)")
    parser.add_argument("--render", action="store_true", help="only write docs/from-mem0.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
