"""Does it help to judge the queries that were asked? Use is simulated, and asked again.

Of each conversation's questions a random half is *used*: asked, and what recall told of them judged
as the idle job would, with the gold evidence in the place of the LLM (``--noise`` turns a share of
its grades over). Then three groups are asked:

- *reworded*: the used ones again, a fifth of their words missing (the same sense, other words);
- *others*: the other half, which nobody judged: nothing may be lost there;
- *all* of both.

Arms: ``default``; ``judged`` adds the votes of ``core.ranking.priors``; ``random`` is the negative
control: those of a judge at random, as often well as the oracle. ``change`` is the difference to the
default in R@10, with the 95 % interval of a paired bootstrap over questions.

    python -m benchmarks.judged --data DIR --cache CACHE

The JSON: ``machine``, ``load``, and ``results``, one a data folder: ``data``, ``noise``, ``used`` (how
many queries), and ``groups``: by group and arm ``R@10``, ``change``, ``low``, ``high``, ``n``.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from benchmarks import common, datasets, quality
from benchmarks.datasets import ADVERSARIAL, Dataset, Question
from benchmarks.scoring import score
from benchmarks.telling import Origins, dialogue_of
from slowcat_memory.config import Config
from slowcat_memory.core.ranking.grades import ANSWERS, MISSES, MOST
from slowcat_memory.core.ranking.priors import votes as bounded
from slowcat_memory.engine import MemoryEngine, retrieval_options
from slowcat_memory.runtime.recall.query import Query, Recollection
from slowcat_memory.runtime.recall.service import Retrieval

DROPPED = 0.2  # of a question's words
OFFERED = 6  # memories that a block holds
JUDGED = MOST  # that the LLM is asked about
ROUNDS = 2000  # of the bootstrap
ARMS = ("default", "judged", "random")


class Seen(Struct, frozen=True, eq=False):
    """What recall made of a query.

    Attributes:
        documents: The candidates as the data calls them, n of them.
        scores: Shape (n,).
        views: Normalised scores by view, each of shape (n,).
        pinned: Bool, shape (n,).
        vector: The query's.
    """

    documents: list[str]
    scores: np.ndarray
    views: dict[str, np.ndarray]
    pinned: np.ndarray
    vector: np.ndarray


class Vote(Struct, frozen=True, eq=False):
    """One judgement: a query's vector, a document, and what was thought of it."""

    vector: np.ndarray
    document: str
    weight: float


class Using:
    """Asks each question as it is and reworded, and keeps what recall made of both."""

    def __init__(self, asking: Retrieval) -> None:
        """Keep nothing yet.

        Args:
            asking: Recalls.
        """
        self._asking, self._origins = asking, Origins()
        self.plain: dict[str, Seen] = {}
        self.reworded: dict[str, Seen] = {}

    def __call__(
        self, engine: MemoryEngine, question: Question, scope: str, k: int, now: datetime | None
    ) -> Recollection:
        """Ask; see ``benchmarks.telling.Search``."""
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
        found = self._ask(engine, query, question.id, self.plain)
        other = replace(query, text=reworded(question))
        self._ask(engine, other, question.id, self.reworded)
        return found

    def _ask(
        self, engine: MemoryEngine, query: Query, id_: str, into: dict[str, Seen]
    ) -> Recollection:
        found, encoded = self._asking.search(query), self._asking.encode(query)
        trace = found.trace
        if trace is None or encoded is None:
            return found
        best = trace.order[: 4 * (query.k or 0)]
        ids = [trace.candidates.ids[n] for n in best.tolist()]
        names = [self._origins.of(engine, [int(one.partition("/")[2])]) for one in ids]
        into[id_] = Seen(
            documents=[name[0] if name else "" for name in names],
            scores=trace.scores[best],
            views={name: values[best] for name, values in trace.ranked.views.items()},
            pinned=trace.candidates.pinned[best],
            vector=encoded.vector,
        )
        return found


def reworded(question: Question) -> str:
    """Leave out some of a question's words, always the same ones.

    Args:
        question: The question.

    Returns:
        What is left.
    """
    chance = np.random.default_rng([common.SEED, *question.id.encode()])
    words = question.text.split()
    kept = [word for word in words if chance.random() >= DROPPED]
    return " ".join(kept if len(kept) > 1 else words)


def judge(
    used: Iterable[Question], seen: dict[str, Seen], grade: Callable[[Question, str], bool]
) -> list[Vote]:
    """Judge what was told of queries, as the job ``rerank`` does.

    Args:
        used: The queries.
        seen: What recall made of them.
        grade: Tells whether a document answers.

    Returns:
        The votes.
    """
    votes = []
    for question in used:
        one = seen[question.id]
        for place, document in enumerate(one.documents[:JUDGED]):
            if grade(question, document):
                votes.append(Vote(one.vector, document, ANSWERS))
            elif place < OFFERED:
                votes.append(Vote(one.vector, document, MISSES))
    return votes


def swayed(seen: Seen, votes: Sequence[Vote], same: float, weight: float) -> np.ndarray:
    """Score a query's candidates with the votes.

    Args:
        seen: What recall made of the query.
        votes: Judgements, of the same conversation.
        same: ``index.same``.
        weight: ``rank.asked``.

    Returns:
        Shape (n,).
    """
    if not votes:
        return seen.scores
    place = {document: n for n, document in enumerate(seen.documents)}
    where = np.array([place.get(vote.document, -1) for vote in votes])
    cosines = np.stack([vote.vector for vote in votes]) @ seen.vector
    said = np.array([vote.weight for vote in votes]) * np.fmax(cosines - same, 0) / (1 - same)
    about = where >= 0
    summed = np.bincount(where[about], weights=said[about], minlength=len(seen.documents))
    return seen.scores + weight * bounded(summed, seen.pinned)


