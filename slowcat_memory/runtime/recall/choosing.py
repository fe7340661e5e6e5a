"""The record of a recall, and its last stage: whether anything answers, and what is offered."""

import math
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.disclosure import Reader, disclose
from slowcat_memory.core.memory import CHUNK, holds, turn_of
from slowcat_memory.core.query.asked_names import named_thing
from slowcat_memory.core.query.asked_values import lacks_value
from slowcat_memory.core.query.revisions import Wordings, revises
from slowcat_memory.core.query.understand import ParsedQuery
from slowcat_memory.core.ranking import fusion
from slowcat_memory.core.ranking.abstention import AnswerEvidence, names_in
from slowcat_memory.core.ranking.selection import (
    ABOUT_TALK,
    PLAIN,
    WEIGHTS,
    Weights,
    any_answers,
    least_share,
)
from slowcat_memory.core.render.in_clear_words import FACTS
from slowcat_memory.core.text.normalize import fingerprint, fold
from slowcat_memory.index import Lexical, Searcher
from slowcat_memory.providers import Encoded
from slowcat_memory.records import Disclosed, Hit, Memory
from slowcat_memory.runtime.namespaces.namespace import Namespace
from slowcat_memory.runtime.recall.query import Query, RetrievalOptions, asks_for_memory
from slowcat_memory.runtime.recall.scoring import LeftOutReason, RankingTrace

if TYPE_CHECKING:
    from slowcat_memory.runtime.namespaces.endings import Ending
    from slowcat_memory.runtime.namespaces.registry import Namespaces

WHOLE = 0.5  # share of a memory's words from which the end of these is the end of all
MOST_FACTS = 3  # of a hit's turn
MOST_CHANGES = 3  # later statements that are compared with the hits
WEAK = 20  # candidates below the share of the best that get that reason in the ledger

Fetch = Callable[[Sequence[str]], dict[str, Memory]]


