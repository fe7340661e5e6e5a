"""Fitting a logistic regression, and judging probabilities: ROC, reliability, Brier score.

scikit-learn loads only when something is fitted.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray
BINS = 10
POINTS = 101  # of a ROC, evenly over the share of false alarms


def fit(features: Array, labels: Array) -> Array:
    """Fit the probability of a label.

    Args:
        features: Shape (n, f).
        labels: 0 or 1, shape (n,).

    Returns:
        The constant and a coefficient for each feature, shape (f + 1,); all but unregularised.
    """
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1e6, max_iter=1000).fit(features, labels)
    return np.concatenate([model.intercept_, model.coef_[0]])


def predict(coefficients: Array, features: Array) -> Array:
    """Estimate the probability of label 1.

    Args:
        coefficients: From ``fit``, shape (f + 1,).
        features: Shape (n, f).

    Returns:
        Shape (n,).
    """
    return 1.0 / (1.0 + np.exp(-(coefficients[0] + features @ coefficients[1:])))


def roc(yes: Array, no: Array) -> dict[str, Any]:
    """Tell how well a score separates two kinds.

    Args:
        yes: Scores of those that should be high, shape (n,).
        no: Of those that should be low, shape (m,).

    Returns:
        ``auc``, the chance that one of the first scores higher than one of the second (a tie counts
        half); ``caught``, the share of the first at or above a threshold, at each share of false
        alarms 0, 0.01 … 1; and both ``n``.
    """
    levels = np.unique(np.concatenate([yes, no]))[::-1]
    caught = np.concatenate([[0.0], [np.mean(yes >= level) for level in levels]])
    alarms = np.concatenate([[0.0], [np.mean(no >= level) for level in levels]])
    area = float(np.sum(np.diff(alarms) * (caught[1:] + caught[:-1]) / 2))
    grid = np.linspace(0, 1, POINTS)
    # Of several thresholds with as many false alarms, the one that catches most.
    at = np.searchsorted(alarms, grid, side="right") - 1
    return {
        "auc": area,
        "n": [len(yes), len(no)],
        "caught": [round(float(share), 4) for share in caught[at]],
    }


def reliability(predicted: Array, true: Array) -> dict[str, Any]:
    """Compare probabilities with what was true.

    Args:
        predicted: Probabilities, shape (n,).
        true: 0 or 1, shape (n,).

    Returns:
        ``bins``, one for each tenth that holds any, with ``from``, ``n``, and the means ``predicted``
        and ``true``; ``brier``, the mean squared error; ``brier_of_share``, that of always saying
        the overall share; and ``error``, the mean distance of ``predicted`` and ``true`` over the
        bins, by size (expected calibration error).
    """
    which = np.minimum((predicted * BINS).astype(int), BINS - 1)
    bins = [
        {
            "from": number / BINS,
            "n": int(held.sum()),
            "predicted": float(predicted[held].mean()),
            "true": float(true[held].mean()),
        }
        for number in range(BINS)
        if (held := which == number).any()
    ]
    return {
        "bins": bins,
        "brier": float(np.mean((predicted - true) ** 2)),
        "brier_of_share": float(np.mean((true.mean() - true) ** 2)),
        "error": sum(b["n"] * abs(b["predicted"] - b["true"]) for b in bins) / len(predicted),
    }


def folds(groups: Sequence[str], most: int = 5) -> list[Array]:
    """Part rows so that no group is in two parts, of about the same size.

    Args:
        groups: A row's group, n of them.
        most: How many parts; as many as groups when these are fewer.

    Returns:
        For each part, which rows are in it, shape (n,).
    """
    names, sizes = np.unique(np.array(groups), return_counts=True)
    parts: list[list[str]] = [[] for _ in range(min(most, len(names)))]
    filled = [0] * len(parts)
    for name, size in sorted(zip(names, sizes, strict=True), key=lambda each: -each[1]):
        smallest = filled.index(min(filled))
        parts[smallest].append(name)
        filled[smallest] += size
    return [np.isin(np.array(groups), part) for part in parts]
