"""Answers a query from one namespace, in six steps on the caller's thread.

    parse -> lexical -> embed -> propose -> score -> offer

The steps completed are the stage of the result: ``tail`` (lexical, over what was indexed since the
last seal), ``lexical`` (over everything), ``full`` (words and vectors). Each step stores its result
in a ``Progress``, so that a turn whose deadline passes while its query is embedded takes what is
ready: see ``settle``. All steps run on one thread: handing over to another costs 32 us.
"""

import time
from collections.abc import Callable, Sequence
from datetime import tzinfo

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.query.understand import (
    DialogueTurn,
    ParsedQuery,
    asks_overview,
    parse_query,
)
from slowcat_memory.core.ranking.score import Candidates, Question, score
from slowcat_memory.core.ranking.token_codes import maxsim
from slowcat_memory.index import Lexical, Searcher
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import Encoded
from slowcat_memory.runtime.namespaces.embedding import Embedding
from slowcat_memory.runtime.namespaces.namespace import Namespace
from slowcat_memory.runtime.recall.choosing import RecallState
from slowcat_memory.runtime.recall.overviews import Overviews
from slowcat_memory.runtime.recall.query import Query, Recollection, RetrievalOptions, Stage
from slowcat_memory.runtime.recall.scoring import RankingTrace
from slowcat_memory.store import Store

WARM_WORDS = 12  # of the latest memory: as many as a question has
WARM_UP = "warm up"  # for a scope without a memory

Embed = Callable[[str], Encoded | np.ndarray | None]


