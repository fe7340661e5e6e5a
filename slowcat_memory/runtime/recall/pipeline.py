"""Answers a query from one namespace, in six steps on the caller's thread.

    parse -> lexical -> embed -> propose -> score -> offer

The steps completed are the stage of the result: ``tail`` (lexical, over what was indexed since the
last seal), ``lexical`` (over everything), ``full`` (words and vectors). Each step stores its result
in the ``RecallState``, so that a turn whose deadline passes while its query is embedded takes what is
ready: see ``settle``. All steps run on one thread: handing over to another costs 32 us.
"""

import time
from collections.abc import Callable, Iterable
from datetime import tzinfo

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.query.understand import asks_overview
from slowcat_memory.core.ranking.score import Candidates, Question, score
from slowcat_memory.core.ranking.token_codes import maxsim
from slowcat_memory.index import Lexical
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import Encoded
from slowcat_memory.runtime.namespaces.embedding import Embedding
from slowcat_memory.runtime.namespaces.namespace import Namespace
from slowcat_memory.runtime.recall.choosing import RecallState
from slowcat_memory.runtime.recall.overviews import Overviews
from slowcat_memory.runtime.recall.query import (
    Query,
    RankingTrace,
    Recollection,
    RetrievalOptions,
    Stage,
)
from slowcat_memory.store import Store

WARM_WORDS = 12  # of the latest memory: as many as a question has
WARM_UP = "warm up"  # for a scope without a memory

Embed = Callable[[str], Encoded | np.ndarray | None]


