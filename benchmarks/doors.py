"""What does a memory cost that another process owns, against one of the own process?

Two copies of one made-up store: this process owns the first and is a client of a process that owns
the second. Each question is asked of both, one after the other, in changing order, so that whatever
else the machine does falls on both alike.

- *here*, *socket*: ``await memory.recall(...)`` and ``memory.pack(...)`` on a real event loop, for
  texts that were never asked before;
- *slower*: the difference of each pair;
- *streaming*: what a turn waits as a client whose recogniser sends interim transcripts: its words
  were heard ``AHEAD_S`` before it came;
- *client_mb*: resident memory of a process with Pipecat and a client that has recalled, beyond one
  with Pipecat alone.

    python -m benchmarks.doors --size 10000 --count 200 [--cache CACHE]

The JSON: ``machine``, ``load``, ``memories``, ``here``, ``socket``, ``slower``, ``streaming`` (each n,
p50, p95, p99, max, in ms), ``under_1ms`` (share of streaming turns), ``client_mb``.
"""

import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from benchmarks import common, corpus, stores
from benchmarks.common import percentiles
from slowcat_memory.config import Config
from slowcat_memory.owner.member import Member

SIZE, COUNT, TAIL, WARM_UP = 10_000, 200, 200, 20
AHEAD_S = 0.3  # a turn comes so long after its last words
WAIT_S = 120.0
MEMORY = """
import asyncio, sys
from pathlib import Path
import pipecat.frames.frames, pipecat.processors.frame_processor
import pipecat.processors.aggregators.llm_response_universal, pipecat.services.llm_service
if len(sys.argv) > 2:
    import slowcat_memory.processor
    from benchmarks import common, corpus, doors
    member = doors.member(doors.configuration(Path(sys.argv[1])), "client")
    for text in corpus.questions(30, 5):
        asyncio.run(member.recall(text, corpus.SCOPE, now=corpus.NOW))
import gc; gc.collect()
for line in open("/proc/self/status"):
    if line.startswith("VmRSS"):
        print(int(line.split()[1]) / 1024)
"""


def main() -> None:
    if sys.argv[1:2] == ["own"]:
        return own(Path(sys.argv[2]))
    parser = common.arguments(__doc__)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--cache", type=Path)
    given = parser.parse_args()
    load = [common.load_average()]
    found = measure(given.size, given.count, given.cache)
    load.append(common.load_average())
    common.write_json(given.json, {"machine": common.machine(), "load": load, **found})
    rows = [
        [name, *(found[name][part] for part in ("n", "p50", "p95", "p99", "max"))]
        for name in ("here", "socket", "slower", "streaming")
    ]
    common.table(f"{given.size} memories, ms", ("", "n", "p50", "p95", "p99", "max"), rows)
    print(f"streaming turns under 1 ms: {found['under_1ms']:.1%}; client: {found['client_mb']} MB")
    return None


def configuration(folder: Path) -> Config:
    config = common.configuration(folder, recall={"deadline_ms": 1000.0, "settle_ms": 1000.0})
    return replace(config, idle=replace(config.idle, enabled=False))


def member(config: Config, name: str) -> Member:
    made = Member(config, name=name)
    made.prepare(corpus.SCOPE)
    made.start(WAIT_S)
    assert made.is_ready, made.availability.trouble
    return made


def own(folder: Path) -> None:
    """Own a store until standard input ends."""
    made = member(configuration(folder), "owner")
    asyncio.run(_warm(made))
    print("up", flush=True)
    sys.stdin.read()
    made.release()


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Have another process own a store."""
    command = [sys.executable, "-m", "benchmarks.doors", "own", str(folder)]
    owner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdin and owner.stdout and owner.stdout.readline() == "up\n"
    try:
        yield
    finally:
        owner.stdin.close()
        owner.wait(WAIT_S)
        owner.stdout.close()


def measure(size: int, count: int, cache: Path | None) -> dict[str, Any]:
    with common.scratch() as folder:
        one, other = folder / "one", folder / "other"
        stores.build(one, size, min(TAIL, size // 2), cache)
        shutil.copytree(one, other)
        with owned(other):
            here, there = member(configuration(one), "here"), member(configuration(other), "there")
            try:
                assert here.engine is not None and there.owner is not None
                asyncio.run(_warm(here))
                asyncio.run(_warm(there))
                found = asyncio.run(_compare(here, there, count))
                waits = asyncio.run(_streaming(there, min(count, 60)))
            finally:
                here.release()
                there.release()
            rss = _resident(other, client=True) - _resident(other, client=False)
    return {
        "memories": size,
        **{name: percentiles(samples) for name, samples in found.items()},
        "streaming": percentiles(waits),
        "under_1ms": sum(wait < 1.0 for wait in waits) / len(waits),
        "client_mb": round(rss, 1),
    }


async def _warm(memory: Member) -> None:
    for text in corpus.questions(WARM_UP, common.SEED):
        await memory.recall(text, corpus.SCOPE, now=corpus.NOW)


async def _compare(here: Member, there: Member, count: int) -> dict[str, list[float]]:
    took: dict[str, list[float]] = {"here": [], "socket": [], "slower": []}
    for n, text in enumerate(corpus.questions(count, common.SEED + 1)):
        pair = [("here", here), ("socket", there)]
        for name, memory in pair if n % 2 else reversed(pair):
            await asyncio.sleep(0.01)
            began = time.perf_counter()
            found = await memory.recall(text, corpus.SCOPE, now=corpus.NOW)
            memory.pack(found, corpus.NOW)
            took[name].append((time.perf_counter() - began) * 1e3)
            assert found.stage in ("full", "skipped"), f"{name}: {found.stage}"
        took["slower"].append(took["socket"][-1] - took["here"][-1])
    return took


async def _streaming(memory: Member, count: int) -> list[float]:
    from slowcat_memory.engine.turns import build_query

    waits = list[float]()
    for text in corpus.questions(count, common.SEED + 2):
        prefetch = memory.prefetch(
            lambda words: build_query(memory.config, corpus.NOW, words, corpus.SCOPE)
        )
        prefetch.hear(text, whole=True)
        await asyncio.sleep(AHEAD_S)
        began = time.perf_counter()
        found = await memory.recall(text, corpus.SCOPE, prefetch=prefetch, now=corpus.NOW)
        found.packed or memory.pack(found, corpus.NOW)
        waits.append((time.perf_counter() - began) * 1e3)
    return waits


def _resident(folder: Path, *, client: bool) -> float:
    arguments = [str(folder), *(["client"] if client else [])]
    ran = subprocess.run(
        [sys.executable, "-c", MEMORY, *arguments], capture_output=True, text=True, check=True
    )
    return float(ran.stdout.split()[-1])


if __name__ == "__main__":
    main()
