"""Recall for a conversation: gate, deadline, namespaces, union, abstention, block.

Four threads take part. The event loop applies the gate to a turn and waits for its recall, no
longer than ``deadline_ms``. The worker ``indexer.talk`` runs the pipeline, one recall after the
other, behind the turns that are to be indexed before it; ``indexer.ahead`` does the same for
recalls that are begun while the user still speaks (see ``prefetch``). Each stores its results, step
by step, in one ``Recall`` per namespace. When the deadline passes first, ``indexer.late`` makes
hits of the results so far, for which the loop waits ``settle_ms`` more; if that is not enough
either, because the store blocks, the turn gets the hits among the latest memories, which need no
store, or none.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.query.recall_gate import Need, judge
from slowcat_memory.core.query.understand import asks_overview
from slowcat_memory.core.ranking.score import (
    Candidates,
    Question,
    answer_probability,
    best_of_top,
    distinct,
    score,
)
from slowcat_memory.core.ranking.token_codes import maxsim
from slowcat_memory.core.render.memory_block import Packed, pack, relevant
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index import Lexical
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import Encoded
from slowcat_memory.records import Hit
from slowcat_memory.runtime.namespaces.indexer import Embedding, Indexer
from slowcat_memory.runtime.namespaces.registry import Namespaces, check_scope
from slowcat_memory.runtime.recall.choosing import Recall, abandon, abstain, most_hits
from slowcat_memory.runtime.recall.prefetch import Attempt, Prefetch, overlap
from slowcat_memory.runtime.recall.query import Query, Recollection, RetrievalOptions, Stage
from slowcat_memory.runtime.recall.time_travel import overview

WARM_WORDS = 12  # of the latest memory: as many as a question has
WARM_UP = "warm up"  # for a scope without a memory


async def ended_within(future: "Future[Any]", ms: float) -> bool:
    """Wait for a worker's future, on an event loop; the work continues after the timeout."""
    if future.done():
        return True
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def wake(_: "Future[Any]") -> None:  # on the worker
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(ended.set)

    future.add_done_callback(wake)
    with suppress(TimeoutError):
        async with asyncio.timeout(ms / 1e3):
            await ended.wait()
    return future.done()


class BlockWriter:
    """Writes recollections as blocks for the LLM. Safe to use from any thread."""

    def __init__(self, zone: tzinfo, tokenizer: Tokenizer, options: RetrievalOptions) -> None:
        self._zone, self._tokenizer, self._options = zone, tokenizer, options

    def pack(self, recollection: Recollection, now: datetime) -> Packed:
        """Return the block for the LLM, in its budget; long memories are cut to the query."""
        options = self._options
        return pack(
            recollection.hits,
            now,
            self._zone,
            options.pack,
            lambda text, tokens: relevant(
                text, recollection.words, self._tokenizer, tokens, options.extract, options.language
            ),
            language=options.language,
            unknown=recollection.unknown,
            unchanged=recollection.unchanged,
            asks_time=recollection.asks_time,
        )