class RecallState(Struct, eq=False, dict=True):
    """A recall in one namespace, which its stages fill; what is read of a query is read once.

    Attributes:
        searcher: The namespace's index when the recall began.
        lexical: The best by words.
        encoded: The query's vector, and its tokens' vectors.
        turned: The vector to search with: the query's, shifted towards the dialogue.
        trace: The candidates, once they are ranked.
        evidence: Whether anything answers; None where the index was not searched completely.
        hits: What is offered, best first.
    """

    namespace: Namespace
    searcher: Searcher
    query: Query
    parsed: ParsedQuery
    lexical: Lexical
    options: RetrievalOptions
    encoded: Encoded | None = None
    turned: np.ndarray | None = None
    trace: RankingTrace | None = None
    evidence: AnswerEvidence | None = None
    hits: list[Hit] = []

    # ------------------------------------------------------------------- the query

    @cached_property
    def reader(self) -> Reader:
        """Who gets the hits."""
        return self.query.reader

    @cached_property
    def wordings(self) -> Wordings:
        """The words of query and memories, as they are compared."""
        return Wordings(self.options.language)

    @cached_property
    def names(self) -> "_Names":
        """The names in the query, and which of them were never said."""
        names, thing = names_in(self.parsed.words, self.options.language), self._unseen_thing
        names += thing
        unseen = [name for name in names if not self.searcher.knows(name)]
        if unseen and self.options.ask.sounds:  # a name that sounds like a known one may be it
            heard = {fold(one.said) for one in self.searcher.heard(" ".join(unseen))}
            unseen = [name for name in unseen if fold(name) not in heard]
        return _Names(len(unseen) / max(1, len(names)), bool(thing))

    @property
    def _unseen_thing(self) -> list[str]:
        """What a turn asks the name of, if that was never mentioned: it counts as a name.

        Whatever else has a name is near to "what is my landlord called?".
        """
        words = named_thing(self.query.text, self.options.language)
        return [] if any(map(self.searcher.knows, words)) else words[:1]

    @property
    def asks(self) -> bool:
        """Whether a turn asks anything; False for a search."""
        return self.query.need is not None and self.query.need.asks_at_all

    @cached_property
    def stated(self) -> list[str]:
        """The chunks that state a fact which the turn asks for, by what facts know."""
        query = self.query
        return self.namespace.stating(query.text, query.now) if query.need else []

    @property
    def limit(self) -> int:
        """How many hits it has at most."""
        return self.query.limit(self.options)

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
        share = self.query.keep_share
        return self.options.recall.keep_share if share is None else share

    @property
    def _floor(self) -> float:
        floor = self.query.floor
        return self.options.recall.floor if floor is None else floor

    # ------------------------------------------------------------------- whether anything answers

    def evidence_in(self, trace: RankingTrace) -> AnswerEvidence:
        """Return whether any candidate answers that is not rejected."""
        return AnswerEvidence(
            coverage=trace.max_coverage(),
            max_similarity=trace.max_similarity(),
            unseen_names=self.names.unseen,
            memories=len(self.searcher),
            lacks_value=1.0 if self.names.asks_for_name else 0.0,
        )

    def _answers(self, trace: RankingTrace, evidence: AnswerEvidence | None) -> bool:
        query, options = self.query, self.options.recall
        return any_answers(
            evidence,
            trace.likeliest(),
            asks=self.asks,
            asks_for_memory=query.need is not None
            and asks_for_memory(
                query.need, names_speaker=bool(self.parsed.named), evidence=evidence
            ),
            floor=self._floor,
            unknown_below=options.unknown_below,
        )

    def _missing_value(self, fetch: Fetch) -> float:
        """Return how surely a turn asks for a value that neither the hits nor the context has."""
        query, language = self.query, self.options.language
        if not self.asks:
            return 0.0
        missing = lacks_value(query.text, [hit.memory.text for hit in self.hits], language)
        if not missing or not query.exclude:
            return missing
        visible = [memory.text for memory in fetch(sorted(query.exclude)).values()]
        return min(missing, lacks_value(query.text, visible, language))

    # ------------------------------------------------------------------- what is offered

    def offer(self, trace: RankingTrace, fetch: Fetch) -> None:
        """Choose the hits, if anything answers, and complete the evidence by a missing value.

        What the LLM can read already answers nothing: the decision is about what is left of it.
        """
        trace.reset()
        self.hits = []
        if answers := self._answers(trace, self.evidence):
            self.hits = self._choose(trace, fetch)
        remaining = None
        if self.evidence is not None:
            missing = self._missing_value(fetch) or self.evidence.lacks_value
            self.evidence = replace(self.evidence, lacks_value=missing)
            remaining = replace(self.evidence_in(trace), lacks_value=missing)
        if not answers or not self._answers(trace, remaining):
            trace.below_floor = True
            self.hits = self._choose(trace, fetch)
        if self._share > 0:
            self._add_stated(fetch)
        self._mark_endings(fetch)
        self._add_changes(fetch)
        self._mark_earlier()
        self._attach_facts()

    def _choose(self, trace: RankingTrace, fetch: Fetch) -> list[Hit]:
        """Return the hits: candidates that exist, are valid, strong enough and not visible yet.

        Records are fetched page by page, two pages at most and one more for each excluded text.
        Those that are rejected whatever their score, and all reasons, are added to the trace.
        """
        ids, scores, reasons = trace.candidates.ids, trace.ranked.scores, trace.reasons
        share, limit = self._share, self.limit
        leans = self.parsed.words != self.query.text  # it took words over from the dialogue
        is_weak = trace.is_weak(self._floor, compare=not leans)
        is_visible = trace.candidates.visible[trace.order]
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
                shown = None if memory is None else disclose(memory, self.reader)
                if memory is None:
                    trace.reject(n, LeftOutReason.DELETED)
                elif shown is None:
                    trace.reject(n, LeftOutReason.WITHHELD)
                elif reason := self._rejection(memory):
                    trace.reject(n, reason)
                elif share > 0 and is_weak[n]:  # a search is offered what there is
                    reasons[n] = LeftOutReason.BELOW_FLOOR
                else:
                    best = max(best, scores[n])
                    least = least_share(share, len(usable)) * best if share > 0 else -math.inf
                    if scores[n] >= least or self._changes_one(usable.values(), shown):
                        usable[n] = shown
            texts = [memory.text for memory in usable.values()]
            kept = fusion.distinct(texts, self.options.fuse.duplicate, limit)
            if len(kept) == limit or scores[n] < least:
                break
        for n in order[scores[order] < least][:WEAK].tolist():
            if n not in usable:
                reasons.setdefault(n, LeftOutReason.BELOW_SHARE)
        positions = [*usable]
        compared = len(usable) if len(kept) < limit else max(kept, default=0)
        for place in set(range(compared)).difference(kept):
            reasons[positions[place]] = LeftOutReason.DUPLICATE
        chosen = [positions[place] for place in kept]
        return trace.hits(chosen, [usable[n] for n in chosen])

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

    def _add_stated(self, fetch: Fetch) -> None:
        """Put the turns that state what is asked for before the hits."""
        best = self.hits[0].score if self.hits else 1.0
        shown = self._shown([id_ for id_ in self.stated if id_ not in self.query.exclude], fetch)
        first = [Hit(memory=memory, score=best, probability=1.0) for memory in shown]
        known = {memory.id for memory in shown}
        rest = [hit for hit in self.hits if hit.memory.id not in known]
        self.hits = [*first, *rest][: self.limit]

    def _mark_endings(self, fetch: Fetch) -> None:
        """Mark what is over in the hits, and put what holds instead before each."""
        query, namespace, marked = self.query, self.namespace, dict[str, Hit]()
        for hit in self.hits:
            endings = namespace.endings(hit.memory.id, query.now)
            ids = [one.newer for one in endings if one.newer and one.newer not in query.exclude]
            for shown in self._shown(ids, fetch):
                memory = ended(shown, namespace.endings(shown.id, query.now))
                marked.setdefault(shown.id, replace(hit, memory=memory))
            marked.setdefault(hit.memory.id, replace(hit, memory=ended(hit.memory, endings)))
        self.hits = list(marked.values())[: max(len(self.hits), self.limit)]

    def _add_changes(self, fetch: Fetch) -> None:
        """Put a later statement that changes a hit before it, for a turn that asks."""
        asked, hits = self.wordings[self.query.text], self.hits
        if not hits or not self.asks or asked.asks_past:
            return
        known = self.query.exclude.union(hit.memory.id for hit in hits)
        oldest = min(turn_of(hit.memory.id) for hit in hits)
        ids = [id_ for id_ in self.namespace.changing(asked.keys) if id_ not in known]
        newer = fetch([id_ for id_ in ids if turn_of(id_) > oldest])
        for memory in self._likest(list(newer.values())):
            shown = disclose(memory, self.reader)
            if shown is None or self._rejection(memory):
                continue
            changed = (n for n, hit in enumerate(hits) if self._revises(shown, hit.memory))
            if (place := next(changed, None)) is not None:
                hits = [*hits[:place], replace(hits[place], memory=shown), *hits[place:]]
        self.hits = hits[: max(self.limit, 1)]

    def _likest(self, newer: list[Memory]) -> list[Memory]:
        """Return the statements that have most in common with a hit, the latest of equals first."""
        if len(newer) <= MOST_CHANGES:
            return newer
        read = self.wordings
        olds = [read[hit.memory.text] for hit in self.hits]
        near = {one.id: max(map(read[one.text].likeness, olds)) for one in newer}
        return sorted(newer, key=lambda one: near[one.id], reverse=True)[:MOST_CHANGES]

    def _mark_earlier(self) -> None:
        """Mark the hits that a later one changes."""
        if len(self.hits) < 2 or self.wordings[self.query.text].asks_past:
            return
        newer = [hit.memory for hit in self.hits if hit.memory.role == "user"]
        self.hits = [
            replace(hit, memory=_with_facet(hit.memory, "earlier", "yes"))
            if any(self._revises(other, hit.memory) for other in newer)
            else hit
            for hit in self.hits
        ]

    def _attach_facts(self) -> None:
        """Attach to the hits of a question what facts say of their turns, the nearest to it first.

        Only for a reader on this machine: like a context, a fact's names may come from other turns.
        """
        reader = self.reader
        if self.hits and self.asks and reader.local and not reader.called:  # facts have old names
            asked, written = self.wordings[self.query.text].keys, self.namespace.written
            self.hits = [_with_facts(hit, written(hit.memory.id), asked) for hit in self.hits]

    def _changes_one(self, usable: Collection[Memory], memory: Memory) -> bool:
        """Return whether a weak candidate changes a stronger one, and must stand beside it."""
        return (
            memory.role == "user"
            and not self.wordings[self.query.text].asks_past
            and self.wordings[memory.text].changes
            and any(self._revises(memory, older) for older in usable)
        )

    def _revises(self, newer: Memory, older: Memory) -> bool:
        if newer.role != "user" or not newer.kind == older.kind == CHUNK:
            return False
        # What the agent repeated is over too.
        by_same = older.role == "assistant" or newer.speaker == older.speaker
        read = self.wordings
        return (
            by_same
            and newer.valid_from > older.valid_from
            and revises(read[newer.text], read[older.text], read[self.query.text])
        )


