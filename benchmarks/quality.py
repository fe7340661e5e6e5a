"""How well is it recalled? Real conversations go in, their questions are asked, a judge compares.

The questions of a data folder in the uniform format (see benchmarks.datasets) run through
the product's own path and nothing else: a MemoryEngine in a temporary folder takes each conversation
session by session and makes the vectors, ``engine.search`` answers. Without
``--llm-url`` or ``--replay`` there is no LLM; with one, turns are described by idle work before
anything is asked. A question that is asked before a session sees only the sessions before that one.

Each conversation is one scope: a two-person chat is two speakers in one shared memory, a
user-assistant chat one user's memory. A list of items that nobody said one after the other is told
as so many sessions of one item. A question without a time is asked when the latest thing was said.

What is indexed is one turn at a time ("speaker: words", by words together with its neighbours). At
turn level gold is turns; at session level (LongMemEval's protocol) it is sessions, which are ranked by
their best turn. Both any ("Hit") and all ("All") of the gold are counted, see benchmarks.scoring.

    python -m benchmarks.quality --data DIR

``--data`` may be given several times, and may be a folder of data folders. The JSON: ``k``, and
``results``, one a data folder: ``data``, ``indexed``,
``vectors``, ``levels`` (by level and by group of questions: each metric as a share, ``n``, ``leaks``),
``offered`` (what is put before the LLM, by level and group; see benchmarks.scoring),
``thought`` (what idle work made; null without an LLM), ``search_ms``, ``seconds``.
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from rich.progress import Progress

from benchmarks import common, datasets
from benchmarks.datasets import Dataset, Origins, dialogue_of, steps
from benchmarks.scoring import ALL, Level, Offered, evaluate, evaluate_blocks
from benchmarks.tables import percent, table
from slowcat_memory import providers
from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers import LLM, ThinkingOptions
from slowcat_memory.transfer import import_

DEPTH = 50  # hits a question
JOB = "contextualize"
INDEXED = "one turn, 'speaker: words'; by words also with its neighbours"
SHOWN: dict[str, tuple[str, ...]] = {
    "turn": ("R@5", "R@10", "Hit@10", "All@10", "MRR", "nDCG@10", "R@300w"),
    "session": ("R@5", "R@10", "Hit@5", "Hit@10", "All@10"),
}
SHARES, COUNTED = ("precision", "recall", "hit", "empty"), ("offered", "beside", "tokens")


def main() -> None:
    options = _arguments()
    results = [measure(datasets.load(folder), options) for folder in datasets.find(options.data)]
    print(report({"results": results}))
    common.write_json(options.json, {"k": DEPTH, "results": results})


def measure(data: Dataset, options: argparse.Namespace) -> dict[str, Any]:
    """Answer a data set's questions by an engine of its own, and score the answers.

    Args:
        data: The data set.
        options: From the command line.

    Returns:
        What the JSON says about them.
    """
    sections: dict[str, Any] = {"embedding": {"kind": "none"}} if options.no_vectors else {}
    started = time.perf_counter()
    with common.scratch() as folder:
        config = common.configuration(folder, **sections)
        server = ThinkingOptions(url=options.llm_url)
        with (
            common.thinking(server, record=options.record, replay=options.replay) as llm,
            opened(config, llm) as engine,
        ):
            blocks = Offered()
            run, ms = answer_all(engine, data, thinks=llm is not None, blocks=blocks)
            thought = _thought(engine) if llm else None
            vectors = engine.embedding.report.key or "none"
    # Sessions mean something where there are some to tell apart.
    levels: list[Level] = ["turn", "session"] if len(data.rank) > len(data.lists) else ["turn"]
    return {
        "data": data.name,
        "indexed": INDEXED,
        "vectors": vectors,
        "thought": thought,
        "levels": {level: evaluate(data, run, level) for level in levels},
        "offered": {level: evaluate_blocks(data, blocks.blocks, level) for level in levels},
        "search_ms": common.percentiles(ms),
        "seconds": round(time.perf_counter() - started, 1),
    }


def answer_all(
    engine: MemoryEngine,
    data: Dataset,
    *,
    thinks: bool = False,
    blocks: Offered | None = None,
) -> tuple[dict[str, list[str]], list[float]]:
    """Tell the engine every conversation, and ask every question when its time has come.

    Args:
        engine: An engine with an empty store.
        data: The data set; a conversation without questions is not told.
        thinks: Whether what was told is described by its LLM before anything is asked.
        blocks: Asks each question once more as a turn does, untimed.

    Returns:
        Documents by question id, best first, and the milliseconds of each search.
    """
    run: dict[str, list[str]] = {}
    ms: list[float] = []
    origins = Origins()
    with Progress(console=common.console) as bar:
        for transcript in bar.track(list(data.transcripts()), description=data.name):
            scope, last, fresh = datasets.scope_of(transcript.conversation), None, False
            for due, sessions in steps(data, transcript):
                if due and fresh:
                    if thinks:
                        engine.store.flush(None)
                        engine.idle.until_done([JOB])
                    engine.upkeep.embed(scope)
                    fresh = False
                for question in due:
                    now = question.asked_at or last or engine.clock()
                    dialogue = dialogue_of(question, now)
                    began = time.perf_counter()
                    found = engine.search(question.text, scope, DEPTH, now=now, dialogue=dialogue)
                    ms.append((time.perf_counter() - began) * 1e3)
                    named = ("+".join(origins.of(engine, h.memory.sources)) for h in found.hits)
                    run[question.id] = list(filter(None, named))
                    if blocks:
                        blocks.ask(engine, question, scope, now)
                for session in sessions:
                    import_.ingest(engine, scope, session)
                    times = import_.moments(session, engine.zone)
                    last, fresh = max([*times, last] if last else times, default=None), True
    return {q.id: run[q.id] for q in data.questions if q.id in run}, ms


@contextmanager
def opened(config: Config, llm: LLM | None = None) -> Iterator[MemoryEngine]:
    """Open an engine with its model; one that has not been exported is exported first.

    Args:
        config: The configuration.
        llm: Thinks when the engine is told to; None for no idle work at all.

    Yields:
        The engine.

    Raises:
        ProviderError: There is no such model.
    """
    report = providers.open_query_embedder(config.embedding)[1]
    if report.state == "needs export":
        providers.export_model(config.embedding)
    if report.state == "missing":
        raise ProviderError(report.source, hint=report.hint)
    idle = replace(
        config.idle, enabled=False, grace_s=0.0, rest_s=0.05, backoff_s=0.05, on_battery=True
    )
    with closing(MemoryEngine(replace(config, idle=idle), llm=llm)) as engine:
        yield engine


def _thought(engine: MemoryEngine) -> dict[str, Any]:
    """Count the descriptions, their keys, the tasks that were given up, and idle work's counters."""
    with engine.store.snapshot() as snapshot:
        scopes = snapshot.scopes()
        made = {
            "contexts": sum(1 for scope in scopes for _ in snapshot.contexts(scope)),
            "keys": sum(1 for scope in scopes for _ in snapshot.keys(scope)),
            "dead": len(snapshot.tasks(state="dead")),
        }
    counts = engine.metrics.counts()
    return made | {name: n for name, n in counts.items() if name.startswith("idle_")}