class Pipeline:
    """Runs queries against namespaces. Its options are constant; any thread may run it."""

    def __init__(
        self,
        store: Store,
        embedding: Embedding,
        metrics: Metrics,
        zone: tzinfo,
        options: RetrievalOptions,
    ) -> None:
        """Connect the components; ``metrics`` counts recalls that excluded local-only memories."""
        self._store, self._embedding, self._metrics = store, embedding, metrics
        self._zone, self._options = zone, options
        self._overviews = Overviews(store, zone, options.language)

    @property
    def has_own_model(self) -> bool:
        """Whether embedding costs nobody else anything: the model runs in this process."""
        return self._embedding.is_own

    def begin(self, namespace: Namespace, query: Query) -> RecallState:
        """Return a recall for ``run``, without any result."""
        return RecallState(namespace, query, self._options, self._zone, namespace.searcher)

    def run(self, recall: RecallState, *, ahead: bool = False) -> Recollection:
        """Run all steps of a recall.

        Args:
            ahead: The query may never be asked: no cache may keep its words.

        Returns:
            The hits; at stage "lexical" when there is no vector for the query.
        """
        if recall.abandoned:
            return Recollection()
        recall.since = time.perf_counter()
        namespace, query = recall.namespace, recall.query
        searcher = recall.searcher = namespace.searcher
        parsed = recall.parsed
        if parsed.times:
            namespace.read_times()
        recall.lap("parse")
        lexical = recall.lexical = searcher.lexical(parsed.words, also=parsed.also)
        recall.lap("lexical")
        embed = self._embedder(namespace, ahead=ahead)
        encoded = None if query.vector is None else Encoded.of(query.vector)
        if encoded is None and embed is not None and len(searcher.dense):
            encoded = None if recall.abandoned else _encoded(embed, parsed.meaning)
            recall.lap("embed")
        if encoded is not None and encoded.vector.any():  # else it has no direction: words must do
            recall.encoded = encoded
        if recall.abandoned:
            return Recollection(timings=recall.timings)
        if recall.encoded is not None:
            recall.turned = self._turned(recall, recall.encoded.vector, embed)
        trace = self._rank(recall, lexical)
        recall.offer(trace, namespace.fetch)
        stage: Stage = "full" if "dense" in trace.candidates.known else "lexical"
        recall.done = self._recollection(recall, lexical, stage)
        return recall.done

    def settle(self, recall: RecallState) -> Recollection:
        """Return what a late recall has so far, for a turn that waits for it.

        First the hits among the latest memories, whose texts are in memory, are stored in
        ``recall.settled``: then the store is read, which may block.

        Returns:
            Stage "lexical", or "tail" when not even that step was done.
        """
        recall.abandoned = True
        lexical = recall.lexical  # read before its searcher, which is set before it
        late = RecallState(
            recall.namespace, recall.query, self._options, self._zone, recall.searcher
        )
        late.since = time.perf_counter()
        parsed = late.parsed
        late.lap("parse")
        stage: Stage = "lexical" if lexical is not None else "tail"
        lexical = lexical or late.searcher.lexical(parsed.words, also=parsed.also, sealed=False)
        late.lap("lexical")
        trace = self._rank(late, lexical)
        late.complete = stage == "lexical"  # not the tail alone
        late.offer(trace, late.namespace.recent)
        late.lap("fetch")
        recall.settled = Recollection(
            hits=late.hits, stage="tail", timings=late.timings.copy(), words=lexical.weights
        )
        late.offer(trace, late.namespace.fetch)
        if asks_overview(late.query.text):  # words alone cannot deny it
            late.evidence = None
        return self._recollection(late, lexical, stage)

    def _recollection(self, recall: RecallState, lexical: Lexical, stage: Stage) -> Recollection:
        query, overview = recall.query, None
        if asks_overview(query.text):
            scope = recall.namespace.scope
            overview = self._overviews.lead(query, scope, recall.limit, recall.hits)
        recall.lap("fetch")
        return Recollection(
            hits=recall.hits if overview is None else overview,
            stage=stage,
            timings=recall.timings,
            words=lexical.weights,
            trace=recall.trace,
            # A summary always answers, and so does a fact, whatever its words.
            evidence=None if overview is not None or recall.stated else recall.evidence,
            names_speaker=bool(recall.parsed.named),
        )

    def encode(self, namespace: Namespace, query: Query) -> Encoded | None:
        """Embed a query ahead of its recall; None without a model."""
        embed = self._embedder(namespace, ahead=False)
        return _encoded(embed, self.begin(namespace, query).parsed.meaning)

    def touch(self, recalls: Iterable[RecallState]) -> float:
        """Recall with the words of each scope's latest memory; the result is thrown away.

        No cache keeps them, and nothing of it is counted.

        Returns:
            The processor time that it took, in seconds.
        """
        began = time.thread_time()
        for recall in recalls:
            memory, text, vector = recall.namespace.hot.latest(), WARM_UP, None
            if memory is not None:
                text = " ".join(memory.text.split()[:WARM_WORDS])
                # Embedding may cost somebody else something, unless the model is our own.
                vector = None if self.has_own_model else recall.searcher.vector(memory.id)
            recall.query = replace(recall.query, text=text, vector=vector, floor=0.0, local=True)
            self.run(recall, ahead=True)
        return time.thread_time() - began

    def _withheld(self, recall: RecallState) -> frozenset[str]:
        """Return the ids of local-only memories for a remote LLM: they do not even answer."""
        local_only = frozenset() if recall.query.local else recall.namespace.local_only()
        if local_only:
            self._metrics.count("local_only_withheld")
        return local_only

    # ------------------------------------------------------------------- embed

    def _embedder(self, namespace: Namespace, *, ahead: bool) -> Embed | None:
        """Return the model, if the namespace's vectors are of its space."""
        if namespace.space != self._embedding.space:
            return None
        return self._embedding.passing if ahead else self._embedding.query

    def _turned(self, recall: RecallState, own: np.ndarray, embed: Embed | None) -> np.ndarray:
        """Return the query's vector, shifted towards those of the last two turns."""
        weight = self._options.ask.dialogue
        vectors = list[np.ndarray]()
        for turn in recall.query.dialogue[-2:] if weight else ():
            if turn.memory:  # a stored turn has its vector in the index
                vector = recall.searcher.vector(turn.memory)
            else:
                made = _encoded(embed, turn.text)
                vector = None if made is None else made.vector
            if vector is not None:
                vectors.append(vector)
        if not vectors:
            return own
        turned = own + weight * np.mean(vectors, axis=0)
        return turned / max(float(np.sqrt(turned.dot(turned))), 1e-9)

    # ------------------------------------------------------------------- score

    def _rank(self, recall: RecallState, lexical: Lexical) -> RankingTrace:
        """Propose candidates and put them into order."""
        searcher, parsed, options = recall.searcher, recall.parsed, self._options
        own = recall.encoded.vector if recall.encoded else None
        candidates = searcher.candidates(
            lexical,
            recall.turned,
            self._withheld(recall),
            None if recall.turned is own else own,
            talk=recall.query.talk or parsed.about_talk,
            visible=recall.query.exclude,
        )
        recall.lap("dense")
        question = Question(
            now=recall.query.now.timestamp(),
            ceiling=lexical.ceiling,
            long_turns=searcher.mean_words >= options.fuse.smooth_below_words,
            memories=len(searcher),
            speakers=searcher.speaker_numbers(parsed.named),
            times=parsed.times,
        )

        def compare(best: np.ndarray) -> np.ndarray | None:
            recall.lap("fuse")
            return self._compare(recall, candidates, best)

        scores = score(candidates, question, options.fuse, options.rank, recall.weights, compare)
        recall.lap("fuse" if scores.similarity is None else "tokens")
        recall.trace = RankingTrace(candidates, scores, question)
        return recall.trace

    def _compare(
        self, recall: RecallState, candidates: Candidates, best: np.ndarray
    ) -> np.ndarray | None:
        """Return the MaxSim of the best candidates, shape (n,), NaN for all others.

        None without token vectors.
        """
        tokens = recall.encoded.tokens if recall.encoded else None
        space = self._embedding.token_key
        if tokens is None or not space:
            return None
        similarity = np.full(len(candidates), np.nan)
        ids = [candidates.ids[n] for n in best.tolist()]
        with self._store.snapshot() as snapshot:
            vectors = snapshot.tokens(space, recall.namespace.scope, ids)
        similarity[best] = maxsim(tokens, vectors)
        return similarity


def _encoded(embed: Embed | None, text: str) -> Encoded | None:
    value = embed(text) if embed else None
    return None if value is None else Encoded.of(value)
