"""Which of a turn's candidates are worth offering, and whether any is.

A ranking for a search may be long, and its first ten matter; of a block each memory costs prompt
and may mislead. So a turn's candidates are weighed once more: what the nearest tokens and the
session say counts more, questions and the agent's words count less, and each further memory must
come nearer to the best one (measured in docs/decisions/0035-what-is-offered.md).
"""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from slowcat_memory.core.ranking.abstention import AnswerEvidence, answer_probability

Array = np.ndarray


class Weights(Struct, frozen=True):
    """Added to a score of 0 to 1: for the views' scores, without substance, for the agent's words."""

    tokens: float = 0.2
    session: float = 0.2
    empty: float = -0.2
    agent: float = -0.1


WEIGHTS = Weights()
ABOUT_TALK = Weights(empty=0.0, agent=0.0)  # for a turn about what was asked and answered
PLAIN = Weights(tokens=0.0, session=0.0, empty=0.0, agent=0.0)  # the order of a search
STEP = 0.05  # share of the best score that each further memory needs more


def offer_scores(
    scores: Array,
    views: Mapping[str, Array],
    substance: Array,
    agent: Array,
    weights: Weights = WEIGHTS,
) -> Array:
    """Return the scores by which a turn's memories are chosen, shape (n,) as all arguments.

    Args:
        scores: Of the ranking.
        views: Normalised scores by view, 0 to 1; a missing one adds nothing.
        substance: Share of each one's words that say something, 0 to 1.
        agent: Whether each is the agent's words.
    """
    made = scores + weights.empty * (1.0 - substance) + weights.agent * agent
    for name in ("tokens", "session"):
        if name in views:
            made = made + getattr(weights, name) * views[name]
    return made


def least_share(share: float, better: int) -> float:
    """Return the share of the best score that a memory needs beside so many better ones.

    ``share`` is what the second one needs at least; 0 offers everything.
    """
    return min(1.0, share + STEP * max(0, better - 1)) if share and better else share


def any_answers(
    evidence: AnswerEvidence | None,
    likeliest: float,
    *,
    asks: bool,
    asks_for_memory: bool,
    floor: float,
    unknown_below: float,
) -> bool:
    """Decide whether anything is offered: the one decision for a block and for its absence.

    A question for a memory is offered what there is exactly where it is not reported that nothing
    is remembered. Any other question is offered it for the same reason, and any other turn where
    the likeliest of the best memories reaches the floor.

    Args:
        evidence: Of what may be offered; None where the index was not searched completely.
        likeliest: Highest probability of the best memories.
        asks: Whether the turn asks.
        asks_for_memory: Whether it asks about the people here, so that an absence is reported.
        unknown_below: As in ``RecallOptions``; 0 leaves the decision to the floor.
    """
    if asks and unknown_below and evidence is not None:
        known = answer_probability(evidence) >= unknown_below
        if known or asks_for_memory:
            return known
    return likeliest >= floor