def report(written: Mapping[str, Any]) -> str:
    """Write the results as Markdown: what is ranked at each level, and what is offered."""
    results = written["results"]
    parts = [f"Indexed: {results[0]['indexed']}. Vectors: {results[0]['vectors'].split('@')[0]}."]
    offered = (*SHARES, *COUNTED)
    for level, ranked in SHOWN.items():
        for part, title, metrics in (("levels", "", ranked), ("offered", "offered, ", offered)):
            rows = [
                (name, *(_figure(scores, metric) for metric in metrics), scores["n"])
                for name, scores in _groups(results, part, level)
            ]
            if rows:
                parts.append(table((f"{title}{level} level", *metrics, "questions"), rows))
    return "\n\n".join(parts)


def _figure(scores: Mapping[str, Any], metric: str) -> str:
    return f"{scores[metric]:.2f}" if metric in COUNTED else percent(scores[metric])


def _groups(
    results: Sequence[Mapping[str, Any]], part: str, level: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the scores of each group of questions of a level, where it was measured."""
    for result in results:
        for name, scores in result.get(part, {}).get(level, {}).items():
            yield f"**{result['data']}**" if name == ALL else f"· {name}", scores


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, action="append",
        help="folder in the uniform format, or of such folders; may be repeated",
    )  # fmt: skip
    parser.add_argument("--no-vectors", action="store_true", help="words only, no embedding model")
    parser.add_argument("--llm-url", default="", help="an OpenAI-compatible server")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep every prompt and answer")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="answer from a recorded file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
