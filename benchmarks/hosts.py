"""How long does a program that speaks MCP wait for each tool?

A made-up store with a fact for every tenth turn; the SDK's own client and our server in one process,
so that the protocol's cost is in the figure and no pipe is. With ``--owner`` the memory is that of
another process, as beside a running bot; else it is opened here.

    python -m benchmarks.hosts --size 10000 100000 --owner --cache CACHE

The JSON: ``machine``, ``load``, ``results``, one a size: ``memories``, ``owner``, ``tools`` by name
(n, p50, p95, p99, max, in ms), ``rss_mb`` of the process that answers.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
from mcp import Client
from msgspec.structs import replace

from benchmarks import common, corpus, stores
from slowcat_memory.config import Config
from slowcat_memory.mcp.memory_server import MemoryTools, memory_server
from slowcat_memory.owner import open_memory
from slowcat_memory.records import Memory, WriteBatch
from slowcat_memory.store import Store

SIZES, CALLS, TAIL = (10_000, 100_000), 20, 200
FACT_EVERY = 10  # turns
TOGETHER = 5000  # facts in a transaction
READY = "ready"


def main() -> None:
    options = _arguments()
    if options.own:
        return _own(options.own)
    load, results = [common.load_average()], []
    for size in options.size:
        results.append(measure(size, options.calls, options.cache, owner=options.owner))
        load.append(common.load_average())
    common.write_json(options.json, {"machine": common.machine(), "load": load, "results": results})
    for result in results:
        _show(result)
    return None


def measure(size: int, calls: int, cache: Path | None, *, owner: bool) -> dict[str, Any]:
    """Measure every basic tool on a store of a size."""
    with common.scratch() as folder:
        config = stores.build(folder / "store", size, min(TAIL, size // 2), cache)
        config = replace(config, idle=replace(config.idle, enabled=False))
        _add_facts(config)
        if not owner:
            return {"memories": size, "owner": "here", **_measured(config, size, calls)}
        with _owned(config):
            return {"memories": size, "owner": "elsewhere", **_measured(config, size, calls)}


def _add_facts(config: Config) -> None:
    with Store.open(config.folder) as store:
        with store.snapshot() as snapshot:
            turns = [t for t in snapshot.turns(corpus.SCOPE) if t.id % FACT_EVERY == 0]
        for start in range(0, len(turns), TOGETHER):
            facts = tuple(
                Memory(
                    id=f"fact/{turn.id}", kind="fact/person", scope=turn.scope, speaker=turn.speaker,
                    text=turn.text, valid_from=turn.at, recorded_at=turn.at, sources=(turn.id,),
                )
                for turn in turns[start : start + TOGETHER]
            )  # fmt: skip
            store.apply("made", WriteBatch(memories=facts)).wait(None)


@contextmanager
def _owned(config: Config) -> Iterator[None]:
    """Let another process own the store meanwhile."""
    command = [sys.executable, "-m", "benchmarks.hosts", "--own", str(config.folder)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout and child.stdin
    try:
        if child.stdout.readline().strip() != READY:
            raise SystemExit("the owner did not start")
        yield
    finally:
        child.stdin.close()
        child.wait()


def _own(folder: Path) -> None:
    config = common.configuration(folder)
    config = replace(config, idle=replace(config.idle, enabled=False))
    memory = open_memory(config, client="benchmark", mode="own")
    memory.prepare(corpus.SCOPE)
    print(READY, flush=True)
    sys.stdin.read()
    memory.release()


def _measured(config: Config, size: int, calls: int) -> dict[str, Any]:
    tools = MemoryTools(lambda: open_memory(config, client="mcp"), corpus.SCOPE)
    questions = corpus.questions(calls, common.SEED)
    try:
        times = asyncio.run(_timed(tools, questions, size))
    finally:
        tools.close()
    rss = psutil.Process().memory_info().rss / 1e6
    figures = {name: common.percentiles(each) for name, each in times.items()}
    return {"tools": figures, "rss_mb": round(rss, 1)}


async def _timed(tools: MemoryTools, questions: list[str], size: int) -> dict[str, list[float]]:
    """Return the milliseconds of each call, by tool; the first round is not counted."""
    memory = await tools.open()
    with memory.snapshot() as snapshot:
        last = next(iter(snapshot.latest_turns(corpus.SCOPE))).at
    day = (last - timedelta(days=30)).date().isoformat()
    memory.clock = lambda: last + timedelta(hours=1)  # the made-up talk goes on for years
    times: dict[str, list[float]] = {}
    async with Client(memory_server(tools)) as client:
        for number, question in enumerate([questions[0], *questions]):
            for name, arguments in _calls(question, day).items():
                began = time.perf_counter()
                result = await client.call_tool(name, arguments)
                ms = 1000 * (time.perf_counter() - began)
                if result.is_error:
                    raise SystemExit(f"{name}: {result.content[0].text}")
                if number:
                    times.setdefault(name, []).append(ms)
    return times


def _calls(question: str, day: str) -> Mapping[str, dict[str, Any]]:
    return {
        "search_memory": {"query": question},
        "about_me": {"topic": question},
        "recent": {},
        "memory_as_of": {"query": question, "date": day},
        "remember": {"text": f"Asked: {question} at {time.perf_counter_ns()}"},
        "forget": {"what": question},
    }


def _show(result: Mapping[str, Any]) -> None:
    rows = [
        (name, each["n"], each["p50"], each["p95"], each["max"])
        for name, each in result["tools"].items()
    ]
    title = f"{result['memories']:,} memories, owner {result['owner']}, {result['rss_mb']} MB"
    common.table(title, ("tool", "n", "p50 ms", "p95 ms", "max ms"), rows)


def _arguments() -> Any:
    parser = common.arguments(__doc__)
    parser.add_argument("--size", type=int, nargs="+", default=SIZES)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--owner", action="store_true", help="the owner is another process")
    parser.add_argument("--own", type=Path, help="be that process")
    return parser.parse_args()


if __name__ == "__main__":
    main()
