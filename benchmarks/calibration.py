"""Does the probability of a hit mean something, and from which on should memories be offered?

*Fit* (free data only): the six best hits of each question of the data sets, and of the same questions
asked of the next conversation's memory, where nothing answers (see benchmarks.related). A hit is right
when it holds a gold turn; for user-assistant chats, when it is from a gold session, because a topic's
other turns say the same. A logistic regression of two measures, ``Hit.coverage`` and ``Hit.cosine``,
makes the coefficients of ``core/ranking/calibration.py``: FULL of both, SMALL of both in stores of a few
sessions (see benchmarks.related), WORDS of the first, over recalls that had no vectors. Half of the questions have no answer where they are asked, by construction: where fewer
have, probabilities are too high.

*Judge*: LoCoMo, which is never fitted, by the coefficients that the package has.

- *roc*: the likeliest of the six best hits, answerable questions against unrelated ones (the next
  conversation's), and against the data's own adversarial ones; over the fitted data sets by
  five-fold cross-validation, a conversation's questions all in one fold;
- *reliability*: how often the first hit holds gold, by its probability, over answerable and unrelated
  questions together ("asked"), and over the answerable alone;
- *offers*: what is put before the LLM by floor, by share of the best score, and in ways that recall
  does not go (see benchmarks.offers).

    python -m benchmarks.calibration --data DIR --cache CACHE

With LoCoMo alone, nothing is fitted and the package's coefficients are judged.

The JSON: ``machine``, ``load``, ``fits`` (``full``, ``small`` and ``words``: ``coefficients`` by name, those in
``used``, ``n`` hits, ``right`` as a share; empty when nothing was fitted), ``fitted_on``, ``cross`` (``folds``, ``roc``), and
``judged``, null without the data: ``data``, ``n`` by kind, ``roc``, ``reliability``, and ``offers``
(``floors``, ``shares``, ``each``, ``by_probability``: rows as ``Offers.at`` returns them).
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict

from benchmarks import common, datasets, logistic, quality, recall_plots, related
from benchmarks.datasets import Dataset
from benchmarks.offers import FLOORS, SHARES, Bar, Offers
from benchmarks.related import Asked, Kind
from slowcat_memory.core.ranking import calibration
from slowcat_memory.core.ranking.calibration import BEST, Calibration
from slowcat_memory.records import Hit
from slowcat_memory.runtime.recall.query import RecallOptions

JUDGE = "LoCoMo"  # not free, so that it may judge but not teach
MOVED = 0.05  # of a coefficient, from which on the package's is no longer the same
DEFAULTS = RecallOptions()
NOT_FITTED: dict[str, Any] = {"fits": {}, "fitted_on": [], "cross": {"folds": 0, "roc": None}}


def main() -> None:
    options = _arguments()
    load = [common.load_average()]
    every = [datasets.load(folder) for folder in datasets.find(options.data)]
    free = [data for data in every if data.name != JUDGE]
    judge = [data for data in every if data.name == JUDGE]
    if free and len({q.conversation for data in free for q in data.questions}) < 2:
        raise SystemExit("a fit wants two conversations at least: one to ask the other's questions")
    written: dict[str, Any] = {**NOT_FITTED, "judged": None}
    if free:
        written |= learn(free, options)
        _show_fits(written)
    if judge:
        written["judged"] = examine(judge[0], options)
        _show_judged(written["judged"])
    written |= {"machine": common.machine(), "load": [*load, common.load_average()]}
    common.write_json(options.json, written)
    if options.plot:
        recall_plots.calibration(written, options.plot)


# -------------------------------------------------------------------- fitting


def learn(free: Sequence[Dataset], options: argparse.Namespace) -> dict[str, Any]:
    """Ask the data sets' questions, with vectors and without, and fit.

    Args:
        free: The data sets.
        options: From the command line.

    Returns:
        ``fits``, ``fitted_on``, ``cross``.
    """
    with common.scratch() as folder:
        config = common.configuration(folder, options.config)
        with quality.opened(config, options.cache) as (engine, embedder):
            full = related.ask(engine, free, embedder, options.limit)
    small: list[Asked] = []
    for data in free:
        if len(data.rank) > len(data.lists):  # there are sessions to take some of
            with common.scratch() as folder:
                config = common.configuration(folder, options.config)
                with quality.opened(config, options.cache) as (engine, embedder):
                    small += related.ask_small(engine, data, embedder)
    with common.scratch() as folder:
        config = common.configuration(folder, options.config, embedding={"kind": "none"})
        with quality.opened(config) as (engine, embedder):
            words = related.ask(engine, free, embedder, options.limit)
    return {
        "fits": {
            **by_size(full + small),
            "words": fit(words, calibration.WORDS, ("coverage",)),
        },
        "fitted_on": [data.name for data in free],
        "cross": cross_validate(full),
    }


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
    size = np.array(
        [calibration.size_weight(one.memories) - 1 for one in asked for _ in _fitted(one)]
    )
    usable = ~np.isnan(measures).any(axis=1)
    coverage, cosine = measures[usable].T
    features = np.stack([coverage, cosine, size[usable], cosine * size[usable]], axis=1)
    bias, words, near, shift, tilt = map(float, logistic.fit(features, right[usable]))
    ends = {"full": (bias, words, near), "small": (bias - shift, words, near - tilt)}
    package = {"full": calibration.FULL, "small": calibration.SMALL}
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


def cross_validate(asked: Sequence[Asked]) -> dict[str, Any]:
    """Judge each conversation's questions by coefficients from the others.

    Args:
        asked: The questions.

    Returns:
        ``folds`` and ``roc`` of own against unrelated questions.
    """
    groups = [one.conversation for one in asked]
    best = np.zeros(len(asked))
    parts = logistic.folds(groups)
    if len(parts) < 2:
        return {"folds": len(parts), "roc": None}
    for held in parts:
        measures, right = _rows([one for one, out in zip(asked, held, strict=True) if not out])
        usable = ~np.isnan(measures).any(axis=1)
        found = logistic.fit(measures[usable], right[usable])
        for n in np.flatnonzero(held):
            rows, _ = _rows([asked[n]])
            best[n] = logistic.predict(found, np.nan_to_num(rows)).max(initial=0.0)
    own, other = (np.array([one.kind == kind for one in asked]) for kind in ("own", "unrelated"))
    return {"folds": len(parts), "roc": logistic.roc(best[own], best[other])}


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


# -------------------------------------------------------------------- judging


def examine(data: Dataset, options: argparse.Namespace) -> dict[str, Any]:
    """Judge what the package has on a data set that it never saw.

    Args:
        data: The data set.
        options: From the command line.

    Returns:
        ``judged`` of the JSON.
    """
    with common.scratch() as folder:
        config = common.configuration(folder, options.config)
        with quality.opened(config, options.cache) as (engine, embedder):
            asked = related.ask(engine, [data], embedder, options.limit)
            offers = Offers(
                asked, lambda one, found: engine.pack(found, one.at), config.pack.memories
            )
            tables = offer_tables(offers)
    best = {kind: _best(asked, kind) for kind in ("own", "unrelated", "adversarial")}
    kinds = [kind for kind in ("unrelated", "adversarial") if len(best[kind])]
    return {
        "data": data.name,
        "n": dict(Counter(one.kind for one in asked)),
        "roc": {kind: logistic.roc(best["own"], best[kind]) for kind in kinds},
        "reliability": {
            "asked": _reliability(asked, ("own", "unrelated")),
            "answerable": _reliability(asked, ("own",)),
        },
        "offers": tables,
    }


def offer_tables(offers: Offers) -> dict[str, list[dict[str, Any]]]:
    """Vary the floor at the default share, and the share at the default floor.

    Args:
        offers: The questions.

    Returns:
        Rows by what is varied, and how.
    """
    floor, share = DEFAULTS.floor, DEFAULTS.keep_share
    return {
        "floors": [offers.at(Bar(floor=each, share=share)) for each in FLOORS],
        "each": [offers.at(Bar(floor=each, who="each", share=share)) for each in FLOORS],
        "shares": [offers.at(Bar(floor=floor, share=each)) for each in SHARES],
        "by_probability": [
            offers.at(Bar(floor=floor, share=each, of="probability")) for each in SHARES
        ],
    }


def _best(asked: Sequence[Asked], kind: Kind) -> np.ndarray:
    likely = [[h.probability for h in one.found.hits] for one in asked if one.kind == kind]
    return np.array([calibration.best_of_top(np.array(each)) for each in likely])


def _reliability(asked: Sequence[Asked], kinds: Sequence[Kind]) -> dict[str, Any]:
    first = [one for one in asked if one.kind in kinds and one.found.hits]
    predicted = np.array([one.found.hits[0].probability for one in first])
    return logistic.reliability(predicted, np.array([one.right[0] for one in first], float))


# -------------------------------------------------------------------- output


def _show_fits(written: dict[str, Any]) -> None:
    for name, fitted in written["fits"].items():
        pairs = ", ".join(f"{key}={value:.2f}" for key, value in fitted["coefficients"].items())
        verdict = "the package's have moved" if moved(fitted) else "as in the package"
        common.console.print(
            f"{name.upper()} = Calibration({pairs})  # {fitted['n']} hits, "
            f"{100 * fitted['right']:.1f} % right; {verdict}"
        )
    cross = written["cross"]
    if cross["roc"]:
        common.console.print(
            f"cross-validated over {', '.join(written['fitted_on'])}, {cross['folds']} folds: "
            f"AUC own against unrelated {cross['roc']['auc']:.3f}"
        )


def _show_judged(judged: dict[str, Any]) -> None:
    for kind, curve in judged["roc"].items():
        common.console.print(f"{judged['data']}: AUC own against {kind} {curve['auc']:.3f}")
    for name, found in judged["reliability"].items():
        rows = [(f"{b['from']:.1f}", b["predicted"], b["true"], b["n"]) for b in found["bins"]]
        title = (
            f"first hit, {name}: Brier {found['brier']:.3f} (always the mean: "
            f"{found['brier_of_share']:.3f}), calibration error {found['error']:.3f}"
        )
        common.table(title, ("from", "predicted", "true", "n"), rows)
    for name, rows in judged["offers"].items():
        cells = [
            (
                f"{row['floor']:.2f} {row['who']}, {row['share']:.2f} of {row['of']}",
                *(100 * row[key] for key in ("hit", "recall")),
                row["tokens"],
                100 * row["recall_per_100_tokens"],
                *(100 * row[k]["nothing"] for k in ("unrelated", "adversarial") if k in row),
                *(row[k]["tokens"] for k in ("unrelated",) if k in row),
            )
            for row in rows
        ]
        columns = ("floor, share", "hit %", "recall %", "tokens", "recall % / 100 tokens")
        columns += tuple(f"nothing for {k} %" for k in ("unrelated", "adversarial") if k in rows[0])
        columns += ("tokens, unrelated",) if "unrelated" in rows[0] else ()
        common.table(f"offered: {name}", columns, cells)


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    quality.add_data(parser)
    parser.add_argument("--config", type=Path, help="a config.toml; its store's path is not used")
    parser.add_argument("--limit", type=int, default=0, help="only the first N conversations")
    return parser.parse_args()


if __name__ == "__main__":
    main()
