"""Answers a query from one namespace, in six steps on the caller's thread.

    parse -> lexical -> embed -> propose -> score -> offer

The steps completed are the stage of the result: ``tail`` (lexical, over what was indexed since the
last seal), ``lexical`` (over everything), ``full`` (words and vectors). Each step stores its result
in the ``Recall``, so that a turn whose deadline passes while its query is embedded takes what is
ready: see ``settle``. All steps run on one thread: handing over to another costs 32 us.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.disclosure import disclose_found
from slowcat_memory.core.memory import SESSION_SUMMARY, SUMMARY
from slowcat_memory.core.query.understand import asks_overview
from slowcat_memory.core.ranking.offering import Candidates, Question
from slowcat_memory.core.ranking.score import score
from slowcat_memory.core.ranking.token_codes import maxsim
from slowcat_memory.core.summaries.summary import items, without_repeats
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.core.time.expressions import Interval, periods_of, times
from slowcat_memory.index import Lexical
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import Encoded
from slowcat_memory.records import Disclosed, Hit, Memory
from slowcat_memory.runtime.namespaces.embedding import Embedding
from slowcat_memory.runtime.recall.choosing import Recall
from slowcat_memory.runtime.recall.query import Recollection, RetrievalOptions, Stage
from slowcat_memory.store import Snapshot, Store

WARM_WORDS = 12  # of the latest memory: as many as a question has
WARM_UP = "warm up"  # for a scope without a memory
# Summaries for overview questions.
MOST = 4  # summaries per question
SESSIONS = 3  # of them from the latest sessions, if the question names no time
LOOKED_AT = 12  # sessions of a time span that are read


@dataclass(eq=False, repr=False)
class Pipeline:
    """Runs queries against namespaces. Its options are constant; any thread may run it.

    ``metrics`` counts recalls that excluded local-only memories.
    """

    store: Store
    embedding: Embedding
    metrics: Metrics
    zone: tzinfo
    options: RetrievalOptions

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
        overview = self._lead(recall) if asks_overview(recall.query.text) else None
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

    def touch(self, recalls: Iterable[Recall]) -> float:
        """Recall with the query's words, or those of each scope's latest memory, for nothing.

        The result is thrown away, and nothing of it is counted.

        Returns:
            The processor time that it took, in seconds.
        """
        began = time.thread_time()
        for recall in recalls:
            memory, text, vector = recall.namespace.hot.latest(), recall.query.text, None
            if memory is not None:
                text = text or " ".join(memory.text.split()[:WARM_WORDS])
                # Embedding may cost somebody else something, unless the model is our own.
                vector = None if self.embedding.is_own else recall.searcher.vector(memory.id)
            changed = {
                "text": text or WARM_UP,
                "vector": None if vector is None else Encoded(vector),
            }
            recall.query = replace(recall.query, **changed, floor=0.0, local=True)
            self.run(recall)
        return time.thread_time() - began

    # ------------------------------------------------------------------- embed

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

    # ------------------------------------------------------------------- score

    def _rank(self, recall: Recall, lexical: Lexical) -> Candidates:
        """Propose candidates and put them into order."""
        searcher, parsed, options = recall.searcher, recall.parsed, self.options
        own = recall.encoded.vector if recall.encoded else None
        if not recall.query.local and searcher.has_local:
            self.metrics.count("local_only_withheld")
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
        with self.store.snapshot() as snapshot:
            vectors = snapshot.tokens(space, recall.namespace.scope, ids)
        similarity[best] = maxsim(tokens, vectors)
        return similarity

    # ------------------------------------------------------------------- overviews
    # Found by the name of their period. They are in no index, so that they cannot displace turns or
    # change word statistics. A period's summary needs no search: its id is its name. For the latest
    # time, or a day that is not over, the summaries of its sessions are used.

    def _lead(self, recall: Recall) -> list[Hit] | None:
        """Return the hits of an overview question with summaries before them; None without any."""
        query = recall.query
        asked = times(query.text, query.now, self.zone, self.options.language)
        past = [interval for interval in asked if interval.start < query.now]
        with self.store.snapshot() as snapshot:
            rows = list(self._summaries(snapshot, recall, past))
        if not rows:
            return None
        texts = without_repeats([row.text for row in rows])
        rows = [replace(row, text=text) for row, text in zip(rows, texts, strict=True) if text]
        told = [f" {fingerprint(text)} " for text in texts]
        hits = [
            hit
            for hit in recall.hits
            if not any(f" {fingerprint(hit.memory.text)} " in text for text in told)
        ]
        best = max((hit.score for hit in hits), default=1.0)
        first = [
            Hit(memory=memory, score=round(best + 0.01 * (len(rows) - n), 4), probability=1.0)
            for n, memory in enumerate(rows)
        ]
        return [*first, *hits][: recall.limit]

    def _summaries(
        self, snapshot: Snapshot, recall: Recall, past: Sequence[Interval]
    ) -> Iterator[Disclosed]:
        query, seen = recall.query, set[str]()
        for memory in self._candidates(snapshot, recall.namespace.scope, query.now, past):
            if memory.id in seen or memory.id in query.exclude or memory.retired_at:
                continue
            shown = disclose_found(memory, recall.reader, snapshot.memory)
            if shown is None:
                continue
            seen.add(memory.id)
            yield shown
            if len(seen) == MOST:
                return

    def _candidates(
        self, snapshot: Snapshot, scope: str, now: datetime, past: Sequence[Interval]
    ) -> Iterator[Memory]:
        """Yield the summaries of a time span, longest period first; else of the latest sessions."""
        if not past:
            yield from self._sessions(snapshot, scope, None)
        days = list[Memory]()
        for name in periods_of(past, now, self.zone):
            if memory := snapshot.memory(scope, f"{SUMMARY}/{name}"):
                days.append(memory)
                yield memory
        for memory in days:
            for id in items(memory, "covers"):
                if part := snapshot.memory(scope, id):
                    yield part
        for interval in past if not days else ():
            yield from self._sessions(snapshot, scope, (interval.start, interval.end))

    def _sessions(
        self, snapshot: Snapshot, scope: str, span: tuple[datetime, datetime] | None
    ) -> Iterator[Memory]:
        """Yield the summaries of the latest sessions, or of those of a time span."""
        every = snapshot.sessions(scope)  # 2.5 us each
        sessions = sorted(every, key=lambda session: (session.last, session.started), reverse=True)
        if span is not None:
            begun, over = span[0], span[1] + timedelta(hours=4)  # a day ends in the small hours
            sessions = [s for s in sessions if s.last >= begun and s.started < over]
        read = (snapshot.memory(scope, f"{SESSION_SUMMARY}/{s.id}") for s in sessions[:LOOKED_AT])
        yield from [memory for memory in read if memory][: SESSIONS if span is None else LOOKED_AT]
