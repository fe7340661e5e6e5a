"""How long does a turn wait for its memories, and what does the conversation feel of the rest?

At each size, on a made-up store (a sealed index, and a tail of the last few hundred turns):

- *inline*: ``await engine.recall(...)`` and ``engine.blocks.pack(...)`` on a real event loop, for texts that
  were never asked before, so that each is embedded while the turn waits;
- *ahead*: the same with the vector at hand, as when it was embedded while the person still spoke;
- *stages*: where that time goes; "hop" is the way to the worker thread and back;
- *loop_lag*: how late the event loop wakes from a sleep of 1 ms: idle, and with four exchanges a
  second (recalled, stored, embedded);
- *store*: how long ``engine.append`` holds the caller (accept) and when the turn is on disk (durable),
  at the pace of talk;
- *beside_busy*: as inline, while another process keeps a core busy;
- *during_build*: as inline, while a child process builds the sealed index anew;
- *cpu*: milliseconds of all threads a recall, inline;
- *but_embedding*: inline, all but the embedding;
- *pauses*: inline, after pauses of 50 and 300 ms, against recalls back to back between them;
- *beside_idle*: inline, beside idle work by rule, against recalls with its gate held shut;
- *tiers*: inline, of questions whose answer is hot, warm or cold, once the store has aged;
- *cold*: a fresh process opens the store and answers, by words alone and in full.

The deadline is lifted while measuring, so that slow recalls are seen as they are; ``over_deadline``
tells how many would have been cut short. All figures are milliseconds unless they say otherwise.

Shared machines change their speed by half from minute to minute without any load of their own to
show for it: compare runs only where ``reference`` is the same.

    python -m benchmarks.latency --sizes 1000 10000

The JSON: ``results``, one a size: ``memories``, ``queries``, ``index``,
``inline``, ``ahead``, ``but_embedding``, ``cpu``, ``beside_busy``, ``during_build``, ``stages`` by
name, ``loop_lag`` by pace, ``store`` by what (each of these figures n, p50, p95, p99,
max); ``pauses`` and ``beside_idle`` (see ``benchmarks/rhythms.py``), ``tiers`` by name
(a figure, and ``found``, the share of questions whose turn is among the hits); ``cold`` (``lexical``,
``full``, ``imports``), ``over_deadline``, ``rss_mb``, ``rss_imports_mb``.
"""

import asyncio
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import cold_start, common, corpus, rhythms, stores
from benchmarks.common import percentiles
from benchmarks.tables import PERCENTILES, percent, table
from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import Encoded
from slowcat_memory.runtime.recall.query import RecallOptions

Samples = dict[str, list[float]]
WARM_UP = 50
OTHER = common.SEED + 1  # of questions that no other figure asks
PAUSE_S = 0.1  # between two halves of an exchange: people take seconds
TICK_S = 0.001
TALK_S = 0.25  # between two exchanges; people take many seconds
BESIDE = {
    "beside_busy": "the first, beside a busy core",
    "during_build": "the first, while the index is built anew",
}


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000], help="memories")
    parser.add_argument("--queries", type=int, default=1000, help="for each figure (default 1000)")
    parser.add_argument("--cache", type=Path, help="keep built stores in this folder")
    options = parser.parse_args()
    results = []
    for size in options.sizes:
        results.append(measure(size, options.queries, cache=options.cache))
        print(report({"results": results[-1:]}))
        # After each size: a million memories take long enough to be interrupted.
        common.write_json(options.json, {"results": results})


