"""The record of a recall, and its last stage: whether anything answers, and what is offered."""

import math
import time
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from datetime import datetime, tzinfo
from functools import cache, cached_property, partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.disclosure import Reader, disclose
from slowcat_memory.core.memory import CHUNK, chunk_id, holds, turn_of
from slowcat_memory.core.query.recall_gate import (
    Need,
    Wording,
    lacks_value,
    named_thing,
    names_in,
    revises,
)
from slowcat_memory.core.query.understand import ParsedQuery, parse_query
from slowcat_memory.core.ranking.score import (
    ABOUT_TALK,
    PLAIN,
    WEIGHTS,
    AnswerEvidence,
    Candidates,
    LeftOutReason,
    Offered,
    Weights,
    answer_probability,
    distinct,
    least_share,
    size_weight,
)
from slowcat_memory.core.render.memory_block import FACTS
from slowcat_memory.core.text.normalize import fingerprint, fold
from slowcat_memory.index import Lexical, Searcher
from slowcat_memory.providers import Encoded
from slowcat_memory.records import Disclosed, Hit, Memory
from slowcat_memory.runtime.namespaces.known_facts import Overtaken
from slowcat_memory.runtime.namespaces.registry import Fetch, Namespace, Namespaces
from slowcat_memory.runtime.recall.query import Query, Recollection, RetrievalOptions

WHOLE = 0.5  # share of a memory's words: where more of them are over, all is
WIDER = 0.3  # of the share of the best, offered in a store of a few memories
MOST_FACTS = 3  # of a hit's turn
MOST_CHANGES = 3  # later statements that are compared with the hits
WEAK = 20  # candidates below the share of the best that get that reason in the ledger


