"""Ranking by the compiled library, with the definition where there is none."""

from collections.abc import Sequence
from ctypes import addressof, c_double
from itertools import chain
from typing import Any

import numpy as np
from msgspec.structs import asdict, astuple, replace

from slowcat_memory.core.ranking.calibration import WORDS, for_store_size
from slowcat_memory.core.ranking.frame import Array, Frame, Question
from slowcat_memory.core.ranking.fusion import UNRELATED_KEY, UNRELATED_TOKENS, FuseOptions
from slowcat_memory.core.ranking.priors import LEAST_SCALE, MOST_SCALE, RankOptions
from slowcat_memory.core.ranking.rank import SOFTNESS, NumpyRanker, Scores
from slowcat_memory.core.ranking.selection import Weights
from slowcat_memory.kernels import ranking as kernel
from slowcat_memory.kernels.ranking import VIEWS, Result


class Ranker(NumpyRanker):
    """Both steps, one call of the compiled library each."""

    def __init__(self, fuse: FuseOptions, rank: RankOptions) -> None:
        super().__init__(fuse, rank)
        known = asdict(fuse) | asdict(rank)
        constants = {
            "softness": SOFTNESS,
            "least_scale": LEAST_SCALE,
            "most_scale": MOST_SCALE,
            "unrelated_key": UNRELATED_KEY,
            "unrelated_tokens": UNRELATED_TOKENS,
        }
        names = [field[0] for field in kernel.Weights._fields_]
        self._weights = kernel.Weights(*((known | constants)[name] for name in names))

    def score(self, frame: Frame, question: Question, *, every: bool = False) -> Scores:
        """Score as the definition does."""
        made = kernel.score(frame.block, self._weights, _asked(frame, question, every=every))
        if made is None:
            return super().score(frame, question, every=every)
        views = {name: made.rows[row] for name, row in VIEWS.items() if name in frame.views}
        return Scores(
            views=views | {"session": made.rows[Result.OF_SESSION]},
            scores=made.rows[Result.SCORE],
            coverage=made.rows[Result.COVERAGE],
            probability=made.rows[Result.PROBABILITY],
            priors=made.rows[Result.PRIOR],
            order=made.order,
            compiled=made,
        )

    def rank(
        self,
        frame: Frame,
        question: Question,
        scored: Scores,
        similarity: Array | None,
        weights: Weights,
    ) -> Scores:
        """Rank as the definition does."""
        made = None
        if scored.compiled is not None:
            offer = np.array(astuple(weights))
            made = kernel.rank(frame.block, self._weights, scored.compiled, similarity, offer)
        if made is None:
            return super().rank(frame, question, scored, similarity, weights)
        tokens, scores, order = made
        views = scored.views if tokens is None else {**scored.views, "tokens": tokens}
        return replace(scored, views=views, scores=scores, order=order)


def _asked(frame: Frame, question: Question, *, every: bool) -> kernel.Asked:
    fit = for_store_size(question.memories)
    spans = [(one.start.timestamp(), one.end.timestamp()) for one in question.times]
    speakers, times = _doubles(question.speakers), _doubles([*chain.from_iterable(spans)])
    asked = kernel.Asked(
        question.now,
        question.ceiling,
        WORDS.bias,
        WORDS.coverage,
        fit.bias,
        fit.coverage,
        fit.cosine,
        sum(1 << VIEWS[view] for view in frame.views),
        question.long_turns,
        every,
        len(question.speakers),
        len(spans),
        speakers and addressof(speakers),
        times and addressof(times),
    )
    asked.arrays = speakers, times  # kept as long as it is
    return asked


def _doubles(values: Sequence[float]) -> Any:
    return (c_double * len(values))(*values) if values else None