class _Names(NamedTuple):
    """The share of a query's names that were never said, and whether it asks for one's name."""

    unseen: float
    asks_for_name: bool


def _with_facts(hit: Hit, facts: Sequence[str], asked: Collection[str]) -> Hit:
    if not facts or hit.memory.valid_to is not None:
        return hit
    near = {fact: sum(key in fold(fact) for key in asked) for fact in facts}
    best = sorted(near, key=lambda fact: -near[fact])[:MOST_FACTS]
    return replace(hit, memory=_with_facet(hit.memory, FACTS, "\n".join(best)))


def _with_facet(memory: Disclosed, name: str, value: str) -> Disclosed:
    return replace(memory, facets={**memory.facets, name: value})


def with_endings(hits: list[Hit], namespaces: "Namespaces", scope: str, now: datetime) -> list[Hit]:
    """Return hits that are marked where they are over; guests have no namespace."""
    if namespaces.is_guests(scope):
        return hits
    endings = namespaces.get(scope).endings
    return [replace(hit, memory=ended(hit.memory, endings(hit.memory.id, now))) for hit in hits]


def ended(memory: Disclosed, endings: "Sequence[Ending]") -> Disclosed:
    """Return a memory that is marked as over, or in part if it says something else too."""
    if not endings:
        return memory
    until = max(one.until for one in endings)
    quotes = [one.quote for one in endings if one.quote and one.quote in memory.text]
    words = len(memory.text.split())
    if quotes and sum(len(quote.split()) for quote in quotes) < WHOLE * words:
        over = {"over": "; ".join(quotes), "until": until.isoformat()}
        return replace(memory, facets={**memory.facets, **over})
    return replace(memory, valid_to=until)
