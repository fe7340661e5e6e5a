"""Fits the probability of a hit.

The six best hits of each question of the free data sets, and of the same questions asked of the next
conversation's memory, where nothing answers (see benchmarks.related). A hit is right when it holds a
gold turn; for user-assistant chats, when it is from a gold session, because a topic's other turns say
the same. A logistic regression of two measures, ``Hit.coverage`` and ``Hit.cosine``, makes the
coefficients of ``core/ranking/offering.py``: FULL of both, SMALL of both in stores of a few sessions
(see benchmarks.related), WORDS of the first, over recalls that had no vectors. Half of the questions
have no answer where they are asked, by construction: where fewer have, probabilities are too high.
LoCoMo is never fitted. How good the probability is there, and which floors and shares were tried, is in
docs/decisions/0018-when-nothing-is-remembered.md and 0035-what-is-offered.md.

    python -m benchmarks.calibration --data REALMEM --data MADIAL

The JSON: ``machine``, ``load``, ``fits`` (``full``, ``small`` and ``words``: ``coefficients`` by name, those
in ``used``, ``n`` hits, ``right`` as a share), ``fitted_on``.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict

from benchmarks import common, datasets, logistic, quality, related
from benchmarks.datasets import Dataset
from benchmarks.related import Asked
from slowcat_memory.core.ranking import offering
from slowcat_memory.core.ranking.offering import BEST, Calibration
from slowcat_memory.records import Hit

JUDGE = "LoCoMo"  # not free, so that it may judge but not teach
MOVED = 0.05  # of a coefficient, from which on the package's is no longer the same


def main() -> None:
    options = _arguments()
    load = [common.load_average()]
    every = [datasets.load(folder) for folder in datasets.find(options.data)]
    free = [data for data in every if data.name != JUDGE]
    if len({q.conversation for data in free for q in data.questions}) < 2:
        raise SystemExit("a fit wants two conversations at least: one to ask the other's questions")
    written = learn(free, options)
    _show_fits(written)
    written |= {"machine": common.machine(), "load": [*load, common.load_average()]}
    common.write_json(options.json, written)


def learn(free: Sequence[Dataset], options: argparse.Namespace) -> dict[str, Any]:
    """Ask the data sets' questions, with vectors and without, and fit.

    Args:
        free: The data sets.
        options: From the command line.

    Returns:
        ``fits``, ``fitted_on``.
    """
    full = ask_all(free, options)
    with common.scratch() as folder:
        config = common.configuration(folder, options.config, embedding={"kind": "none"})
        with quality.opened(config) as engine:
            words = related.ask(engine, free, options.limit)
    return {
        "fits": {
            **by_size(full),
            "words": fit(words, offering.WORDS, ("coverage",)),
        },
        "fitted_on": [data.name for data in free],
    }


def ask_all(free: Sequence[Dataset], options: argparse.Namespace) -> list[Asked]:
    """Ask data sets' questions with vectors, of whole memories and of small ones.

    Args:
        free: The data sets.
        options: From the command line.
    """
    asked: list[Asked] = []
    with common.scratch() as folder:
        config = common.configuration(folder, options.config)
        with quality.opened(config) as engine:
            asked += related.ask(engine, free, options.limit)
    for data in free:
        if len(data.rank) > len(data.lists):  # there are sessions to take some of
            with common.scratch() as folder:
                config = common.configuration(folder, options.config)
                with quality.opened(config) as engine:
                    asked += related.ask_small(engine, data)
    return asked


def fit(asked: Sequence[Asked], used: Calibration, names: Sequence[str]) -> dict[str, Any]:
    """Fit coefficients on questions that were asked.

    Args:
        asked: The questions; adversarial ones are left out.
        used: What the package has.
        names: The measures.

    Returns:
        As in the JSON.
    """
    measures, right = _rows(asked)
    usable = ~np.isnan(measures[:, : len(names)]).any(axis=1)
    found = logistic.fit(measures[usable, : len(names)], right[usable])
    return {
        "coefficients": dict(zip(("bias", *names), map(float, found), strict=True)),
        "used": {name: value for name, value in asdict(used).items() if name in ("bias", *names)},
        "n": int(usable.sum()),
        "right": float(right[usable].mean()),
    }


def by_size(asked: Sequence[Asked]) -> dict[str, Any]:
    """Fit stores of all sizes at once: what a cosine is worth goes with the size.

    Args:
        asked: Questions of large and of small memories; adversarial ones are left out.

    Returns:
        ``full`` and ``small``, as ``fit`` returns them: the same fit at the two ends.
    """
    measures, right = _rows(asked)
    size = np.array([offering.size_weight(one.memories) - 1 for one in asked for _ in _fitted(one)])
    usable = ~np.isnan(measures).any(axis=1)
    coverage, cosine = measures[usable].T
    features = np.stack([coverage, cosine, size[usable], cosine * size[usable]], axis=1)
    bias, words, near, shift, tilt = map(float, logistic.fit(features, right[usable]))
    ends = {"full": (bias, words, near), "small": (bias - shift, words, near - tilt)}
    package = {"full": offering.FULL, "small": offering.SMALL}
    return {
        name: {
            "coefficients": dict(zip(("bias", "coverage", "cosine"), end, strict=True)),
            "used": asdict(package[name]),
            "n": int(usable.sum()),
            "right": float(right[usable].mean()),
        }
        for name, end in ends.items()
    }


def moved(fitted: dict[str, Any]) -> bool:
    """Tell whether the package's coefficients are no longer those that come out.

    Args:
        fitted: From ``fit``.

    Returns:
        Whether one of them is.
    """
    found, used = fitted["coefficients"], fitted["used"]
    return any(abs(found[name] - used[name]) > MOVED * abs(found[name]) for name in found)


def _rows(asked: Sequence[Asked]) -> tuple[np.ndarray, np.ndarray]:
    """Lay out the best hits: coverage and cosine (NaN without), and whether right."""
    pairs = [pair for one in asked for pair in _fitted(one)]
    measures = np.array([(hit.coverage, hit.cosine) for hit, _ in pairs], float).reshape(-1, 2)
    return measures, np.array([right for _, right in pairs], float)


def _fitted(one: Asked) -> list[tuple[Hit, bool]]:
    """Return what a question gives to a fit: its best hits, and whether each is right."""
    if one.kind == "adversarial":
        return []
    return list(zip(one.found.hits, one.right, strict=True))[:BEST]


def _show_fits(written: dict[str, Any]) -> None:
    for name, fitted in written["fits"].items():
        pairs = ", ".join(f"{key}={value:.2f}" for key, value in fitted["coefficients"].items())
        verdict = "the package's have moved" if moved(fitted) else "as in the package"
        common.console.print(
            f"{name.upper()} = Calibration({pairs})  # {fitted['n']} hits, "
            f"{100 * fitted['right']:.1f} % right; {verdict}"
        )


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    quality.add_data(parser)
    parser.add_argument("--config", type=Path, help="a config.toml; its store's path is not used")
    parser.add_argument("--limit", type=int, default=0, help="only the first N conversations")
    return parser.parse_args()


if __name__ == "__main__":
    main()
