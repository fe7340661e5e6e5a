"""A query to the memories that answer it: one call on one worker thread, in stages.

Stages, each better than the one before: ``tail`` (words, over what was said since the last seal),
``lexical`` (words, over everything), ``full`` (words and vectors). After the lexical stage the
result so far is left where the waiting turn can take it, should the deadline pass while the query
is embedded. There is no hop between threads from stage to stage: one costs 32 us.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core import fuse
from slowcat_memory.core.fuse import FuseOptions
from slowcat_memory.core.rank import RankOptions, apply_priors
from slowcat_memory.core.text import fingerprint
from slowcat_memory.index import Candidates, Searcher
from slowcat_memory.index.searcher import Lexical
from slowcat_memory.records import Hit, Memory

Stage = Literal["full", "lexical", "tail", "none"]
Embed = Callable[[str], np.ndarray | None]
Fetch = Callable[[str, Sequence[str]], dict[str, Memory]]


class RecallOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a recall may cost, and what is good enough to offer.

    Attributes:
        deadline_ms: A turn waits no longer than this for its memories; past it, it takes the best
            stage that is done.
        warn_ms: A slower recall is logged as a warning.
        floor: Least relevance of an offered memory: the larger of its cosine and of the share of
            the query's weight in words that it holds. 0 offers anything.
        keep_share: A memory is offered if its score is at least this share of the best one's.
    """

    deadline_ms: float = 10.0
    warn_ms: float = 8.0
    floor: float = 0.30
    keep_share: float = 0.55


class Query(Struct, frozen=True, kw_only=True):
    """What is asked.

    Attributes:
        text: The user's words.
        scope: The namespace.
        now: The time of the question.
        k: How many hits at most.
        exclude: Ids of memories not to return.
        exclude_words: Fingerprints of texts not to return.
        floor: Least relevance.
        keep_share: Least share of the best hit's score.
        vector: The text's vector, when it was embedded ahead.
    """

    text: str
    scope: str
    now: datetime
    k: int
    exclude: frozenset[str] = frozenset()
    exclude_words: frozenset[str] = frozenset()
    floor: float = 0.0
    keep_share: float = 0.0
    vector: np.ndarray | None = None


class Recollection(Struct, frozen=True, kw_only=True):
    """What came to mind.

    Attributes:
        hits: Best first.
        stage: How far recall came.
        timings: Milliseconds by stage; "wait", once a turn took it, is all that the turn waited.
    """

    hits: list[Hit] = []
    stage: Stage = "none"
    timings: dict[str, float] = {}


