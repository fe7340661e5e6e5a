"""Fitting a logistic regression, and judging what it separates.

scikit-learn loads only when something is fitted.
"""

import numpy as np

Array = np.ndarray


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


def auc(yes: Array, no: Array) -> float:
    """Tell how well a score separates two kinds.

    Args:
        yes: Scores of those that should be high, shape (n,).
        no: Of those that should be low, shape (m,).

    Returns:
        The area under the ROC: the chance that one of the first scores higher than one of the
        second (a tie counts half).
    """
    levels = np.unique(np.concatenate([yes, no]))[::-1]
    caught = np.concatenate([[0.0], [np.mean(yes >= level) for level in levels]])
    alarms = np.concatenate([[0.0], [np.mean(no >= level) for level in levels]])
    return float(np.sum(np.diff(alarms) * (caught[1:] + caught[:-1]) / 2))
