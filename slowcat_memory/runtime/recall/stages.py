"""A query to the memories that answer it: one call on one worker thread, in stages.

Stages, each better than the one before: ``tail`` (words, over what was said since the last seal),
``lexical`` (words, over everything), ``full`` (words and vectors). After the lexical stage the
result so far is left where the waiting turn can take it, should the deadline pass while the query
is embedded; and what is out of time is settled without reading the store first. There is no hop
between threads from stage to stage: one costs 32 us.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.memory.validity import holds
from slowcat_memory.core.query.follow_up import Said
from slowcat_memory.core.query.understand import Ask
from slowcat_memory.core.ranking import calibration, fusion
from slowcat_memory.core.ranking.abstention import Signs, names_in, probability
from slowcat_memory.core.ranking.entity_hop import LinkOptions, Links
from slowcat_memory.core.ranking.fusion import FuseOptions
from slowcat_memory.core.ranking.priors import RankOptions
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.index import Lexical, Searcher
from slowcat_memory.providers import Encoded
from slowcat_memory.records import Hit, Memory
from slowcat_memory.runtime.namespaces.embedding import Embed
from slowcat_memory.runtime.recall.query import Query, Recollection, Stage
from slowcat_memory.runtime.recall.scoring import FetchTokens, Scored, Scoring
from slowcat_memory.runtime.recall.weighed import DUPLICATE, GONE, HEARD, OVER, SHARE, Weighed

Fetch = Callable[[str, Sequence[str]], dict[str, Memory]]
TOLD = 20  # memories that are too weak, of which the ledger may tell
Understand = Callable[[Query, Searcher], Ask]


class Progress:
    """Where a running recall leaves what it has so far. Written by one thread, read by another."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.lexical: Lexical | None = None
        self.ask: Ask | None = None  # as it was understood
        self.encoded: Encoded | None = None  # once it was embedded
        self.done: Recollection | None = None  # all of it
        self.settled: Recollection | None = None  # what a late turn can have without the store
        self.abandoned = False  # set by the reader: do not go on, nobody waits


