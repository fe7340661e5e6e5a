"""How well is it recalled? Real conversations go in, their questions are asked, a judge compares.

The questions of a data folder in the uniform format (see the project's docs on import) run through
the product's own path and nothing else: a MemoryEngine in a temporary folder takes each conversation
session by session, its document embedder makes the vectors, ``engine.search`` answers. There is no
LLM. A question that is asked before a session sees only the sessions before that one.

Each conversation is one scope: a two-person chat is two speakers in one shared memory, a
user-assistant chat one user's memory. A question without a time is asked when the last turn was said.

    python -m benchmarks.quality --data DIR --save-run OUT.trec
"""

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import common, datasets, plots
from benchmarks.datasets import Dataset, Question
from benchmarks.scoring import METRICS, evaluate, write_run
from slowcat_memory import providers, replay
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import ProviderError
from slowcat_memory.providers import DocumentEmbedder
from slowcat_memory.records import Turn
from slowcat_memory.replay import Transcript, TranscriptSession

Rankings = dict[str, list[str]]


def main() -> None:
    options = _arguments()
    data = datasets.load(options.data)
    with common.scratch() as folder:
        config = common.configuration(
            folder,
            options.config,
            **({"embedding": {"kind": "none"}} if options.no_vectors else {}),
        )
        engine = MemoryEngine(config)
        try:
            started = time.perf_counter()
            with _embedder(engine) as embedder:
                run, ms = answer_all(engine, data, embedder, options.k, options.limit)
            took = time.perf_counter() - started
        finally:
            engine.close()
    results = {
        "data": data.name,
        "vectors": engine.embedding.key if engine.embedding.state != "none" else "none",
        "k": options.k,
        "scores": evaluate(_only(data, run) if options.limit else data, run),
        "search_ms": common.percentiles(ms),
        "seconds": round(took, 1),
        "machine": common.machine(),
    }
    _show(results)
    if options.save_run:
        write_run(options.save_run, run)
    common.write_json(options.json, results)
    if options.plot:
        plots.quality([results], options.plot)


def answer_all(
    engine: MemoryEngine,
    data: Dataset,
    embedder: DocumentEmbedder | None = None,
    k: int = 50,
    limit: int = 0,
) -> tuple[Rankings, list[float]]:
    """Tell the engine every conversation, and ask every question when its time has come.

    Args:
        engine: An engine with an empty store.
        data: The data set.
        embedder: Makes the vectors; None leaves them out.
        k: How many hits a question.
        limit: Only so many conversations; 0 for all.

    Returns:
        Documents by question id, best first, and the milliseconds of each search.
    """
    run: Rankings = {}
    ms: list[float] = []
    transcripts = list(replay.read(data.conversations, _complain))[: limit or None]
    total = sum(transcript.turns for transcript in transcripts)
    with _progress() as bar:
        task = bar.add_task(data.name, total=total)
        for transcript in transcripts:
            teller = _Teller(engine, transcript, embedder)
            pending = data.asked(transcript.conversation)
            for session in transcript.sessions:
                due = [q for q in pending if data.place(q.before) <= data.place(session.id)]
                pending = [q for q in pending if q not in due]
                teller.ask(due, k, run, ms)
                teller.tell(session)
                bar.advance(task, len(session.utterances))
            teller.ask(pending, k, run, ms)
    return {q.id: run[q.id] for q in data.questions if q.id in run}, ms


class _Teller:
    """Tells one conversation to the engine, and asks about it."""

    def __init__(
        self, engine: MemoryEngine, transcript: Transcript, embedder: DocumentEmbedder | None
    ) -> None:
        self._engine, self._embedder = engine, embedder
        self._scope = datasets.scope_of(transcript.conversation)
        self._origin: dict[int, str] = {}
        self._last: datetime | None = None
        self._fresh = False  # something was told that has no vector yet

    def tell(self, session: TranscriptSession) -> None:
        for ack in replay.ingest(self._engine, self._scope, session):
            if isinstance(ack.event, Turn):
                self._origin[ack.id] = ack.event.origin
                self._last = ack.event.at
        self._fresh = True

    def ask(self, questions: list[Question], k: int, run: Rankings, ms: list[float]) -> None:
        if questions and self._fresh and self._embedder:
            self._engine.embed(self._scope, embedder=self._embedder)
            self._fresh = False
        for question in questions:
            started = time.perf_counter()
            found = self._engine.search(
                question.text, self._scope, k, now=question.asked_at or self._last
            )
            ms.append((time.perf_counter() - started) * 1e3)
            documents = (self._document(hit.memory.sources) for hit in found.hits)
            run[question.id] = [document for document in documents if document]

    def _document(self, turns: tuple[int, ...]) -> str:
        return "+".join(self._origin[turn] for turn in turns if turn in self._origin)


@contextmanager
def _embedder(engine: MemoryEngine) -> Iterator[DocumentEmbedder | None]:
    """Keep one document embedder for the whole run: opening one costs seconds."""
    options = engine.config.embedding
    if engine.embedding.state == "needs export":
        providers.export_model(options)
        raise SystemExit("The model has been exported; run this again.")
    if options.kind == "none":
        yield None
        return
    embedder, report = providers.open_document_embedder(options)
    if embedder is None:
        raise ProviderError(report.source, hint=report.hint)
    try:
        yield embedder
    finally:
        embedder.close()


def _only(data: Dataset, run: Rankings) -> Dataset:
    """Leave out what was not asked (``--limit``)."""
    asked = [question for question in data.questions if question.id in run]
    return Dataset(data.name, data.conversations, asked, data.words, data.rank, data.session_of)


def _show(results: dict[str, Any]) -> None:
    rows = [
        (name or "-", *(100 * scores[m] for m in METRICS), scores["n"], scores["leaks"])
        for name, scores in results["scores"].items()
    ]
    common.table(results["data"], ("category", *METRICS, "n", "leaks"), rows)
    ms = results["search_ms"]
    common.console.print(
        f"vectors: {results['vectors']}; search ms p50 {ms['p50']:.2f} p99 {ms['p99']:.2f}; "
        f"{results['seconds']:.0f} s in all"
    )


def _complain(*what: Any) -> None:
    common.console.print("unreadable:", *what)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("turns"),
        TimeElapsedColumn(),
        console=common.console,
    )


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder in the uniform format")
    parser.add_argument("--save-run", type=Path, metavar="OUT.trec", help="write a TREC run")
    parser.add_argument("--k", type=int, default=50, help="documents a question (default 50)")
    parser.add_argument("--no-vectors", action="store_true", help="words only, no embedding model")
    parser.add_argument("--config", type=Path, help="a config.toml; its store's path is not used")
    parser.add_argument("--limit", type=int, default=0, help="only the first N conversations")
    return parser.parse_args()


if __name__ == "__main__":
    main()