class Recall(Struct, eq=False, dict=True):
    """A recall in one namespace, which its stages fill; what is read of a query is read once.

    One thread runs it. Another may wait for it, and read what is done: each attribute is set once,
    when its value is complete, so no lock is needed.

    Attributes:
        searcher: The namespace's index when the recall began; sealing replaces it meanwhile.
        lexical: The best by words.
        embedded: What was embedded, by text; shared by the recalls of one query.
        passing: The query may never be asked: no cache may keep its words.
        encoded: The query's vector, and its tokens' vectors.
        turned: The vector to search with: the query's, shifted towards the dialogue.
        complete: Whether the whole index was searched: a part cannot show that nothing answers.
        trace: The candidates, once they are ranked.
        evidence: Whether anything answers; None where the index was not searched completely.
        hits: What is offered, best first.
        timings: Milliseconds by lap.
        done: The result.
        settled: A late turn's result without the store.
        abandoned: Set by the reader: stop at the next step.
    """

    namespace: Namespace
    query: Query
    options: RetrievalOptions
    zone: tzinfo
    searcher: Searcher
    embedded: dict[str, Encoded | None] = {}
    passing: bool = False
    lexical: Lexical | None = None
    encoded: Encoded | None = None
    turned: np.ndarray | None = None
    complete: bool = True
    trace: Candidates | None = None
    evidence: AnswerEvidence | None = None
    hits: list[Hit] = []
    timings: dict[str, float] = {}
    done: Recollection | None = None
    settled: Recollection | None = None
    abandoned: bool = False
    since: float = 0.0  # when the last lap ended

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.timings[name] = round(self.timings.get(name, 0.0) + (now - self.since) * 1e3, 4)
        self.since = now

    # ------------------------------------------------------------------- the query

    @cached_property
    def parsed(self) -> ParsedQuery:
        query, searcher, options = self.query, self.searcher, self.options
        return parse_query(
            query.text,
            query.now,
            self.zone,
            speakers=searcher.table.speakers,
            heard=searcher.heard(query.text) if options.ask.sounds else (),
            dialogue=query.dialogue,
            language=options.language,
            options=options.ask,
        )

    @cached_property
    def wording(self) -> Callable[[str], Wording]:
        """Returns the words of the query or a memory as they are compared, each read once."""
        return cache(partial(Wording, language=self.options.language))

    @cached_property
    def unseen_thing(self) -> list[str]:
        """What a turn asks the name of, if that was never mentioned: it counts as a name.

        Whatever else has a name is near to "what is my landlord called?".
        """
        words = named_thing(self.query.text, self.options.language)
        return [] if any(map(self.searcher.knows, words)) else words[:1]

    @cached_property
    def unseen_names(self) -> float:
        """The share of the query's names that were never said."""
        names = names_in(self.parsed.words, self.options.language) + self.unseen_thing
        unseen = [name for name in names if not self.searcher.knows(name)]
        if unseen and self.options.ask.sounds:  # a name that sounds like a known one may be it
            heard = {fold(name.said) for name in self.searcher.heard(" ".join(unseen))}
            unseen = [name for name in unseen if fold(name) not in heard]
        return len(unseen) / max(1, len(names))

    @cached_property
    def stated(self) -> list[str]:
        """The chunks that state a fact which the turn asks for, by what facts know."""
        query = self.query
        return self.namespace.facts.stating(query.text, query.now) if query.need else []

    @cached_property
    def reader(self) -> Reader:
        """Who gets the hits. Guests' namespaces are no part of a query: see ``Retrieval``."""
        query = self.query
        return Reader(frozenset((query.scope, *query.also)), query.local, query.called)

    @property
    def asks(self) -> bool:
        """Whether a turn asks anything; False for a search."""
        return self.query.need is not None and self.query.need.asks

    @property
    def limit(self) -> int:
        """How many hits it has at most."""
        return most_hits(self.query, self.options)

    @property
    def weights(self) -> Weights:
        """How candidates are ordered: by what is worth offering to a turn, or for a search.

        Questions and the agent's words are worth less, except to a turn about these.
        """
        if self._share <= 0:
            return PLAIN
        return ABOUT_TALK if self.parsed.about_talk else WEIGHTS

    @property
    def _share(self) -> float:
        """The least share of the best score; smaller in a small store, where little comes near."""
        share = self.query.keep_share
        few = 1.0 - size_weight(len(self.searcher))
        return self.options.recall.keep_share * (1.0 - WIDER * few) if share is None else share

    @property
    def _floor(self) -> float:
        floor = self.query.floor
        return self.options.recall.floor if floor is None else floor

    # ------------------------------------------------------------------- whether anything answers

    def _evidence(
        self, trace: Candidates, missing: float, but: Set[int] = frozenset()
    ) -> AnswerEvidence:
        """Return whether any candidate answers; ``but``: positions of those that do not count."""
        return AnswerEvidence(
            coverage=trace.max_coverage(but),
            max_similarity=trace.max_similarity(but),
            unseen_names=self.unseen_names,
            memories=len(self.searcher),
            lacks_value=missing or float(bool(self.unseen_thing)),
        )

    def _answers(self, trace: Candidates, evidence: AnswerEvidence | None) -> bool:
        """Decide whether anything is offered: the one decision for a block and for its absence.

        A question for a memory is offered what there is exactly where it is not reported that
        nothing is remembered. Any other question is offered it for the same reason, and any other
        turn where the likeliest of the best memories reaches the floor.
        """
        need, unknown_below = self.query.need, self.options.recall.unknown_below
        if need is not None and self.asks and unknown_below and evidence is not None:
            known = answer_probability(evidence) >= unknown_below
            if known or _asks_for_memory(need, bool(self.parsed.named), evidence):
                return known
        return trace.likeliest() >= self._floor

    def _nearest_texts(self, trace: Candidates, chosen: Sequence[Offered]) -> list[str]:
        """Return the texts that a large store would offer as well: the others may hold any value."""
        share, scores = self.options.recall.keep_share, trace.scores
        return [
            offer.memory.text
            for place, offer in enumerate(chosen)
            if scores[offer.at] >= least_share(share, place) * scores[chosen[0].at]
        ]

    def _missing_value(self, texts: Sequence[str], fetch: Fetch) -> float:
        """Return how surely a turn asks for a value that neither texts nor the context have."""
        query, language = self.query, self.options.language
        if not self.asks:
            return 0.0
        missing = lacks_value(query.text, texts, language)
        if not missing or not query.exclude:
            return missing
        visible = [memory.text for memory in fetch(sorted(query.exclude)).values()]
        return min(missing, lacks_value(query.text, visible, language))

    # ------------------------------------------------------------------- what is offered

    def offer(self, trace: Candidates, fetch: Fetch) -> None:
        """Choose the hits, if anything answers.

        What the LLM can read already answers nothing: the decision is about the other candidates.
        """
        self.trace = trace
        trace.below_floor, trace.reasons, trace.rejected = False, {}, set()
        leans = self.parsed.words != self.query.text  # it took words over from the dialogue
        weak = trace.is_weak(self._floor, compare=not leans)
        chosen, remaining = self._choose(trace, weak, fetch), None
        if self.complete:
            missing = self._missing_value(self._nearest_texts(trace, chosen), fetch)
            self.evidence = remaining = self._evidence(trace, missing)
            if trace.rejected:
                remaining = self._evidence(trace, missing, trace.rejected)
        if not self._answers(trace, remaining):
            trace.keep_pinned()
            chosen = self._choose(trace, weak, fetch) if len(trace.order) else []
        if self._share > 0:
            chosen = self._with_stated(chosen, fetch)
        chosen = self._with_changes(self._with_successors(chosen, fetch), fetch)
        self.hits = trace.hits(self._marked(chosen))

    def _choose(self, trace: Candidates, weak: np.ndarray, fetch: Fetch) -> list[Offered]:
        """Return candidates that exist, are valid, strong enough and not visible yet.

        Records are fetched page by page, two pages at most and one more for each excluded text.
        Those that are rejected whatever their score, and all reasons, are added to the trace.
        """
        ids, scores, reasons = trace.ids, trace.scores, trace.reasons
        share, limit, reader = self._share, self.limit, self.reader
        is_visible = trace.visible[trace.order]
        trace.rejected.update(trace.order[is_visible].tolist())
        order = trace.order[~is_visible]
        best = least = -math.inf  # of the usable ones
        usable: dict[int, Disclosed] = {}
        kept: list[int] = []
        page = max(1, limit) + 2
        most = min(2 * page + len(self.query.exclude_words), len(order))
        for start in range(0, most, page):
            names = {n: ids[n] for n in order[start : min(start + page, most)].tolist()}
            memories = fetch([*names.values()])
            for n, id_ in names.items():
                memory = memories.get(id_)
                shown = None if memory is None else disclose(memory, reader)
                if memory is None:
                    trace.reject(n, LeftOutReason.DELETED)
                elif shown is None:
                    trace.reject(n, LeftOutReason.WITHHELD)
                elif reason := self._rejection(memory):
                    trace.reject(n, reason)
                elif share > 0 and weak[n]:  # a search is offered what there is
                    reasons[n] = LeftOutReason.BELOW_FLOOR
                else:
                    best = max(best, scores[n])
                    least = least_share(share, len(usable)) * best if share > 0 else -math.inf
                    if scores[n] >= least or self._changes_one(usable.values(), shown):
                        usable[n] = shown
            texts = [memory.text for memory in usable.values()]
            kept = distinct(texts, self.options.fuse.duplicate, limit)
            if len(kept) == limit or scores[n] < least:
                break
        for n in order[scores[order] < least][:WEAK].tolist():
            if n not in usable:
                reasons.setdefault(n, LeftOutReason.BELOW_SHARE)
        positions = [*usable]
        compared = len(usable) if len(kept) < limit else max(kept, default=0)
        for place in set(range(compared)).difference(kept):
            reasons[positions[place]] = LeftOutReason.DUPLICATE
        return [Offered(usable[positions[place]], positions[place]) for place in kept]

    def _rejection(self, memory: Memory) -> LeftOutReason | None:
        """Return why a memory is rejected, whatever its score; None if it is not."""
        if not holds(memory, self.query.now, self.parsed.times):
            return LeftOutReason.EXPIRED
        words = self.query.exclude_words
        if words and fingerprint(memory.text) in words:
            return LeftOutReason.ALREADY_VISIBLE
        return None

    def _shown(self, ids: Sequence[str], fetch: Fetch) -> list[Disclosed]:
        """Return the memories that may stand beside the hits."""
        usable = [m for m in fetch(ids).values() if not self._rejection(m)] if ids else []
        return [shown for memory in usable if (shown := disclose(memory, self.reader))]

    def _with_stated(self, chosen: list[Offered], fetch: Fetch) -> list[Offered]:
        """Put the turns that state what is asked for first."""
        shown = self._shown([id_ for id_ in self.stated if id_ not in self.query.exclude], fetch)
        known = {memory.id for memory in shown}
        others = [offer for offer in chosen if offer.memory.id not in known]
        return [*map(Offered, shown), *others][: self.limit]

    def _with_successors(self, chosen: list[Offered], fetch: Fetch) -> list[Offered]:
        """Put what holds now before each memory that is over."""
        query, by_id = self.query, dict[str, Offered]()
        for offer in chosen:
            endings = self.namespace.facts.endings(offer.memory.id, query.now)
            ids = [end.newer for end in endings if end.newer and end.newer not in query.exclude]
            for memory in self._shown(ids, fetch):
                by_id.setdefault(memory.id, Offered(memory, offer.at))
            by_id.setdefault(offer.memory.id, offer)
        return list(by_id.values())[: max(len(chosen), self.limit)]

    def _with_changes(self, chosen: list[Offered], fetch: Fetch) -> list[Offered]:
        """Put a later statement that changes a memory before it, for a turn that asks."""
        asked, memories = self.wording(self.query.text), [offer.memory for offer in chosen]
        if not chosen or not self.asks or asked.asks_past:
            return chosen
        known = self.query.exclude.union(memory.id for memory in memories)
        oldest = min(turn_of(memory.id) for memory in memories)
        ids = [id_ for id_ in self.namespace.facts.changing(asked.keys) if id_ not in known]
        newer = [id_ for id_ in ids if turn_of(id_) > oldest][:MOST_CHANGES]
        for shown in self._shown(newer, fetch):
            changed = (n for n, offer in enumerate(chosen) if self._revises(shown, offer.memory))
            if (place := next(changed, None)) is not None:
                chosen = [*chosen[:place], Offered(shown, chosen[place].at), *chosen[place:]]
        return chosen[: max(self.limit, 1)]

    def _marked(self, chosen: list[Offered]) -> list[Offered]:
        """Mark the memories that are over and those that a later one changes, and add facts.

        Facts are added for a question, the nearest to it first, and only for a reader on this
        machine: like a context, a fact's names may come from other turns.
        """
        namespace, reader, asked = self.namespace, self.reader, self.wording(self.query.text)
        newer = [offer.memory for offer in chosen if offer.memory.role == "user"]
        if len(chosen) < 2 or asked.asks_past:
            newer = []
        adds_facts = self.asks and reader.local and not reader.called  # facts have old names
        marked = list[Offered]()
        for memory, at in chosen:
            disclosed = ended(memory, self._endings(memory))
            facets = dict[str, str]()
            if any(self._revises(other, memory) for other in newer):
                facets["earlier"] = "yes"
            holds_on = adds_facts and disclosed.valid_to is None
            if facts := namespace.facts.written(memory.id) if holds_on else ():
                near = {fact: sum(key in fold(fact) for key in asked.keys) for fact in facts}
                facets[FACTS] = "\n".join(sorted(near, key=lambda fact: -near[fact])[:MOST_FACTS])
            if facets:
                disclosed = replace(disclosed, facets=disclosed.facets | facets)
            marked.append(Offered(disclosed, at))
        return marked

    def _endings(self, memory: Memory) -> Sequence[Overtaken]:
        """Return what of a memory is over; what the agent repeated of the turn before it is, too."""
        facts, now, read = self.namespace.facts, self.query.now, self.wording
        if memory.role != "assistant":
            return facts.endings(memory.id, now)
        said = facts.endings(chunk_id(turn_of(memory.id) - 1), now)
        return [end for end in said if read(end.quote).keys & read(memory.text).keys]

    def _changes_one(self, usable: Collection[Memory], memory: Memory) -> bool:
        """Return whether a weak candidate changes a stronger one, and must stand beside it."""
        return (
            memory.role == "user"
            and not self.wording(self.query.text).asks_past
            and self.wording(memory.text).changes
            and any(self._revises(memory, older) for older in usable)
        )

    def _revises(self, newer: Memory, older: Memory) -> bool:
        if newer.role != "user" or not newer.kind == older.kind == CHUNK:
            return False
        # What the agent repeated is over too.
        by_same = older.role == "assistant" or newer.speaker == older.speaker
        read = self.wording
        return (
            by_same
            and newer.valid_from > older.valid_from
            and revises(read(newer.text), read(older.text), read(self.query.text))
        )