@dataclass(eq=False, repr=False)
class Retrieval:
    """Answers queries from namespaces.

    Attributes:
        while_recalling: Makes the context in which each recall runs, from whatever door; may be
            entered several times at once. It keeps idle work away.
        look_soon: Called before each recall: has its worker take over what other processes wrote.
    """

    namespaces: Namespaces
    embedding: Embedding
    indexer: Indexer
    metrics: Metrics
    zone: tzinfo
    options: RetrievalOptions
    while_recalling: Callable[[], AbstractContextManager[None]]
    look_soon: Callable[[], None]

    def __post_init__(self) -> None:
        self.writer = BlockWriter(self.zone, self.namespaces.tokenizer, self.options)
        self._touching: list[Recall] = []  # of the last call of ``touch``

    # ------------------------------------------------------------------- entries

    async def recall(self, query: Query, prefetch: Prefetch | None = None) -> Recollection:
        """Recall for a turn that waits; return what is ready by the deadline.

        No hits for a turn that needs no memory. Does not suspend when all was recalled ahead.

        Args:
            prefetch: Recalls made ahead for it; consumed.

        Raises:
            ConfigError: The scope's name is not valid.
        """
        with self.while_recalling():
            abandon(self._touching)
            began = time.perf_counter()
            attempt = prefetch.take() if prefetch else None
            reused = attempt.query.need if attempt and attempt.is_for(query.text) else None
            need = reused or self._need(query)
            if not need.query:
                if attempt:
                    attempt.abandon()
                return self._skipped(need)
            query = self._gated(query, need)
            gate = round((time.perf_counter() - began) * 1e3, 4)
            recollection = await self._in_time(query, attempt)
        recollection = replace(recollection, timings={"gate": gate, **recollection.timings})
        self.metrics.count(f"recall_{recollection.stage}")
        if recollection.unknown:
            self.metrics.count("told_unknown")
        return recollection

    def begin(self, query: Query) -> Attempt | None:
        """Begin a recall ahead of the turn that may need it; neither blocks nor waits.

        Args:
            query: The turn so far.

        Returns:
            The running recall; None if it needs no memory, or a scope is not loaded.
        """
        abandon(self._touching)
        need, scopes = self._need(query), self._readable(query)
        if not need.query or not scopes or not all(map(self.namespaces.loaded, scopes)):
            return None
        self.look_soon()
        self.metrics.count("prefetch_begun")
        recalls = self._recalls(self._gated(query, need), scopes, passing=True)
        versions = [recall.namespace.version for recall in recalls]
        with self.while_recalling():  # at once: the worker waits where idle work computes
            running = self.indexer.ahead.submit(self._run_each, recalls, True)
        return Attempt(query.text, recalls, versions, running)

    def touch(self, query: Query) -> "Future[float] | None":
        """Begin a recall whose result is thrown away, so that the next one finds all it needs warm.

        Args:
            query: Without words, it is asked for those of the latest memory, and the turns before
                are indexed, so that the turn that comes does not wait beside that. One with words
                rehearses beside a conversation, whose turn may wait for its recall.

        Returns:
            The processor time it takes, in seconds; None if no scope is loaded.
        """
        scopes = [*filter(self.namespaces.loaded, self._readable(query))]
        if not scopes:
            return None
        if not query.text:
            self.indexer.release()
        recalls = self._touching = self._recalls(query, scopes, passing=True)
        running = self.indexer.warm.submit(self._warm, recalls)
        running.add_done_callback(lambda _: recalls.clear())  # each holds an index, and its words
        return running

    def _warm(self, recalls: Sequence[Recall]) -> float:
        """Recall with the query's words, or those of each scope's latest memory, for nothing."""
        began = time.thread_time()
        for recall in recalls:
            memory, query, searcher = recall.namespace.hot.latest(), recall.query, recall.searcher
            text, vector = query.text, None
            if memory is not None:
                text = text or " ".join(memory.text.split()[:WARM_WORDS])
                # Embedding may cost somebody else something, unless the model is our own.
                vector = None if self.embedding.is_own else searcher.vector(memory.id)
            known = None if vector is None else Encoded(vector)
            recall.query = replace(query, text=text or WARM_UP, vector=known, floor=0.0, local=True)
            self.run(recall)
        return time.thread_time() - began

    def answer(self, query: Query) -> Recollection:
        """Recall in one scope as a turn does, without a deadline, on the caller's thread."""
        need = self._need(query)
        if not need.query:
            return self._skipped(need)
        self.namespaces.users.load(query.scope, *query.also)
        return self._run_each(self._recalls(self._gated(query, need), [query.scope]))

    def search(self, query: Query) -> Recollection:
        """Recall without gate or deadline, once the index is completely open; blocks."""
        self.look_soon()
        self.indexer.release()
        query = replace(query, called=self.namespaces.users.load(query.scope, *query.also))
        recalls = self._recalls(query, self._readable(query))
        for recall in recalls:
            recall.namespace.finish_opening()
        if not recalls:
            return Recollection()
        with self.while_recalling():
            return self.indexer.talk.submit(self._run_each, recalls).result()

    # ------------------------------------------------------------------- before a recall

    def _skipped(self, need: Need) -> Recollection:
        self.metrics.count("recall_skipped")
        return Recollection(stage="skipped", asks_time=need.asks_time)

    def _readable(self, query: Query) -> list[str]:
        """Return the distinct scopes to query, excluding guest scopes."""
        scopes = dict.fromkeys((query.scope, *query.also))
        return [scope for scope in scopes if not self.namespaces.is_guests(scope)]

    def _recalls(
        self, query: Query, scopes: Sequence[str], *, passing: bool = False
    ) -> list[Recall]:
        """Return a recall in each of the scopes; one that is not loaded is loaded."""
        known, embedded = (self.options, self.zone), dict[str, Encoded | None]()
        every = map(self.namespaces.get, scopes)
        return [Recall(n, query, *known, n.searcher, embedded, passing) for n in every]

    def _need(self, query: Query) -> Need:
        """Return what a turn needs; names are what is one in a scope that is loaded.

        With the gate off, everything is searched.
        """
        loaded = map(self.namespaces.loaded, self._readable(query))
        names = [namespace.searcher.names for namespace in loaded if namespace]
        language, is_gated = self.options.language, self.options.gate.enabled
        need = judge(query.text, language, lambda word: any(n.is_name(word) for n in names))
        return need if is_gated else replace(need, query=query.text)

    def _gated(self, query: Query, need: Need) -> Query:
        """Return a turn's query after the gate, with its users' names as far as they are read."""
        called = self.namespaces.users.called(query.scope, *query.also)
        return replace(query, text=need.query, need=need, called=called)

    # ------------------------------------------------------------------- under the deadline

    async def _in_time(self, query: Query, attempt: Attempt | None) -> Recollection:
        """Take over a recall that was begun ahead, or begin one, and wait for it.

        A scope that is not loaded is loaded for the next turn, and skipped in this one.
        """
        scopes = self._readable(query)
        loaded = [*filter(self.namespaces.loaded, scopes)]
        for scope in scopes:
            if scope not in loaded:
                self.indexer.talk.submit(self.indexer.open, check_scope(scope), self._load)
        if not loaded:
            if attempt:
                attempt.abandon()
            return self._conclude(query, [Recollection()])
        if attempt and attempt.holds(query, [*map(self.namespaces.get, loaded)]):
            self.metrics.count("prefetch_stood")
            return await self._wait(attempt.running, query, attempt.recalls)
        if attempt:
            attempt.abandon()
            query = self._with_vector_of(attempt, query)
        self.look_soon()
        self.indexer.release(but=query.exclude)
        recalls = self._recalls(query, loaded)
        return await self._wait(self.indexer.talk.submit(self._run_each, recalls), query, recalls)

    async def _wait(
        self, running: "Future[Recollection]", query: Query, recalls: Sequence[Recall]
    ) -> Recollection:
        """Wait for a recall until the deadline, then, a little more, for its results so far."""
        options = self.options.recall
        try:
            if await ended_within(running, options.deadline_ms):
                return running.result()
            late = self.indexer.late.submit(self._settle, query, recalls)
            if await ended_within(late, options.settle_ms):
                return late.result()
        finally:  # also when an interruption cancels the turn
            abandon(recalls)
        return self._conclude(query, [recall.settled or Recollection() for recall in recalls])

    def _settle(self, query: Query, recalls: Sequence[Recall]) -> Recollection:
        """Return each scope's results so far. On the thread ``late``: the store may block."""
        every = [recall.done or self.settle(recall) for recall in recalls]
        return self._conclude(query, every)

    def _load(self, scope: str) -> None:
        self.namespaces.get(scope).finish_opening()  # what is over must be known before an offer

    # ------------------------------------------------------------------- recalls begun ahead

    def _with_vector_of(self, attempt: Attempt, query: Query) -> Query:
        """Take over the vector of a recall for nearly the same words, if it is ready.

        Embedding is most of a recall's work. The texts that are embedded (without names, with words
        of the dialogue) must share ``prefetch.overlap`` of their words, and the space be the same.
        """
        ahead = attempt.recalls[0]
        same_scope = ahead.query.scope == query.scope and self.namespaces.loaded(query.scope)
        if ahead.encoded is not None and query.vector is None and same_scope:
            (recall,) = self._recalls(query, [query.scope])
            shared = overlap(ahead.parsed.meaning, recall.parsed.meaning)
            same_space = ahead.namespace.space == recall.namespace.space
            if shared >= self.options.prefetch.overlap and same_space:
                self.metrics.count("prefetch_vector")
                return replace(query, vector=ahead.encoded)
        self.metrics.count("prefetch_redone")
        return query

    # ------------------------------------------------------------------- running and merging

    def _run_each(self, recalls: Sequence[Recall], ahead: bool = False) -> Recollection:
        """Run recalls of one query; ahead of its turn, the block is written too."""
        query = recalls[0].query
        with self.while_recalling():
            every = [self.run(recall) for recall in recalls]
            merged = self._conclude(query, every)
        return replace(merged, packed=self.writer.pack(merged, query.now)) if ahead else merged

    def _conclude(self, query: Query, parts: Sequence[Recollection]) -> Recollection:
        merged = parts[0] if len(parts) == 1 else merge(parts, query, self.options)
        if query.need is None:
            return merged
        return abstain(merged, query.need, self.options.recall.unknown_below)

    # ------------------------------------------------------------------- six steps
    # parse, lexical, embed, propose, score, offer: on one thread, since handing over to another costs
    # 32 us. Those done are the stage of the result: ``tail`` (by words, over what was indexed since
    # the last seal), ``lexical`` (over everything), ``full`` (by words and vectors).

    def run(self, recall: Recall) -> Recollection:
        """Run all steps of a recall.

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
        encoded = query.vector
        if encoded is None and len(searcher.dense) and not recall.abandoned:
            encoded = self._embed(recall, parsed.meaning)
            recall.lap("embed")
        if encoded is not None and encoded.vector.any():  # else it has no direction: words must do
            recall.encoded = encoded
        if recall.abandoned:
            return Recollection(timings=recall.timings)
        if recall.encoded is not None:
            recall.turned = self._turned(recall, recall.encoded.vector)
        trace = self._rank(recall, lexical)
        with namespace.reading() as fetch:
            recall.offer(trace, fetch)
        stage: Stage = "full" if "dense" in trace.known else "lexical"
        recall.done = self._recollection(recall, lexical, stage)
        return recall.done

    def settle(self, recall: Recall) -> Recollection:
        """Return what a late recall has so far, for a turn that waits for it.

        First the hits among the latest memories, whose texts are in memory, are stored in
        ``recall.settled``: then the store is read, which may block.

        Returns:
            Stage "lexical", or "tail" when not even that step was done.
        """
        recall.abandoned = True
        lexical = recall.lexical  # read before its searcher, which is set before it
        late = Recall(recall.namespace, recall.query, self.options, self.zone, recall.searcher)
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
        with late.namespace.reading() as fetch:
            late.offer(trace, fetch)
        if asks_overview(late.query.text):  # words alone cannot deny it
            late.evidence = None
        return self._recollection(late, lexical, stage)

    def _recollection(self, recall: Recall, lexical: Lexical, stage: Stage) -> Recollection:
        lead = None
        if asks_overview(recall.query.text):
            with self.namespaces.store.snapshot() as snapshot:
                lead = overview(recall, snapshot)
        recall.lap("fetch")
        return Recollection(
            hits=recall.hits if lead is None else lead,
            stage=stage,
            timings=recall.timings,
            words=lexical.weights,
            trace=recall.trace,
            # A summary always answers, and so does a fact, whatever its words.
            evidence=None if lead is not None or recall.stated else recall.evidence,
            names_speaker=bool(recall.parsed.named),
        )

    def _embed(self, recall: Recall, text: str) -> Encoded | None:
        """Embed a text, if there is a model and the namespace's vectors are of its space."""
        if recall.namespace.space != self.embedding.space:
            return None
        if text not in recall.embedded:
            recall.embedded[text] = self.embedding.query(text, passing=recall.passing)
        return recall.embedded[text]

    def _turned(self, recall: Recall, own: np.ndarray) -> np.ndarray:
        """Return the query's vector, shifted towards those of the last two turns."""
        weight = self.options.ask.dialogue
        vectors = list[np.ndarray]()
        for turn in recall.query.dialogue[-2:] if weight else ():
            if turn.memory:  # a stored turn has its vector in the index
                vector = recall.searcher.vector(turn.memory)
            else:
                embedded = self._embed(recall, turn.text)
                vector = None if embedded is None else embedded.vector
            if vector is not None:
                vectors.append(vector)
        if not vectors:
            return own
        turned = own + weight * np.mean(vectors, axis=0)
        return turned / max(float(np.sqrt(turned.dot(turned))), 1e-9)

    def _rank(self, recall: Recall, lexical: Lexical) -> Candidates:
        """Propose candidates and put them into order."""
        searcher, parsed, options = recall.searcher, recall.parsed, self.options
        own = recall.encoded.vector if recall.encoded else None
        candidates = searcher.candidates(
            lexical,
            recall.turned,
            None if recall.turned is own else own,
            local=recall.query.local,  # for a remote LLM, local-only memories do not even answer
            talk=recall.query.talk or parsed.about_talk,
            visible=recall.query.exclude,
        )
        recall.lap("dense")
        question = Question(
            now=recall.query.now.timestamp(),
            ceiling=lexical.ceiling,
            long_turns=searcher.mean_words >= options.fuse.smooth_below_words,
            memories=len(searcher),
            speakers=searcher.table.speaker_numbers(parsed.named),
            times=parsed.times,
        )

        def compare(best: np.ndarray) -> np.ndarray | None:
            recall.lap("fuse")
            return self._compare(recall, candidates, best)

        score(candidates, question, options.fuse, options.rank, recall.weights, compare)
        recall.lap("fuse" if candidates.similarity is None else "tokens")
        return candidates

    def _compare(
        self, recall: Recall, candidates: Candidates, best: np.ndarray
    ) -> np.ndarray | None:
        """Return the MaxSim of the best candidates, shape (n,), NaN for all others.

        None without token vectors.
        """
        tokens = recall.encoded.tokens if recall.encoded else None
        space = self.embedding.token_key
        if tokens is None or not space:
            return None
        similarity = np.full(len(candidates), np.nan)
        ids = [candidates.ids[n] for n in best.tolist()]
        with self.namespaces.store.snapshot() as snapshot:
            vectors = snapshot.tokens(space, recall.namespace.scope, ids)
        similarity[best] = maxsim(tokens, vectors)
        return similarity


