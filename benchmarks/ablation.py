"""What is each part of recall worth? Every question is asked once for each arm, over one memory.

An arm is the default configuration with one part taken out, put in, or alone. The memory is told and
embedded once (see benchmarks.quality), so arms differ by how they ask and by nothing else. ``change``
is the difference to the default on the data set's own main figure, with the 95 % interval of a paired
bootstrap over questions: an interval that holds 0 says that nothing was shown.

Main figures: R@10 at turn level; for user-assistant chats (sessions as gold) Hit@10 at session level.

    python -m benchmarks.ablation --data DIR --cache CACHE

The JSON: ``machine``, ``load``, and ``results``, one a data folder: ``data``, ``main``, ``n``, and
``arms`` by name: the figures as shares, ``change``, ``low``, ``high``.
"""

import argparse
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from benchmarks import common, datasets, quality, recall_plots
from benchmarks.datasets import ADVERSARIAL, Dataset, Question
from benchmarks.scoring import Level, evaluate, score
from benchmarks.telling import Origins, Rankings, dialogue_of
from slowcat_memory.engine import MemoryEngine, retrieval_options
from slowcat_memory.runtime.recall.query import Query, Recollection
from slowcat_memory.runtime.recall.service import Retrieval, RetrievalOptions

DEFAULT = "default"
ROUNDS = 2000  # of the bootstrap
MAIN: dict[str, tuple[Level, str]] = {"RealMem": ("session", "Hit@10")}
SHOWN: tuple[tuple[str, Level, str, str], ...] = (
    ("R@10", "turn", "all", "R@10"),
    ("R@300w", "turn", "all", "R@300w"),
    ("MRR", "turn", "all", "MRR"),
    ("low overlap R@10", "turn", "low overlap", "R@10"),
    ("multi-hop R@10", "turn", "multi-hop", "R@10"),
    ("session Hit@5", "session", "all", "Hit@5"),
    ("session Hit@10", "session", "all", "Hit@10"),
)


def _fuse(**changes: Any) -> Callable[[RetrievalOptions], RetrievalOptions]:
    return lambda o: replace(o, fuse=replace(o.fuse, **changes))


def _rank(**changes: Any) -> Callable[[RetrievalOptions], RetrievalOptions]:
    return lambda o: replace(o, rank=replace(o.rank, **changes))


def _ask(**changes: Any) -> Callable[[RetrievalOptions], RetrievalOptions]:
    return lambda o: replace(o, ask=replace(o.ask, **changes))


def _alone(**changes: Any) -> Callable[[RetrievalOptions], RetrievalOptions]:
    """One view alone: no other view, no prior, nothing read out of the query."""

    def arm(options: RetrievalOptions) -> RetrievalOptions:
        views = {"dense": 0.0, "tokens": 0.0, "window": 0.0, "turn": 0.0, "session": 0.0}
        return replace(
            options,
            fuse=replace(options.fuse, **{**views, **changes}),
            rank=replace(
                options.rank, importance=0.0, recency=0.0, pinned=0.0, named=0.0, when=0.0
            ),
            ask=replace(options.ask, names=False, times=False, follow_up=False, dialogue=0.0),
        )

    return arm


ARMS: dict[str, Callable[[RetrievalOptions], RetrievalOptions]] = {
    DEFAULT: lambda options: options,
    "without vectors (dense)": _fuse(dense=0.0),
    "without MaxSim": _fuse(rerank=0),
    "without window": _fuse(window=0.0),
    "without turn": _fuse(turn=0.0),
    "without session": _fuse(session=0.0),
    "without speaker's own words": _rank(named=0.0),
    "names left in the vector": _ask(names=False),
    "without times": _ask(times=False),
    "without recency": _rank(recency=0.0),
    "without the dialogue's vector": _ask(dialogue=0.0),
    "without follow-up words": _ask(follow_up=False),
    "without any dialogue": _ask(dialogue=0.0, follow_up=False),
    "smoothing 0.1": _fuse(smoothing=0.1),
    "MaxSim of 50": _fuse(rerank=50),
    "MaxSim of 100": _fuse(rerank=100),
    "dense weight doubled": _fuse(dense=0.48),
    "window weight doubled": _fuse(window=0.42),
    "turn alone (BM25)": _alone(turn=1.0, rerank=0),
    "window alone (BM25)": _alone(window=1.0, rerank=0),
    "dense alone": _alone(dense=1.0, rerank=0),
    "MaxSim alone, of 100": _alone(dense=1e-6, tokens=1.0, rerank=100),
    "window (BM25) and vectors": _alone(dense=0.5, window=0.5, rerank=0),
}