def most_hits(query: Query, options: RetrievalOptions) -> int:
    return options.pack.memories if query.k is None else query.k


def _asks_for_memory(need: Need, names_speaker: bool, evidence: AnswerEvidence) -> bool:
    """Return whether a turn asks about the people here.

    A question that names one of them does, and so does one about somebody who was never mentioned,
    or for a value of something definite.
    """
    specific = names_speaker or evidence.unseen_names > 0 or evidence.lacks_value > 0
    return need.asks_memory or (need.asks and specific)


def abstain(recollection: Recollection, need: Need, unknown_below: float) -> Recollection:
    """Return the recollection for the LLM, which may state that a question has no answer.

    The best of bad hits would be taken for an answer: when a turn asks for a memory and nothing
    answers, only pinned memories stay, and the block says that nothing is remembered. Without
    evidence (recall did not come so far), all stays.

    Args:
        unknown_below: Probability that anything answers, below which nothing does.
    """
    evidence, unknown = recollection.evidence, False
    if evidence is not None and answer_probability(evidence) < unknown_below:
        unknown = _asks_for_memory(need, recollection.names_speaker, evidence)
    hits = [hit for hit in recollection.hits if hit.memory.pinned or not unknown]
    return replace(recollection, hits=hits, unknown=unknown, asks_time=need.asks_time)


def abandon(recalls: Iterable[Recall]) -> None:
    """Stop recalls at their next step: nobody waits for them."""
    for recall in recalls:
        recall.abandoned = True


def with_endings(hits: list[Hit], namespaces: Namespaces, scope: str, now: datetime) -> list[Hit]:
    """Return hits that are marked where they are over; guests have no namespace."""
    if namespaces.is_guests(scope):
        return hits
    endings = namespaces.get(scope).facts.endings
    return [replace(hit, memory=ended(hit.memory, endings(hit.memory.id, now))) for hit in hits]


def ended(memory: Disclosed, endings: Sequence[Overtaken]) -> Disclosed:
    """Return a memory that is marked as over, or in part if it says something else too."""
    if not endings:
        return memory
    until = max(end.until for end in endings)
    quotes = {end.quote: None for end in endings if end.quote and end.quote in memory.text}
    words = len(memory.text.split())
    if quotes and sum(len(quote.split()) for quote in quotes) <= WHOLE * words:
        over = {"over": "; ".join(quotes), "until": until.isoformat()}
        return replace(memory, facets={**memory.facets, **over})
    return replace(memory, valid_to=until)