# ------------------------------------------------------------------- several namespaces


def merge(parts: Sequence[Recollection], query: Query, options: RetrievalOptions) -> Recollection:
    """Merge the scopes' results; stage and trace are those of the first, the speaker's own."""
    timings, words = dict[str, float](), dict[str, float]()
    for part in parts:
        for lap, ms in part.timings.items():
            timings[lap] = round(timings.get(lap, 0.0) + ms, 4)
        words |= {word: max(weight, words.get(word, 0.0)) for word, weight in part.words.items()}
    evidence = [part.evidence for part in parts if part.evidence is not None]
    return replace(
        parts[0],
        hits=union(
            [part.hits for part in parts], most_hits(query, options), options.fuse.duplicate
        ),
        timings=timings,
        words=words,
        evidence=max(evidence, key=answer_probability) if len(evidence) == len(parts) else None,
        names_speaker=any(part.names_speaker for part in parts),
    )


def union(lists: Sequence[Sequence[Hit]], limit: int, duplicate: float) -> list[Hit]:
    """Merge the hits of several namespaces; the scores of the result are comparable.

    A score only compares hits of one namespace: it is scaled by the best of them, and rare words of
    one namespace are common in another. The probability that a hit answers is comparable
    everywhere, but orders hits less well. So each namespace keeps its order by score, scaled by the
    probability that it answers at all.

    Args:
        lists: Hits by namespace, best first, after each namespace's own thresholds.
        duplicate: Jaccard similarity of words from which two hits are equal; the better is kept.
    """
    every = sorted((hit for hits in lists for hit in _scaled(hits)), key=lambda hit: -hit.score)
    kept = distinct([hit.memory.text for hit in every], duplicate, limit)
    return [every[place] for place in kept]


def _scaled(hits: Sequence[Hit]) -> list[Hit]:
    """Scale one namespace's scores so that the best is its probability of answering."""
    best = max((hit.score for hit in hits), default=0.0)
    answers = best_of_top(np.array([hit.probability for hit in hits]))
    return [replace(hit, score=hit.score / best * answers if best > 0 else 0.0) for hit in hits]