def main() -> None:
    options = _arguments()
    load, results = [common.load_average()], []
    for folder in datasets.find(options.data):
        results.append(measure(datasets.load(folder), options))
        load.append(common.load_average())
        _show(results[-1])
    written = {"machine": common.machine(), "load": load, "results": results}
    common.write_json(options.json, written)


def measure(data: Dataset, options: argparse.Namespace) -> dict[str, Any]:
    """Use a memory, judge, and ask again.

    Args:
        data: The data set.
        options: From the command line.

    Returns:
        What the JSON says of a data folder.
    """
    with common.scratch() as folder:
        config = common.configuration(folder, options.config)
        with quality.opened(config, options.cache) as (engine, embedder):
            using = Using(engine.wiring.retrieval_of(retrieval_options(config)))
            quality.answer_all(engine, data, embedder, 50, options.limit, search=using)
    return simulate(data, using, options.noise, config)


def simulate(
    data: Dataset, using: Using, noise: float, config: Config, *, seed: int = common.SEED
) -> dict[str, Any]:
    """Judge a random half, and score both halves in every arm.

    Args:
        data: The data set.
        using: What recall made of its questions.
        noise: Share of the oracle's grades that are turned over.
        config: The knobs.
        seed: Of halves, noise and dice.

    Returns:
        What the JSON says of a data folder.
    """
    chance = np.random.default_rng(seed)
    same, weight = config.index.same, config.rank.asked
    chats: dict[str, list[Question]] = defaultdict(list)
    for question in data.questions:
        known = question.id in using.plain and question.id in using.reworded
        if known and question.evidence and question.category != ADVERSARIAL:
            chats[question.conversation].append(question)
    half = {q.id for each in chats.values() for q in each if chance.random() < 0.5}
    used = {name: [q for q in each if q.id in half] for name, each in chats.items()}
    share = _share_of_good(used, using.plain)

    def oracle(question: Question, document: str) -> bool:
        return (document in question.evidence) != (chance.random() < noise)

    def dice(_: Question, __: str) -> bool:
        return bool(chance.random() < share)

    votes = {name: judge(each, using.plain, oracle) for name, each in used.items()}
    false = {name: judge(each, using.plain, dice) for name, each in used.items()}
    rows: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, each in chats.items():
        for question in each:
            group = "reworded" if question.id in half else "others"
            seen = (using.reworded if question.id in half else using.plain)[question.id]
            scores = {
                "default": seen.scores,
                "judged": swayed(seen, votes[name], same, weight),
                "random": swayed(seen, false[name], same, weight),
            }
            for arm, values in scores.items():
                found = _recall(question, seen, values, data)
                for into in (group, "all"):
                    rows[into][arm].append(found)
    return {
        "data": data.name,
        "noise": noise,
        "used": len(half),
        "conversations": len(chats),
        "groups": {group: _arms(of_group) for group, of_group in rows.items()},
    }


def _share_of_good(used: dict[str, list[Question]], seen: dict[str, Seen]) -> float:
    told = [
        document in q.evidence
        for each in used.values()
        for q in each
        for document in seen[q.id].documents[:JUDGED]
    ]
    return float(np.mean(told)) if told else 0.0


def _recall(question: Question, seen: Seen, scores: np.ndarray, data: Dataset) -> float:
    order = np.argsort(-scores, kind="stable").tolist()
    ranking = [seen.documents[n] for n in order if seen.documents[n]]
    told = score(question, ranking, data, "turn")
    return told["R@10"] if told else 0.0


def _arms(values: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    told = {}
    for arm in ARMS:
        own = np.array(values[arm])
        beside = np.array(values["default"])
        low, high = _interval(own - beside)
        change = float((own - beside).mean())
        told[arm] = {
            "R@10": float(own.mean()),
            "change": change,
            "low": low,
            "high": high,
            "n": len(own),
        }
    return told


def _interval(difference: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of a mean, by resampling questions."""
    chance = np.random.default_rng(common.SEED)
    picked = chance.integers(0, len(difference), (ROUNDS, len(difference)))
    low, high = np.percentile(difference[picked].mean(axis=1), (2.5, 97.5))
    return float(low), float(high)


def _show(result: dict[str, Any]) -> None:
    for group, arms in result["groups"].items():
        rows = [
            (
                arm,
                100 * told["R@10"],
                f"{100 * told['change']:+.1f} [{100 * told['low']:+.1f}, {100 * told['high']:+.1f}]",
                told["n"],
            )
            for arm, told in arms.items()
        ]
        common.table(f"{result['data']}: {group}", ("arm", "R@10", "change", "n"), rows)
    common.console.print(f"{result['conversations']} conversations, noise {result['noise']}")


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    quality.add_data(parser)
    parser.add_argument("--config", type=Path, help="a config.toml; its store's path is not used")
    parser.add_argument("--limit", type=int, default=0, help="only the first N conversations")
    parser.add_argument("--noise", type=float, default=0.0, help="share of grades turned over")
    return parser.parse_args()


if __name__ == "__main__":
    main()
