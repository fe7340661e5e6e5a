"""Do summaries keep what matters, in few words, and are they found? With recorded answers, and by rule.

The sessions of the conversations in ``llm_notes.jsonl.gz`` are told to an engine of the product, which
sums them up in idle time: once with an LLM whose answers are what was recorded for each session (so
days, weeks and topics, of which nothing was recorded, are the first sentences of their sessions'
summaries), and once without an LLM. Then:

- *compression*: 1 - words of the sessions' summaries / words of the sessions;
- *retention*: of the facts that were labelled in a session, the share of which at least 60 % of the
  stems of words (stop words, the speakers' names and figures aside) stand in its summary or its
  topics. It counts words: a paraphrase is a miss, and a fact whose words stand in two places is a
  hit. *ceiling* is the same of what was recorded, word for word, before any check of the product;
- *found*: "What did we talk about on 8 May 2023?" asked for the date of every session, and "What
  happened last week?" asked a week after each: the share with the summary of that day (or of a session
  of it), and of that week, among the best five.

    python -m benchmarks.summaries --data DIR

The JSON: ``machine``, and ``tiers``: ``recorded`` and ``rule``, each with ``sessions``, ``words`` (said),
``compression``, ``facts``, ``retention``, ``ceiling``, ``by_day``, ``by_week`` (``n`` and ``found``), ``seconds``.
"""

import argparse
import time
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import common, datasets, thinking
from benchmarks.quality import opened
from benchmarks.recorded_llm import NOTES
from benchmarks.thinking import ThinkingChoice
from slowcat_memory import transfer
from slowcat_memory.core.language.english.vocabulary import STOP_WORDS
from slowcat_memory.core.summaries.summary import current, items
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.time.periods import week_of
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.idle.jobs.summaries.job import SUMMARY_JOBS
from slowcat_memory.records import Memory

JOBS = tuple(SUMMARY_JOBS)
COVERED = 0.6  # of a fact's stems
BEST = 5


def main() -> None:
    options = _arguments()
    tiers = {
        "recorded": measure(options.data, recorded=True, vectors=not options.no_vectors),
        "rule": measure(options.data, recorded=False, vectors=not options.no_vectors),
    }
    common.write_json(options.json, {"machine": common.machine(), "tiers": tiers})
    names = ("sessions", "compression", "facts", "retention", "ceiling")
    rows = [
        (
            name,
            *(100 * tier[n] if isinstance(tier[n], float) else tier[n] for n in names),
            *(f"{100 * tier[by]['found']:.1f} (n {tier[by]['n']})" for by in ("by_day", "by_week")),
        )
        for name, tier in tiers.items()
    ]
    common.table("Summaries", ("tier", *names, "day in best 5", "week in best 5"), rows)


def measure(folder: Path, *, recorded: bool, vectors: bool) -> dict[str, Any]:
    """Sum everything up, and judge it.

    Args:
        folder: The data folder.
        recorded: With recorded answers; else by rule.
        vectors: Whether a model makes vectors.

    Returns:
        What the JSON says of a tier.
    """
    notes = datasets.lines(folder / NOTES)
    wanted = {line["conversation_id"] for line in notes}
    data, began = datasets.load(folder), time.perf_counter()
    sections: dict[str, Any] = {} if vectors else {"embedding": {"kind": "none"}}
    with common.scratch() as scratch:
        config = common.configuration(scratch, None, **sections)
        choice = ThinkingChoice(recorded=recorded, jobs=JOBS)
        with (
            thinking.thinking(choice, folder) as thinker,
            opened(config, None, thinker.llm) as (
                engine,
                _,
            ),
        ):
            for transcript in transfer.read(data.conversations):
                if transcript.conversation in wanted:
                    for session in transcript.sessions:
                        transfer.ingest(engine, datasets.scope_of(transcript.conversation), session)
            engine.store.flush(None)
            if recorded:
                thinker.think(engine)
            else:
                engine.think(JOBS)
            return _judge(engine, notes) | {"seconds": round(time.perf_counter() - began, 1)}


def _judge(engine: MemoryEngine, notes: list[dict[str, Any]]) -> dict[str, Any]:
    said, summed, kept, ceiling, facts = 0, 0, 0, 0, 0
    dates: dict[str, set[datetime]] = defaultdict(set)
    with engine.store.snapshot() as snapshot:
        summaries = _by_session(snapshot, notes)
        for line in notes:
            scope, memory = (
                datasets.scope_of(line["conversation_id"]),
                summaries[line["session_id"]],
            )
            turns = [snapshot.turn(turn) for turn in memory.sources]
            said += sum(len(turn.text.split()) for turn in turns if turn)
            summed += len(memory.text.split())
            dates[scope].add(memory.valid_from)
            told = _stems(f"{memory.text} {' '.join(items(memory, 'topics'))}")
            recorded = _stems(f"{line['summary']} {' '.join(line['topics'])}")
            names = _stems(" ".join({turn.speaker for turn in turns if turn}))
            for fact in line["facts"]:
                stems = _stems(fact["content"]) - names
                kept += len(stems & told) >= COVERED * len(stems)
                ceiling += len(stems & recorded) >= COVERED * len(stems)
                facts += 1
    return {
        "sessions": len(notes),
        "words": said,
        "compression": 1 - summed / said,
        "facts": facts,
        "retention": kept / facts,
        "ceiling": ceiling / facts,
        "by_day": _found(engine, dates, by_week=False),
        "by_week": _found(engine, dates, by_week=True),
    }


def _by_session(snapshot: Any, notes: list[dict[str, Any]]) -> dict[str, Memory]:
    """Find the summary of each session of the notes, by what the data calls its turns."""
    session_of = {turn: line["session_id"] for line in notes for turn in line["contexts"]}
    found: dict[str, Memory] = {}
    for scope in {datasets.scope_of(line["conversation_id"]) for line in notes}:
        for memory in current(snapshot.memories(scope, "summary/session/")):
            origins = (turn.origin for id in memory.sources if (turn := snapshot.turn(id)))
            named = (session_of[origin] for origin in origins if origin in session_of)
            found[next(named, "")] = memory
    return found


def _found(
    engine: MemoryEngine, dates: dict[str, set[datetime]], *, by_week: bool
) -> dict[str, Any]:
    hits = asked = 0
    for scope, days in dates.items():
        for at in sorted(days):
            text, now = f"What did we talk about on {at.day} {at:%B %Y}?", max(days)
            wanted = {f"summary/day/{at:%Y-%m-%d}"}
            if by_week:
                week = week_of(at, engine.zone)
                text, now = "What happened last week?", week.end + timedelta(days=2)
                wanted = {f"summary/week/{week.name}"}
            found = engine.search(text, scope, BEST, now=now + timedelta(days=1))
            ids = {hit.memory.id for hit in found.hits}
            of_day = {
                hit.memory.id
                for hit in found.hits
                if hit.memory.kind == "summary/session" and hit.memory.valid_from == at
            }
            hits += bool(ids & wanted) or (not by_week and bool(of_day))
            asked += 1
    return {"n": asked, "found": hits / asked}


_words = Tokenizer()


def _stems(text: str) -> set[str]:
    return {stem for stem in _words(text) if stem.isalpha() and stem not in STOP_WORDS}


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a data folder with notes")
    parser.add_argument("--no-vectors", action="store_true", help="words alone")
    return parser.parse_args()


if __name__ == "__main__":
    main()
