"""Candidates to scores: views fused, priors added, the best of them scored by their tokens."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.feedback.votes import votes
from slowcat_memory.core.query.understand import ParsedQuery
from slowcat_memory.core.ranking import fusion
from slowcat_memory.core.ranking.calibration import probability
from slowcat_memory.core.ranking.entity_hop import LinkOptions, Links
from slowcat_memory.core.ranking.fusion import FuseOptions
from slowcat_memory.core.ranking.maxsim import maxsim
from slowcat_memory.core.ranking.priors import RankOptions, apply_priors
from slowcat_memory.core.ranking.time_overlap import closeness, overlap
from slowcat_memory.index import Candidates, Searcher
from slowcat_memory.records import Hit, Memory
from slowcat_memory.runtime.recall.query import Query

FetchTokens = Callable[[str, Sequence[str]], Sequence[np.ndarray | None]]
SOFTNESS = 0.5  # of the edges of a time that a query names, as a share of its length


class Scored(Struct, frozen=True):
    """Candidates, and what is thought of them.

    Attributes:
        found: The candidates, n of them.
        views: Normalised scores by view, each of shape (n,), 0 to 1.
        scores: All of it in one, shape (n,); comparable within one query.
        coverage: Share of the query's weight in words that the candidate holds, shape (n,).
        probability: That it answers, shape (n,).
        near: MaxSim of the nearest one's tokens with the query's; NaN where not all of the best
            have tokens: one without may be nearer.
        weigh: Adds the priors to fused scores of shape (n,).
    """

    found: Candidates
    views: dict[str, np.ndarray]
    scores: np.ndarray
    coverage: np.ndarray
    probability: np.ndarray
    weigh: Callable[[np.ndarray], np.ndarray]
    near: float = math.nan

    def hit(self, n: int, memory: Memory) -> Hit:
        """Make a hit of a candidate.

        Args:
            n: Its position.
            memory: Its record.

        Returns:
            The hit.
        """
        cosine = math.nan if self.found.cosine is None else float(self.found.cosine[n])
        return Hit(
            memory=memory,
            score=round(float(self.scores[n]), 4),
            probability=round(float(self.probability[n]), 4),
            coverage=round(float(self.coverage[n]), 4),
            cosine=None if math.isnan(cosine) else round(cosine, 4),
            views={name: round(float(values[n]), 4) for name, values in self.views.items()},
        )


class Scoring:
    """Scores the candidates of one namespace."""

    def __init__(
        self,
        searcher: Searcher,
        tokens: FetchTokens | None,
        fusing: FuseOptions,
        ranking: RankOptions,
        links: Links | None = None,
        linking: LinkOptions = LinkOptions(),
    ) -> None:
        """Wire the parts.

        Args:
            searcher: The namespace's index.
            tokens: Returns the vectors of memories' tokens; None without any.
            fusing: How views become one score.
            ranking: The priors.
            links: Which memories mention the same; None where nobody knows.
            linking: How far that leads.
        """
        self._links, self._linking = links, linking
        self._searcher, self._tokens = searcher, tokens
        self._fusing, self._ranking = fusing, ranking

    def first(self, found: Candidates, ask: ParsedQuery, ceiling: float, query: Query) -> Scored:
        """Score by everything but the tokens.

        Args:
            found: The candidates.
            ask: The query, understood.
            ceiling: What no score of the window view can exceed.
            query: What is asked.

        Returns:
            Their scores.
        """
        views = fusion.normalise(found.views, found.session)
        asked = votes(views.get("asked"), found.pinned)
        named = np.isin(found.speaker, self._searcher.speaker_numbers(ask.named))
        when = np.zeros(len(named))
        if ask.times:
            when = closeness(found.at, ask.times, SOFTNESS)
            when += overlap(found.about_from, found.about_until, ask.times)

        keyed = fusion.keyed(found.views.get("keys"))

        def weigh(scores: np.ndarray) -> np.ndarray:
            return apply_priors(
                scores,
                at=found.at,
                importance=found.importance,
                pinned=found.pinned,
                agent=found.agent,
                named=named,
                when=when,
                asked=asked,
                now=query.now.timestamp(),
                keyed=keyed,
                options=self._ranking,
            )

        coverage = found.views["window"] / max(ceiling, 1e-9)
        return Scored(
            found=found,
            views=views,
            scores=self._linked(weigh(self._fused(views, found)), found),
            coverage=coverage,
            probability=probability(coverage, found.cosine, len(self._searcher)),
            weigh=weigh,
        )

    def rerank(self, scored: Scored, tokens: np.ndarray, scope: str) -> Scored:
        """Score the best candidates by their tokens as well.

        Args:
            scored: Their scores so far.
            tokens: The query's tokens, shape (q, d).
            scope: The namespace.

        Returns:
            Their scores, the same where no tokens are known.
        """
        depth, ids = self._fusing.rerank, scored.found.ids
        if self._tokens is None or not depth or not ids or not self._fusing.tokens:
            return scored
        best = np.arange(len(ids))
        if len(ids) > depth:
            best = np.argpartition(-scored.scores, depth)[:depth]
        raw = np.full(len(ids), np.nan, np.float32)
        raw[best] = maxsim(tokens, self._tokens(scope, [ids[n] for n in best.tolist()]))
        if np.isnan(raw).all():
            return scored
        views = {**scored.views, "tokens": fusion.by_tokens(raw)}
        return replace(
            scored,
            views=views,
            scores=self._linked(scored.weigh(self._fused(views, scored.found)), scored.found),
            near=float(raw[best].max()),
        )

    def _linked(self, scores: np.ndarray, found: Candidates) -> np.ndarray:
        """Add what the best lead on to."""
        if self._links is None:
            return scores
        lifted = self._links.lift(found.ids, scores, self._linking)
        return scores if lifted is None else scores + self._linking.hop * lifted

    def _fused(self, views: dict[str, np.ndarray], found: Candidates) -> np.ndarray:
        keyed = fusion.keyed(found.views.get("keys"))
        options = self._fusing
        if self._searcher.mean_words >= options.smooth_below_words:
            return fusion.fuse(views, replace(options, keys=options.keys_long), keyed)
        scores = fusion.fuse(views, options, keyed)
        share = options.smoothing * (1 - keyed) ** 2
        return fusion.smooth(scores, found.before, found.after, share) if share else scores
