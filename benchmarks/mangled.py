"""Are names found that the recogniser mangled? Every question is asked as it is and as misheard.

The names and the rare words of each question (those that at most ``RARE`` turns of its conversation
hold) are mangled by a seeded mangler (``benchmarks.mangler``); what was said stays as it is. Each arm
answers both: with nothing against it, and by sounds. Clean questions must not lose by it.

    python -m benchmarks.mangled --data DIR --cache CACHE

The JSON: ``machine``, ``load``, and ``results``, one a data folder: ``data``, ``vectors``, ``n``,
``mangled`` (how many questions changed), and ``arms`` by name: ``clean`` and ``mangled`` R@10 as
shares, over all questions, and ``ms``, the median of an answer to a clean one.
"""

import argparse
import statistics
import time
from collections import Counter
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from benchmarks import common, datasets, quality, recall_plots
from benchmarks.datasets import ADVERSARIAL, Dataset, Question
from benchmarks.mangler import WORD, mangle
from benchmarks.scoring import evaluate
from benchmarks.telling import Origins, Rankings, dialogue_of
from slowcat_memory import transfer
from slowcat_memory.engine import MemoryEngine, retrieval_options
from slowcat_memory.runtime.recall.query import Query, Recollection
from slowcat_memory.runtime.recall.service import Retrieval

RARE, LETTERS = 5, 5  # turns that hold a rare word at most, and its letters at least
ARMS = {"nothing": False, "sounds": True}  # whether misheard names are searched by sound


def main() -> None:
    options = _arguments()
    load, results = [common.load_average()], []
    for folder in datasets.find(options.data):
        results.append(measure(datasets.load(folder), options))
        load.append(common.load_average())
        _show(results[-1])
    common.write_json(options.json, {"machine": common.machine(), "load": load, "results": results})
    if options.plot:
        recall_plots.mangled(results, options.plot)


def measure(data: Dataset, options: argparse.Namespace) -> dict[str, Any]:
    """Ask every question clean and mangled, in every arm.

    Args:
        data: The data set.
        options: From the command line.

    Returns:
        What the JSON says of a data folder.
    """
    asked = misheard(data, options.seed)
    arms: dict[str, dict[str, float]] = {}
    judged: list[Question] = []
    sections: dict[str, Any] = {"embedding": {"kind": "none"}} if options.no_vectors else {}
    with common.scratch() as folder:
        config = common.configuration(folder, **sections)
        with quality.opened(config, options.cache) as (engine, embedder):
            ways = retrieval_options(config)
            asking = {
                name: engine.wiring.retrieval_of(
                    replace(ways, ask=replace(ways.ask, sounds=sounds))
                )
                for name, sounds in ARMS.items()
            }
            both = _Both(asking, asked)
            quality.answer_all(engine, data, embedder, 20, options.limit, search=both)
    for name in ARMS:
        clean, mangled = both.runs[name]
        answered = quality.answered(data, clean) if options.limit else data
        judged = [q for q in answered.questions if q.evidence and q.category != ADVERSARIAL]
        arms[name] = {
            "clean": evaluate(answered, clean)["all"]["R@10"],
            "mangled": evaluate(answered, mangled)["all"]["R@10"],
            "ms": round(statistics.median(both.ms[name]), 2),
        }
    return {
        "data": data.name,
        "vectors": not options.no_vectors,
        "n": len(judged),
        "mangled": sum(asked[one.id] != one.text for one in judged),
        "arms": arms,
    }


def misheard(data: Dataset, seed: str) -> dict[str, str]:
    """Mangle every question.

    Args:
        data: The data set.
        seed: Of the mangler.

    Returns:
        The questions by id.
    """
    rare: dict[str, frozenset[str]] = {}
    for transcript in transfer.read(data.conversations, lambda *_: None):
        held: Counter[str] = Counter()
        for session in transcript.sessions:
            for said in session.utterances:
                held.update(set(WORD.findall(said.text.lower())))
        rare[transcript.conversation] = frozenset(
            word for word, turns in held.items() if turns <= RARE and len(word) >= LETTERS
        )
    return {one.id: mangle(one.text, rare[one.conversation], seed) for one in data.questions}


class _Both:
    """Asks all arms, each question as it is and as misheard."""

    def __init__(self, asking: dict[str, Retrieval], asked: dict[str, str]) -> None:
        self._asking, self._asked = asking, asked
        self.runs: dict[str, tuple[Rankings, Rankings]] = {name: ({}, {}) for name in asking}
        self.ms: dict[str, list[float]] = {name: [] for name in asking}
        self._origins = Origins()

    def __call__(
        self, engine: MemoryEngine, question: Question, scope: str, k: int, now: datetime | None
    ) -> Recollection:
        at = now or engine.clock()
        talk = dialogue_of(question, at)
        answer = Recollection()
        for name, asking in self._asking.items():
            for run, text in zip(
                self.runs[name], (question.text, self._asked[question.id]), strict=True
            ):
                began = time.perf_counter()
                query = Query(
                    text=text,
                    scope=scope,
                    now=at,
                    k=k,
                    floor=0.0,
                    keep_share=0.0,
                    dialogue=talk,
                )
                answer = asking.search(query)
                if run is self.runs[name][0]:
                    self.ms[name].append((time.perf_counter() - began) * 1e3)
                turns = [turn for hit in answer.hits for turn in hit.memory.sources]
                run[question.id] = self._origins.of(engine, turns)
        return answer


def _show(result: dict[str, Any]) -> None:
    rows = [
        (name, 100 * arm["clean"], 100 * arm["mangled"], arm["ms"])
        for name, arm in result["arms"].items()
    ]
    title = f"{result['data']}: R@10, {result['mangled']} of {result['n']} questions mangled"
    common.table(title, ("arm", "clean", "mangled", "ms"), rows)


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    quality.add_data(parser)
    parser.add_argument("--no-vectors", action="store_true", help="words only, no embedding model")
    parser.add_argument("--seed", default="1", help="of the mangler (default 1)")
    parser.add_argument("--limit", type=int, default=0, help="only the first N conversations")
    return parser.parse_args()


if __name__ == "__main__":
    main()