def measure(
    size: int,
    queries: int = 1000,
    cache: Path | None = None,
    *,
    exchanges: int = 200,
    idle_s: float = 2.0,
    cold_runs: int = 5,
    rounds: int = 60,
) -> dict[str, Any]:
    """Measure at one size.

    Args:
        size: How many memories.
        queries: How many questions for each figure.
        cache: Keeps built stores from run to run; None builds anew.
        exchanges: How many exchanges are stored.
        idle_s: For how long the idle loop is watched.
        cold_runs: How many fresh processes of each kind are started.
        rounds: How many recalls after each pause, beside idle work, and by tier.

    Returns:
        The figures; see the module.
    """
    with common.scratch() as folder:
        path = folder / "store"
        config = stores.build(path, size, cache, recall={"deadline_ms": 10_000.0})
        cold = cold_start.measure(path, cold_runs)
        with stores.opened(config) as engine:
            index = engine.upkeep.stats()["index"][corpus.SCOPE]
            found = asyncio.run(_conversation(engine, queries, size, exchanges, idle_s, rounds))
        found["beside_idle"] = rhythms.beside_idle(path, corpus.questions(2 * rounds, OTHER))
        found["tiers"] = _tiers(config, rounds)
    parts = {name: index[name] for name in ("sealed", "tail", "vectors")}
    return {
        "memories": size,
        "queries": queries,
        "index": parts,
        **found,
        **cold,
    }