def main() -> None:
    options = _arguments()
    arms = {name: ARMS[name] for name in ARMS if not options.arms or name in options.arms}
    arms = {DEFAULT: ARMS[DEFAULT], **arms}
    load, results = [common.load_average()], []
    for folder in datasets.find(options.data):
        results.append(measure(datasets.load(folder), arms, options))
        load.append(common.load_average())
        _show(results[-1])
    common.write_json(options.json, {"machine": common.machine(), "load": load, "results": results})
    if options.plot:
        recall_plots.ablation(results, options.plot)


def measure(
    data: Dataset,
    arms: dict[str, Callable[[RetrievalOptions], RetrievalOptions]],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Ask every question in every arm.

    Args:
        data: The data set.
        arms: How each arm changes the default.
        options: From the command line.

    Returns:
        What the JSON says of a data folder.
    """
    with common.scratch() as folder:
        config = common.configuration(folder, options.config)
        with quality.opened(config, options.cache) as (engine, embedder):
            asking = {
                name: engine.wiring.retrieval_of(arm(retrieval_options(config)))
                for name, arm in arms.items()
            }
            searched = Arms(asking)
            quality.answer_all(engine, data, embedder, options.k, options.limit, search=searched)
    runs = searched.runs
    judged = quality.answered(data, runs[DEFAULT]) if options.limit else data
    return _judge(judged, runs)


class Arms:
    """Asks all arms; the default's answer is the one that goes on."""

    def __init__(self, asking: dict[str, Retrieval]) -> None:
        """Take the arms, the default among them."""
        self._asking = asking
        self.runs: dict[str, Rankings] = {name: {} for name in asking}
        self._origins = Origins()

    def __call__(
        self, engine: MemoryEngine, question: Question, scope: str, k: int, now: datetime | None
    ) -> Recollection:
        """Ask one question in every arm."""
        at = now or engine.clock()
        query = Query(
            text=question.text,
            scope=scope,
            now=at,
            k=k,
            floor=0.0,
            keep_share=0.0,
            dialogue=dialogue_of(question, at),
        )
        answers = {name: asking.search(query) for name, asking in self._asking.items()}
        for name, answer in answers.items():
            turns = [turn for hit in answer.hits for turn in hit.memory.sources]
            self.runs[name][question.id] = self._origins.of(engine, turns)
        return answers[DEFAULT]


def _judge(data: Dataset, runs: dict[str, Rankings]) -> dict[str, Any]:
    level, metric = MAIN.get(data.name, ("turn", "R@10"))
    levels = quality.levels_of(data, ["turn", "session"])
    own = {name: _single(data, run, level, metric) for name, run in runs.items()}
    arms: dict[str, dict[str, float]] = {}
    for name, run in runs.items():
        scores = {level_: evaluate(data, run, level_) for level_ in levels}
        arms[name] = {
            label: scores[level_][group][metric_]
            for label, level_, group, metric_ in SHOWN
            if group in scores.get(level_, {})
        }
        difference = own[name] - own[DEFAULT]
        low, high = interval(difference)
        arms[name] |= {"change": float(difference.mean()), "low": low, "high": high}
    return {
        "data": data.name,
        "main": f"{level} {metric}",
        "n": len(own[DEFAULT]),
        "arms": arms,
    }


def _single(data: Dataset, run: Rankings, level: Level, metric: str) -> np.ndarray:
    scores = (
        score(question, run.get(question.id, ()), data, level)
        for question in data.questions
        if question.category != ADVERSARIAL
    )
    return np.array([one[metric] for one in scores if one is not None])


def interval(difference: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of a mean, by resampling questions."""
    chance = np.random.default_rng(common.SEED)
    picked = chance.integers(0, len(difference), (ROUNDS, len(difference)))
    low, high = np.percentile(difference[picked].mean(axis=1), (2.5, 97.5))
    return float(low), float(high)


def _show(result: dict[str, Any]) -> None:
    labels = [label for label, *_ in SHOWN if label in result["arms"][DEFAULT]]
    rows = [
        (
            name,
            *(100 * arm[label] for label in labels),
            f"{100 * arm['change']:+.1f} [{100 * arm['low']:+.1f}, {100 * arm['high']:+.1f}]",
        )
        for name, arm in result["arms"].items()
    ]
    title = f"{result['data']} (n {result['n']}); change of {result['main']}"
    common.table(title, ("arm", *labels, "change"), rows)


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    quality.add_data(parser)
    parser.add_argument("--arms", nargs="*", choices=sorted(ARMS), help="only these")
    parser.add_argument("--k", type=int, default=50, help="documents a question (default 50)")
    parser.add_argument("--config", type=Path, help="a config.toml; its store's path is not used")
    parser.add_argument("--limit", type=int, default=0, help="only the first N conversations")
    return parser.parse_args()


if __name__ == "__main__":
    main()