class Progress:
    """Where a running recall leaves what it has so far. Written by one thread, read by another."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.lexical: Lexical | None = None
        self.abandoned = False  # set by the reader: do not go on, nobody waits


class Breaker:
    """An embedder that costs a turn its vectors at worst: it answers None instead of raising.

    Failures in a row, or answers so late that the recalls behind them were held up, open it: for a
    while it answers None at once. Then the next text is tried again.
    """

    FAILURES = 3
    OPEN = timedelta(seconds=60)
    LATE = timedelta(seconds=0.5)

    def __init__(
        self, embed: Embed, clock: Callable[[], datetime], on_failure: Callable[[str], None]
    ) -> None:
        """Start closed.

        Args:
            embed: Turns a query into a unit vector, or raises.
            clock: The time.
            on_failure: Told in a word what went wrong, each time.
        """
        self._embed, self._clock, self._on_failure = embed, clock, on_failure
        self._failures = 0
        self._failed: datetime | None = None  # when it failed last

    def __call__(self, text: str) -> np.ndarray | None:
        """Embed a query.

        Args:
            text: The query.

        Returns:
            Shape (dim,), or None.
        """
        began = self._clock()
        if self._failures >= self.FAILURES and self._failed and began < self._failed + self.OPEN:
            return None
        vector, problem = None, ""
        try:
            vector = self._embed(text)
        except Exception as error:  # whatever a model or an endpoint raises
            problem = type(error).__name__
        ended = self._clock()
        if not problem and ended - began < self.LATE:
            self._failures = 0
            return vector
        self._failures, self._failed = self._failures + 1, ended
        self._on_failure(problem or "late")
        return vector


class Recall:
    """Runs queries against one namespace's searcher."""

    def __init__(
        self,
        searcher: Searcher,
        fetch: Fetch,
        embed: Embed | None,
        fusing: FuseOptions,
        ranking: RankOptions,
    ) -> None:
        """Wire the parts.

        Args:
            searcher: The namespace's index.
            fetch: Returns memories by scope and ids, those that exist.
            embed: Turns a query into a unit vector or None, and never raises (see ``Breaker``);
                None without a model.
            fusing: How views become one score.
            ranking: The priors.
        """
        self._searcher, self._fetch, self._embed = searcher, fetch, embed
        self._fusing, self._ranking = fusing, ranking

    def run(self, query: Query, progress: Progress | None = None) -> Recollection:
        """Recall, all stages.

        Args:
            query: What is asked.
            progress: Where to leave the lexical stage.

        Returns:
            The hits; at stage "lexical" when there is no vector for the query.
        """
        watch, progress = _Stopwatch(), progress or Progress()
        if progress.abandoned:
            return Recollection()
        lexical = progress.lexical = self._searcher.lexical(query.text)
        watch.lap("lexical")
        vector = query.vector
        if vector is None and self._embed is not None and len(self._searcher.dense):
            vector = None if progress.abandoned else self._embed(query.text)
            watch.lap("embed")
        if progress.abandoned:
            return Recollection(timings=watch.laps)
        return self._finish(query, lexical, vector, watch)

    def settle(self, query: Query, progress: Progress) -> Recollection:
        """Take what a late recall has so far; called by the turn that waits for it.

        Args:
            query: What is asked.
            progress: Where ``run`` leaves its lexical stage.

        Returns:
            Stage "lexical", or "tail" when not even that was done.
        """
        watch = _Stopwatch()
        progress.abandoned = True
        if progress.lexical is not None:
            return self._finish(query, progress.lexical, None, watch)
        tail = self._searcher.lexical(query.text, sealed=False)
        watch.lap("lexical")
        return replace(self._finish(query, tail, None, watch), stage="tail")

    def _finish(
        self, query: Query, lexical: Lexical, vector: np.ndarray | None, watch: "_Stopwatch"
    ) -> Recollection:
        candidates = self._searcher.candidates(lexical, vector, query.exclude)
        watch.lap("dense")
        scores, views = self._score(candidates, query.now)
        order = self._select(candidates, scores, lexical, query)
        watch.lap("fuse")
        hits = self._hits(query, candidates, scores, views, order)
        watch.lap("fetch")
        stage: Stage = "full" if "dense" in candidates.views else "lexical"
        return Recollection(hits=hits, stage=stage, timings=watch.laps)

    def _score(self, found: Candidates, now: datetime) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        views = {name: fuse.normalise(name, raw) for name, raw in found.views.items()}
        scores = fuse.fuse(views, self._fusing)
        if self._fusing.smoothing and self._searcher.mean_words < self._fusing.smooth_below_words:
            scores = fuse.smooth(scores, found.before, found.after, self._fusing.smoothing)
        ranked = apply_priors(
            scores,
            at=found.at,
            importance=found.importance,
            pinned=found.pinned,
            agent=found.agent,
            now=now.timestamp(),
            options=self._ranking,
        )
        return ranked, views

    def _select(
        self, found: Candidates, scores: np.ndarray, lexical: Lexical, query: Query
    ) -> np.ndarray:
        """Order the candidates that are good enough, best first, with some to spare."""
        relevance = found.views["window"] / max(lexical.ceiling, 1e-9)
        if "dense" in found.views:
            relevance = np.fmax(relevance, found.views["dense"])  # NaN where there is no vector
        order = np.argsort(-scores, kind="stable")
        if query.floor > 0:
            order = order[(relevance[order] >= query.floor) | found.pinned[order]]
        if len(order) and query.keep_share > 0:
            order = order[scores[order] >= query.keep_share * scores[order[0]]]
        return order

    def _hits(
        self,
        query: Query,
        found: Candidates,
        scores: np.ndarray,
        views: dict[str, np.ndarray],
        order: np.ndarray,
    ) -> list[Hit]:
        places: list[int] = []
        memories: dict[str, Memory] = {}
        texts: list[str] = []
        kept: list[int] = []
        page = max(1, query.k) + 2
        most = 2 * page + len(query.exclude_words)
        for start in range(0, min(most, len(order)), page):
            wanted = order[start : min(start + page, most)].tolist()
            memories |= self._fetch(query.scope, [found.ids[n] for n in wanted])
            for n in wanted:
                memory = memories.get(found.ids[n])
                if memory is not None and not _heard(memory.text, query.exclude_words):
                    places.append(n)
                    texts.append(memory.text)
            kept = fuse.distinct(texts, self._fusing.duplicate, query.k)
            if len(kept) == query.k:
                break
        return [
            Hit(
                memory=memories[found.ids[n]],
                score=round(float(scores[n]), 4),
                views={name: round(float(values[n]), 4) for name, values in views.items()},
            )
            for n in (places[i] for i in kept)
        ]


def _heard(text: str, words: frozenset[str]) -> bool:
    return bool(words) and fingerprint(text) in words


class _Stopwatch:
    """Laps in milliseconds."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._from = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round((now - self._from) * 1e3, 4)
        self._from = now