class Progress:
    """Results of a running recall in one namespace, step by step.

    Written by the thread that runs it, and read by the thread that waits for it: each attribute is
    set once, when its value is complete, so no lock is needed.
    """

    def __init__(self) -> None:
        self.searcher: Searcher | None = None  # the one used by ``lexical``
        self.parsed: ParsedQuery | None = None
        self.lexical: Lexical | None = None
        self.encoded: Encoded | None = None
        self.done: Recollection | None = None  # the result of ``run``
        self.settled: Recollection | None = None  # a late turn's result without the store
        self.abandoned = False  # set by the reader: stop at the next step


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

    def run(
        self,
        namespace: Namespace,
        query: Query,
        progress: Progress | None = None,
        *,
        ahead: bool = False,
    ) -> Recollection:
        """Run all steps of a recall.

        Args:
            progress: Stores the results of the steps.
            ahead: The query may never be asked: no cache may keep its words.

        Returns:
            The hits; at stage "lexical" when there is no vector for the query.
        """
        watch, progress = _Stopwatch(), progress or Progress()
        if progress.abandoned:
            return Recollection()
        searcher = progress.searcher = namespace.searcher  # kept: sealing replaces it
        parsed = progress.parsed = self.parse(query, searcher)
        if parsed.times:
            namespace.read_times()
        watch.lap("parse")
        lexical = progress.lexical = searcher.lexical(parsed.words, also=parsed.also)
        watch.lap("lexical")
        embed = self._embedder(namespace, ahead=ahead)
        encoded = None if query.vector is None else Encoded.of(query.vector)
        if encoded is None and embed is not None and len(searcher.dense):
            encoded = None if progress.abandoned else _encoded(embed, parsed.meaning)
            progress.encoded = encoded
            watch.lap("embed")
        if progress.abandoned:
            return Recollection(timings=watch.laps)
        if encoded is not None and not encoded.vector.any():
            encoded = None  # a zero vector has no direction: use words
        state = RecallState(namespace, searcher, query, parsed, lexical, self._options)
        state.encoded = encoded
        state.turned = self._turned(searcher, encoded, query.dialogue, embed)
        trace = self._rank(state, watch)
        state.offer(trace, namespace.fetch)
        return self._recollection(
            state, "full" if "dense" in trace.candidates.known else "lexical", watch
        )

    def settle(self, namespace: Namespace, query: Query, progress: Progress) -> Recollection:
        """Return what a late recall has so far, for a turn that waits for it.

        First the hits among the latest memories, whose texts are in memory, are stored in
        ``progress.settled``: then the store is read, which may block.

        Args:
            namespace: The namespace of ``run``.

        Returns:
            Stage "lexical", or "tail" when not even that step was done.
        """
        watch = _Stopwatch()
        progress.abandoned = True
        lexical = progress.lexical  # read before its searcher, which is set before it
        searcher = progress.searcher or namespace.searcher
        parsed = self.parse(query, searcher)
        watch.lap("parse")
        stage: Stage = "lexical" if lexical is not None else "tail"
        lexical = lexical or searcher.lexical(parsed.words, also=parsed.also, sealed=False)
        watch.lap("lexical")
        state = RecallState(namespace, searcher, query, parsed, lexical, self._options)
        trace = self._rank(state, watch)
        state.complete = stage == "lexical"  # not the tail alone
        state.offer(trace, namespace.recent)
        watch.lap("fetch")
        progress.settled = Recollection(
            hits=state.hits, stage="tail", timings=watch.laps.copy(), words=lexical.weights
        )
        state.offer(trace, namespace.fetch)
        if asks_overview(query.text):  # words alone cannot deny it
            state.evidence = None
        return self._recollection(state, stage, watch)

    def _recollection(self, state: RecallState, stage: Stage, watch: "_Stopwatch") -> Recollection:
        query = state.query
        overview = None
        if asks_overview(query.text):
            overview = self._overviews.lead(query, state.namespace.scope, state.limit, state.hits)
        watch.lap("fetch")
        return Recollection(
            hits=state.hits if overview is None else overview,
            stage=stage,
            timings=watch.laps,
            words=state.lexical.weights,
            trace=state.trace,
            # A summary always answers, and so does a fact, whatever its words.
            evidence=None if overview is not None or state.stated else state.evidence,
            names_speaker=bool(state.parsed.named),
        )

    def encode(self, namespace: Namespace, query: Query) -> Encoded | None:
        """Embed a query ahead of its recall; None without a model."""
        embed = self._embedder(namespace, ahead=False)
        return _encoded(embed, self.parse(query, namespace.searcher).meaning)

    def touch(self, namespaces: Sequence[Namespace], query: Query, progress: Progress) -> float:
        """Recall with the words of each scope's latest memory; the result is thrown away.

        No cache keeps them, and nothing of it is counted. It stops once ``progress`` is abandoned.

        Returns:
            The processor time that it took, in seconds.
        """
        began = time.thread_time()
        for namespace in namespaces:
            memory, text, vector = namespace.hot.latest(), WARM_UP, None
            if memory is not None:
                text = " ".join(memory.text.split()[:WARM_WORDS])
                # Embedding may cost somebody else something, unless the model is our own.
                vector = None if self.has_own_model else namespace.searcher.vector(memory.id)
            wanted = replace(query, text=text, vector=vector, floor=0.0, local=True)
            self.run(namespace, wanted, progress, ahead=True)
        return time.thread_time() - began

    # ------------------------------------------------------------------- parse

    def parse(self, query: Query, searcher: Searcher) -> ParsedQuery:
        return parse_query(
            query.text,
            query.now,
            self._zone,
            speakers=searcher.speakers,
            heard=searcher.heard(query.text) if self._options.ask.sounds else (),
            dialogue=query.dialogue,
            language=self._options.language,
            options=self._options.ask,
        )

    def _withheld(self, namespace: Namespace, query: Query) -> frozenset[str]:
        """Return the ids of local-only memories for a remote LLM: they do not even answer."""
        local_only = frozenset() if query.local else namespace.local_only()
        if local_only:
            self._metrics.count("local_only_withheld")
        return local_only

    # ------------------------------------------------------------------- embed

    def _embedder(self, namespace: Namespace, *, ahead: bool) -> Embed | None:
        """Return the model, if the namespace's vectors are of its space."""
        if namespace.space != self._embedding.space:
            return None
        return self._embedding.passing if ahead else self._embedding.query

    def _turned(
        self,
        searcher: Searcher,
        encoded: Encoded | None,
        dialogue: Sequence[DialogueTurn],
        embed: Embed | None,
    ) -> np.ndarray | None:
        """Return the query's vector, shifted towards those of the last two turns."""
        if encoded is None:
            return None
        weight = self._options.ask.dialogue
        found = list[np.ndarray]()
        for turn in dialogue[-2:] if weight else ():
            if turn.memory:  # a stored turn has its vector in the index
                vector = searcher.vector(turn.memory)
            else:
                made = _encoded(embed, turn.text)
                vector = None if made is None else made.vector
            if vector is not None:
                found.append(vector)
        if not found:
            return encoded.vector
        turned = encoded.vector + weight * (sum(found[1:], found[0]) / len(found))
        return turned / max(float(np.sqrt(turned.dot(turned))), 1e-9)

    # ------------------------------------------------------------------- score

    def _rank(self, state: RecallState, watch: "_Stopwatch") -> RankingTrace:
        """Propose candidates and put them into order."""
        searcher, parsed = state.searcher, state.parsed
        own = state.encoded.vector if state.encoded else None
        found = searcher.candidates(
            state.lexical,
            state.turned,
            self._withheld(state.namespace, state.query),
            None if state.turned is own else own,
            talk=state.query.talk or parsed.about_talk,
            visible=state.query.exclude,
        )
        watch.lap("dense")
        question = Question(
            now=state.query.now.timestamp(),
            ceiling=state.lexical.ceiling,
            long_turns=searcher.mean_words >= self._options.fuse.smooth_below_words,
            memories=len(searcher),
            speakers=searcher.speaker_numbers(parsed.named),
            times=parsed.times,
        )

        def compare(best: np.ndarray) -> np.ndarray | None:
            watch.lap("fuse")
            return self._compare(state, found, best)

        options = self._options
        scores = score(found, question, options.fuse, options.rank, state.weights, compare)
        watch.lap("fuse" if scores.similarity is None else "tokens")
        state.trace = RankingTrace(found, scores, question.memories)
        return state.trace

    def _compare(
        self, state: RecallState, found: Candidates, best: np.ndarray
    ) -> np.ndarray | None:
        """Return the MaxSim of the best candidates, shape (n,), NaN for all others.

        None without token vectors.
        """
        tokens = state.encoded.tokens if state.encoded else None
        space = self._embedding.token_key
        if tokens is None or not space:
            return None
        similarity = np.full(len(found), np.nan)
        ids = [found.ids[n] for n in best.tolist()]
        with self._store.snapshot() as snapshot:
            vectors = snapshot.tokens(space, state.namespace.scope, ids)
        similarity[best] = maxsim(tokens, vectors)
        return similarity


def _encoded(embed: Embed | None, text: str) -> Encoded | None:
    value = embed(text) if embed else None
    return None if value is None else Encoded.of(value)


class _Stopwatch:
    """Laps in milliseconds."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._from = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round(self.laps.get(name, 0.0) + (now - self._from) * 1e3, 4)
        self._from = now