class Recall:
    """Runs queries against one namespace's searcher."""

    def __init__(
        self,
        searcher: Searcher,
        fetch: Fetch,
        understand: Understand,
        embed: Embed | None,
        tokens: FetchTokens | None,
        fusing: FuseOptions,
        ranking: RankOptions,
        dialogue: float = 0.0,
        recent: Fetch | None = None,
        links: Links | None = None,
        linking: LinkOptions = LinkOptions(),
    ) -> None:
        """Wire the parts.

        Args:
            searcher: The namespace's index.
            fetch: Returns memories by scope and ids, those that exist.
            understand: Reads a query, given what is known in the namespace.
            embed: Turns a query into a unit vector, with or without its tokens, or None, and
                never raises (see ``Breaker``); None without a model.
            tokens: Returns the vectors of memories' tokens by scope and ids; None without any.
            fusing: How views become one score.
            ranking: The priors.
            dialogue: How much the last turns turn a query's vector their way.
            recent: As ``fetch``, of those alone that are at hand; None when all are.
            links: As in ``Scoring``.
            linking: As in ``Scoring``.
        """
        self._searcher, self._fetch, self._understand = searcher, fetch, understand
        self._recent = recent or fetch
        self._embed, self._dialogue = embed, dialogue
        self._scoring = Scoring(searcher, tokens, fusing, ranking, links, linking)
        self._duplicate = fusing.duplicate

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
        ask = progress.ask = self._understand(query, self._searcher)
        lexical = progress.lexical = self._searcher.lexical(ask.words, also=ask.also)
        watch.lap("lexical")
        encoded = None if query.vector is None else Encoded.of(query.vector)
        if encoded is None and self._embed is not None and len(self._searcher.dense):
            encoded = None if progress.abandoned else self.encode(ask)
            progress.encoded = encoded
            watch.lap("embed")
        if progress.abandoned:
            return Recollection(timings=watch.laps)
        if encoded is not None and not encoded.vector.any():
            encoded = None  # it points nowhere: words say more
        return self._finish(query, ask, lexical, encoded, watch)

    def encode(self, ask: Ask) -> Encoded | None:
        """Embed a query.

        Args:
            ask: The query, understood.

        Returns:
            Its vector, and its tokens where they are told; None without a model.
        """
        value = self._embed(ask.meaning) if self._embed else None
        return None if value is None else Encoded.of(value)

    def settle(self, query: Query, progress: Progress) -> Recollection:
        """Take what a late recall has so far, for a turn that waits for it.

        What the latest memories answer, whose texts are at hand, is left in ``progress.settled``
        before the store is read, which may block.

        Args:
            query: What is asked.
            progress: Where ``run`` leaves its lexical stage.

        Returns:
            Stage "lexical", or "tail" when not even that was done.
        """
        watch = _Stopwatch()
        progress.abandoned = True
        ask, lexical = self._understand(query, self._searcher), progress.lexical
        stage: Stage = "lexical" if lexical is not None else "tail"
        lexical = lexical or self._searcher.lexical(ask.words, also=ask.also, sealed=False)
        watch.lap("lexical")
        found = self._searcher.candidates(lexical, None, query.exclude)
        scored = self._scoring.first(found, ask, lexical.ceiling, query)
        at_hand = self._hits(query, ask, _order(scored, query), self._recent)
        watch.lap("fetch")
        progress.settled = Recollection(
            hits=at_hand, stage="tail", timings=watch.laps, words=lexical.weights
        )
        weighed = _order(scored, query)
        hits = self._hits(query, ask, weighed, self._fetch)
        # Of the tail alone nobody can tell that nothing answers: what was sealed was not looked at.
        signs = self._signs(ask, scored) if stage == "lexical" else None
        return replace(
            progress.settled,
            hits=hits,
            stage=stage,
            weighed=weighed,
            signs=signs,
            names_speaker=bool(ask.named),
        )

    def _turned(self, vector: np.ndarray, query: Query) -> np.ndarray:
        """Turn a query's vector towards what was just talked about, as far as that has vectors."""
        last = [self._said(said) for said in query.dialogue[-2:]]
        found = [said for said in last if said is not None]
        if not found:
            return vector
        turned = vector + self._dialogue * np.mean(found, axis=0)
        return turned / max(float(np.linalg.norm(turned)), 1e-9)

    def _said(self, said: Said) -> np.ndarray | None:
        """Look a turn's vector up; one that no memory keeps is embedded."""
        if said.memory:
            return self._searcher.vector(said.memory)
        value = self._embed(said.text) if self._embed else None
        return None if value is None else Encoded.of(value).vector

    def _finish(
        self,
        query: Query,
        ask: Ask,
        lexical: Lexical,
        encoded: Encoded | None,
        watch: "_Stopwatch",
    ) -> Recollection:
        turned = encoded.vector if encoded else None
        if turned is not None and query.dialogue and self._dialogue:
            turned = self._turned(turned, query)
        scored = self._score(query, ask, lexical, encoded, turned, watch)
        signs = self._signs(ask, scored)
        if query.exclude and probability(signs) < query.doubt:
            # What answers may stand before the LLM already.
            whole = replace(query, exclude=frozenset())
            seen = self._score(whole, ask, lexical, encoded, turned, _Stopwatch())
            signs = max(signs, self._signs(ask, seen), key=probability)
            watch.lap("doubt")
        weighed = _order(scored, query)
        hits = self._hits(query, ask, weighed, self._fetch)
        watch.lap("fetch")
        stage: Stage = "full" if "dense" in scored.found.views else "lexical"
        return Recollection(
            hits=hits,
            stage=stage,
            timings=watch.laps,
            words=lexical.weights,
            weighed=weighed,
            signs=signs,
            names_speaker=bool(ask.named),
        )

    def _score(
        self,
        query: Query,
        ask: Ask,
        lexical: Lexical,
        encoded: Encoded | None,
        turned: np.ndarray | None,
        watch: "_Stopwatch",
    ) -> Scored:
        """Find the candidates and score them, by vectors and tokens as far as there are any."""
        own = encoded.vector if encoded else None
        found = self._searcher.candidates(
            lexical, turned, query.exclude, own if turned is not own else None
        )
        watch.lap("dense")
        scored = self._scoring.first(found, ask, lexical.ceiling, query)
        watch.lap("fuse")
        if encoded is not None and encoded.tokens is not None:
            scored = self._scoring.rerank(scored, encoded.tokens, query.scope)
            watch.lap("tokens")
        return scored

    def _signs(self, ask: Ask, scored: Scored) -> Signs:
        """Gather what speaks for anything answering."""
        names = names_in(ask.words)
        strangers = [name for name in names if not self._searcher.knows(name)]
        return Signs(
            coverage=float(scored.coverage.max(initial=0.0)),
            near=scored.near,
            strange=len(strangers) / max(1, len(names)),
            memories=len(self._searcher),
        )

    def _hits(self, query: Query, ask: Ask, weighed: Weighed, fetch: Fetch) -> list[Hit]:
        scored, order, reasons = weighed.scored, weighed.order, weighed.reasons
        ids, scores = scored.found.ids, scored.scores
        least = -np.inf  # of the best that is not heard: what stands in the context hides nothing
        places: list[int] = []
        memories: dict[str, Memory] = {}
        texts: list[str] = []
        kept: list[int] = []
        page = max(1, query.k) + 2
        most = 2 * page + len(query.exclude_words)
        for start in range(0, min(most, len(order)), page):
            wanted = order[start : min(start + page, most)].tolist()
            memories |= fetch(query.scope, [ids[n] for n in wanted])
            for n in wanted:
                memory = memories.get(ids[n])
                if (reason := _amiss(memory, query, ask)) or memory is None:
                    reasons[ids[n]] = reason
                    continue
                if not places and query.keep_share > 0:
                    least = query.keep_share * scores[n]
                if scores[n] >= least:
                    places.append(n)
                    texts.append(memory.text)
            kept = fusion.distinct(texts, self._duplicate, query.k)
            if len(kept) == query.k or scores[wanted[-1]] < least:
                break
        weak = order[scores[order] < least][:TOLD].tolist()
        reasons |= {ids[n]: SHARE for n in weak if ids[n] not in reasons}
        judged = len(texts) if len(kept) < query.k else max(kept, default=0)
        reasons |= {ids[places[i]]: DUPLICATE for i in set(range(judged)).difference(kept)}
        return [scored.hit(n, memories[ids[n]]) for n in (places[i] for i in kept)]


def _order(scored: Scored, query: Query) -> Weighed:
    """Order the candidates, best first, if any is good enough.

    The floor asks whether anything answers, not whether each does: what answers is often said in
    other words than the question's, next to a turn that repeats them.
    """
    order = np.argsort(-scored.scores, kind="stable")
    floored = calibration.among(scored.probability[order]) < query.floor
    if floored:
        order = order[scored.found.pinned[order]]
    return Weighed(scored, order, floored)


def _amiss(memory: Memory | None, query: Query, ask: Ask) -> str:
    """Say why a memory cannot be offered, "" when it can."""
    if memory is None:
        return GONE
    if not holds(memory, query.now, ask.times):
        return OVER
    return HEARD if _heard(memory.text, query.exclude_words) else ""


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