async def _conversation(
    engine: MemoryEngine, queries: int, size: int, exchanges: int, idle_s: float, rounds: int
) -> dict[str, Any]:
    texts = iter(corpus.questions(4 * queries + exchanges + WARM_UP, common.SEED))
    waits, stages = await recalls(engine, texts, queries)
    waits |= {name: stages.pop(name) for name in ("cpu", "but_embedding")}
    paused = await rhythms.after_pauses(engine, corpus.questions(rhythms.A_ROUND * rounds, OTHER))
    idle = await lag(asyncio.sleep(idle_s))
    talk = await lag(_work(engine, list(islice(texts, exchanges // 3)), size))
    await asyncio.to_thread(engine.flush, indexed=True)
    waits["beside_busy"] = await _beside_busy(engine, list(islice(texts, queries)))
    waits["during_build"] = await _during_build(engine, list(islice(texts, queries)))
    return {
        **all_percentiles(waits),
        "pauses": paused | {"reading": rhythms.reading()},
        "over_deadline": sum(ms > RecallOptions().deadline_ms for ms in waits["inline"]),
        "stages": all_percentiles(stages),
        "loop_lag": all_percentiles({"idle": idle, "talk": talk}),
        "store": await stored(engine, exchanges, after=size + 4 * exchanges),
    }


def all_percentiles(samples: Samples) -> dict[str, dict[str, float]]:
    """Return n, p50, p95, p99 and max by name."""
    return {name: percentiles(ms) for name, ms in samples.items()}


async def recalls(
    engine: MemoryEngine, texts: Iterator[str], queries: int
) -> tuple[Samples, Samples]:
    """Recall after a warm-up, embedded inline and ahead; the totals, and the parts of the first."""
    await ask(engine, list(islice(texts, WARM_UP)))
    inline, stages = await ask(engine, list(islice(texts, queries)))
    asked = list(islice(texts, queries))
    ahead, _ = await ask(engine, asked, embed(engine, asked))
    return {"inline": inline, "ahead": ahead}, stages


async def ask(
    engine: MemoryEngine, texts: Sequence[str], vectors: Sequence[Encoded] | None = None
) -> tuple[list[float], Samples]:
    """Recall for each text as a turn does; the total and its parts, in milliseconds."""
    totals = list[float]()
    parts: Samples = defaultdict(list)
    for place, text in enumerate(texts):
        one = await rhythms.timed(engine, text, vectors[place] if vectors else None)
        timings = one.found.timings
        totals.append(one.ms)
        for name, ms in {
            "cpu": one.cpu,
            "but_embedding": one.ms - timings.get("embed", 0.0),
            **timings,
            "pack": one.ms - one.recall,
            "hop": one.recall - sum(timings.values()),
        }.items():
            parts[name].append(ms)
        await asyncio.sleep(0)
    return totals, parts


async def _work(engine: MemoryEngine, texts: Sequence[str], after: int) -> None:
    """Hold a conversation, faster than people do: recall, then store both halves."""
    fresh = iter(corpus.plain_turns(2 * len(texts), common.SEED, after))
    for text in texts:
        await rhythms.timed(engine, text)
        for turn in islice(fresh, 2):
            engine.append(turn)
        await asyncio.sleep(TALK_S)


def embed(engine: MemoryEngine, texts: Sequence[str]) -> list[Encoded]:
    """Embed questions by an embedder of our own, so that the engine's cache stays cold."""
    embedder = common.embedder_of(engine.config)
    return [embedder.encode_query(text) for text in texts]


def _tiers(config: Config, count: int) -> dict[str, Any]:
    """Age the store, and ask for what lies in each tier, in turn; nothing of a small store."""
    stores.age(config)
    with stores.opened(config) as engine:
        asked = tier_questions(engine, count)
        return asyncio.run(_ask_tiers(engine, asked)) if all(asked.values()) else {}


async def _ask_tiers(
    engine: MemoryEngine, asked: dict[str, list[tuple[str, int]]]
) -> dict[str, Any]:
    await ask(engine, corpus.questions(WARM_UP, common.SEED))
    waits: Samples = defaultdict(list)
    right: dict[str, int] = defaultdict(int)
    for together in zip(*asked.values(), strict=True):
        for name, (text, turn) in zip(asked, together, strict=True):
            one = await rhythms.timed(engine, text)
            waits[name].append(one.ms)
            right[name] += any(turn in hit.memory.sources for hit in one.found.hits)
    return {
        name: percentiles(ms) | {"found": round(right[name] / len(ms), 3)}
        for name, ms in waits.items()
    }


# -------------------------------------------------------------------- beside something else


async def _during_build(engine: MemoryEngine, texts: Sequence[str]) -> list[float]:
    """Recall, embedded inline, for as long as a new sealed index is built, or the texts last."""
    building = asyncio.create_task(asyncio.to_thread(engine.upkeep.seal, corpus.SCOPE))
    took = list[float]()
    for text in texts:
        if building.done():
            break
        took += (await ask(engine, [text]))[0]
        await asyncio.sleep(0.002)
    await building
    return took


async def _beside_busy(engine: MemoryEngine, texts: Sequence[str]) -> list[float]:
    """Recall, embedded inline, while another process keeps a core busy."""
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        return (await ask(engine, texts))[0]
    finally:
        busy.kill()
        busy.wait()


# -------------------------------------------------------------------- what storing costs


async def stored(engine: MemoryEngine, count: int, after: int) -> dict[str, Any]:
    """Store exchanges at the pace of talk.

    Args:
        engine: Open for writing.
        count: How many exchanges.
        after: How many turns were made before.

    Returns:
        ``accept``, how long ``engine.append`` holds its caller, and ``durable``, from that call
        until the turn is on disk.
    """
    accept: list[float] = []
    durable: list[float] = []
    acks = []
    for turn in corpus.plain_turns(2 * count, common.SEED, after):
        began = time.perf_counter()
        ack = engine.append(turn)
        accept.append((time.perf_counter() - began) * 1e3)
        ack.future.add_done_callback(
            lambda _, began=began: durable.append((time.perf_counter() - began) * 1e3)
        )
        acks.append(ack)
        await asyncio.sleep(PAUSE_S)
    await asyncio.gather(*(asyncio.wrap_future(ack.future) for ack in acks))
    await asyncio.to_thread(engine.flush, indexed=True)
    return {"accept": percentiles(accept), "durable": percentiles(durable)}


async def lag(work: Awaitable[Any]) -> list[float]:
    """Watch how late the event loop wakes from short sleeps while something is done on it.

    Args:
        work: What is done.

    Returns:
        Milliseconds beyond the sleep of 1 ms, timer resolution included.
    """
    late: list[float] = []

    async def tick() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK_S)
            late.append((time.perf_counter() - began - TICK_S) * 1e3)

    ticker = asyncio.create_task(tick())
    await work
    ticker.cancel()
    return late


# -------------------------------------------------------------------- hot, warm and cold


KEPT = 0.4  # share of a turn's words that the question repeats
TIER_ASKED = (
    "what did I tell you about {}",
    "do you remember what I said about {}",
    "tell me again how it was with {}",
    "what was that with {}",
)


def tier_questions(engine: MemoryEngine, count: int) -> dict[str, list[tuple[str, int]]]:
    """Ask for what the user states in the turns of an aged store, by two of five of their own words.

    Ageing moves whole blocks, and keeps important ones longer: what is close to a border is left
    out.

    Args:
        engine: Open; its scope is that of made-up stores.
        count: How many questions for each tier; a turn is asked for more than once where there are
            too few, by other words.

    Returns:
        By the tier's name the questions, no two alike, each with the id of the turn that it asks
        for; none where nothing is stated.
    """
    with engine.store.snapshot() as snapshot:
        turns = list(snapshot.turns(corpus.SCOPE))
    hot, warm = engine.config.memory.hot_cache_size, engine.config.tiers.warm
    end, asked = len(turns), dict[str, list[tuple[str, int]]]()
    for name, first, last in (
        ("hot", end - hot + hot // 10, end),
        ("warm", end - hot - warm // 2, end - hot - warm // 5),
        ("cold", 0, end - hot - 2 * warm),
    ):
        part = turns[max(0, first) : max(0, last)]
        stated = [turn for turn in part if turn.role == "user" and not turn.text.endswith("?")]
        chance, made = random.Random(f"{common.SEED}/tier"), dict[str, int]()
        while stated and len(made) < count:
            turn = chance.choice(stated)
            words = [word.strip(".,") for word in turn.text.split() if chance.random() < KEPT]
            made[chance.choice(TIER_ASKED).format(" ".join(words))] = turn.id
        asked[name] = list(made.items())
    return asked


# -------------------------------------------------------------------- output


def report(written: Mapping[str, Any]) -> str:
    """Write the results as Markdown."""
    parts = []
    for result in written["results"]:
        rows = [
            ("recall, embedded while the turn waits", result["inline"]),
            ("recall, embedded ahead", result["ahead"]),
            *((label, result[name]) for name, label in BESIDE.items()),
            *_rhythms(result),
            *((f"· {name}", values) for name, values in result["stages"].items()),
            *((f"event loop late, {name}", ms) for name, ms in result["loop_lag"].items()),
            *((f"store a turn: {name}", ms) for name, ms in result["store"].items()),
        ]
        cold, after = result["cold"], result["pauses"]["ratio"]["300"]
        beside, reading = result["beside_idle"], result["pauses"]["reading"]
        parts += [
            f"**{result['memories']:,} memories** ({result['queries']} questions), milliseconds:",
            table(
                ("", *PERCENTILES),
                [(name, *(values[p] for p in PERCENTILES)) for name, values in rows],
            ),
            f"Fresh process: {cold['lexical']:.0f} ms from open to the first answer by words, "
            f"{cold['full']:.0f} ms in full, after {cold['imports']:.0f} ms of imports; "
            f"{result['rss_mb']:.0f} MB resident, of which {result['rss_imports_mb']:.0f} MB are "
            f"imports. {result['over_deadline']} of {result['queries']} recalls took longer than "
            f"the deadline of 10 ms. "
            "After a pause of 300 ms, over the median back to back: "
            f"{after['p50']:.2f} (p50), {after['p95']:.2f} (p95); reading 20 MB: "
            f"{reading['300']:.1f} ms after it, {reading['0']:.1f} ms back to back. Beside idle "
            f"work, over the same without it: {beside['ratio']['p50']:.2f} (p50), "
            f"{beside['ratio']['p95']:.2f} (p95); it took {percent(beside['idle_share'])} % of a "
            "core before these recalls.",
        ]
    return "\n\n".join(parts)


def _rhythms(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the rows of recalls at the rhythm of people."""
    yield "the first, without its embedding", result["but_embedding"]
    yield "the first, processor time of all threads", result["cpu"]
    for pause in rhythms.PAUSES_MS:
        yield f"after a pause of {pause} ms", result["pauses"][str(pause)]
    yield "back to back, between these", result["pauses"]["together"]
    yield "beside idle work", result["beside_idle"]["beside"]
    yield "without it, between these", result["beside_idle"]["alone"]
    for tier, values in result["tiers"].items():
        yield f"answer in the {tier} tier", values


if __name__ == "__main__":
    main()
