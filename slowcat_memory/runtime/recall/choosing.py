"""Chooses what is offered to a turn: whether anything answers, and which memories."""

import math
from collections.abc import Callable, Collection, Sequence
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

WHOLE = 0.5  # share of a memory's words from which the end of these is the end of all
MOST_FACTS = 3  # of a hit's turn
MOST_CHANGES = 3  # later statements that are compared with the hits
WEAK = 20  # candidates below the share of the best that get that reason in the ledger

Fetch = Callable[[Sequence[str]], dict[str, Memory]]


class Search(Struct, frozen=True, dict=True):
    """A parsed query in one namespace, and its vectors; what else is read of it, is read once.

    Attributes:
        searcher: The namespace's index when the search began.
        lexical: The best by words.
        encoded: The query's vector, and its tokens' vectors.
        turned: The vector to search with: the query's, shifted towards the dialogue.
    """

    namespace: Namespace
    searcher: Searcher
    query: Query
    parsed: ParsedQuery
    lexical: Lexical
    options: RetrievalOptions
    encoded: Encoded | None = None
    turned: np.ndarray | None = None

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


class _Names(NamedTuple):
    """The share of a query's names that were never said, and whether it asks for one's name."""

    unseen: float
    asks_for_name: bool


class _Candidate(Struct, frozen=True):
    """A candidate for the result: its position in the trace, and its record."""

    position: int
    memory: Disclosed


class Chooser:
    """Chooses among scored candidates, with constant options."""

    def __init__(self, options: RetrievalOptions) -> None:
        self._options = options

    def offer(
        self, search: Search, scored: RankingTrace, fetch: Fetch, evidence: AnswerEvidence | None
    ) -> tuple[RankingTrace, list[Hit], AnswerEvidence | None]:
        """Return the candidates in order, the hits among them, if anything answers, and why.

        What the LLM can read already answers nothing: the decision is about what is left of it.
        The evidence returned is the argument's, completed by whether a value is missing.
        """
        for_turn = self._share(search.query) > 0
        trace = replace(scored, reasons={})
        hits = list[Hit]()
        if answers := self._answers(search, trace, evidence):
            hits, rejected = self._choose(search, trace, fetch)
            left = self.evidence(search, scored, rejected) if evidence and rejected else evidence
            missing = self._lacks_value(search.query, hits, fetch) if left else 0.0
            if evidence and left and missing:
                evidence, left = (replace(one, lacks_value=missing) for one in (evidence, left))
            if rejected or (left and left.lacks_value):
                answers = self._answers(search, trace, left, rejected)
        elif evidence and (missing := self._lacks_value(search.query, (), fetch)):
            evidence = replace(evidence, lacks_value=missing)
        if not answers:
            reasons, trace = trace.reasons, trace.pinned_only()
            hits, _ = self._choose(search, trace, fetch)
            trace.reasons.update(reasons)
        hits = self._with_stated(search, hits, fetch) if for_turn else hits
        hits = self._with_endings(search, hits, fetch)
        return trace, with_facts(search, hits, self._options.language), evidence

    def weights(self, search: Search) -> Weights:
        """Return how candidates are ordered: by what is worth offering to a turn, or for a search.

        Questions and the agent's words are worth less, except to a turn about these.
        """
        if self._share(search.query) <= 0:
            return PLAIN
        return ABOUT_TALK if search.parsed.about_talk else WEIGHTS

    def _lacks_value(self, query: Query, hits: Sequence[Hit], fetch: Fetch) -> float:
        """Return how surely a turn asks for a value that neither the hits nor the context has."""
        language = self._options.language
        if query.need is None or not query.need.asks_at_all:
            return 0.0
        missing = lacks_value(query.text, [hit.memory.text for hit in hits], language)
        if not missing or not query.exclude:
            return missing
        visible = [memory.text for memory in fetch(sorted(query.exclude)).values()]
        return min(missing, lacks_value(query.text, visible, language))

    def stated(self, search: Search) -> list[str]:
        """Return the chunks that state a fact which the turn asks for, by what facts know."""
        query = search.query
        return search.namespace.stating(query.text, query.now) if query.need else []

    def _with_stated(self, search: Search, hits: list[Hit], fetch: Fetch) -> list[Hit]:
        """Put the turns that state what is asked for before the hits."""
        query = search.query
        ids = [chunk for chunk in self.stated(search) if chunk not in query.exclude]
        first = list[Hit]()
        for memory in fetch(ids).values() if ids else ():
            shown = disclose(memory, search.reader)
            if shown is not None and not _rejection(memory, query, search.parsed):
                best = hits[0].score if hits else 1.0
                first.append(Hit(memory=shown, score=best, probability=1.0))
        known = {hit.memory.id for hit in first}
        rest = [hit for hit in hits if hit.memory.id not in known]
        return [*first, *rest][: query.limit(self._options)]

    def _with_endings(self, search: Search, hits: Sequence[Hit], fetch: Fetch) -> list[Hit]:
        """Mark what is over in the hits, and put what holds instead before each."""
        query, found = search.query, dict[str, Hit]()
        for hit in hits:
            endings = search.namespace.endings(hit.memory.id, query.now)
            ids = [one.newer for one in endings if one.newer and one.newer not in query.exclude]
            for memory in fetch(ids).values() if ids else ():
                shown = disclose(memory, search.reader)
                if shown is not None and not _rejection(memory, query, search.parsed):
                    marked = ended(shown, search.namespace.endings(shown.id, query.now))
                    found.setdefault(shown.id, replace(hit, memory=marked))
            found.setdefault(hit.memory.id, replace(hit, memory=ended(hit.memory, endings)))
        limit = max(len(hits), query.limit(self._options))
        every = self._with_changes(search, list(found.values())[:limit], fetch)
        return _with_earlier(search, every)

    def _with_changes(self, search: Search, hits: list[Hit], fetch: Fetch) -> list[Hit]:
        """Put a later statement that changes a hit before it, for a turn that asks."""
        query = search.query
        asks = query.need is not None and query.need.asks_at_all
        if not hits or not asks or search.wordings[query.text].asks_past:
            return hits
        known = query.exclude.union(hit.memory.id for hit in hits)
        oldest = min(turn_of(hit.memory.id) for hit in hits)
        changing = search.namespace.changing(search.wordings[query.text].keys)
        ids = [one for one in changing if one not in known]
        newer = fetch([one for one in ids if turn_of(one) > oldest])
        for memory in _likest(search, list(newer.values()), hits):
            shown = disclose(memory, search.reader)
            if shown is None or _rejection(memory, query, search.parsed):
                continue
            changed = (n for n, hit in enumerate(hits) if _revises(search, shown, hit.memory))
            if (place := next(changed, None)) is not None:
                hits = [*hits[:place], replace(hits[place], memory=shown), *hits[place:]]
        return hits[: max(query.limit(self._options), 1)]

    def evidence(
        self, search: Search, trace: RankingTrace, rejected: Collection[int] = ()
    ) -> AnswerEvidence:
        """Return whether any candidate answers, except those at rejected positions."""
        return AnswerEvidence(
            coverage=trace.max_coverage(rejected),
            max_similarity=trace.max_similarity(rejected),
            unseen_names=search.names.unseen,
            memories=len(search.searcher),
            lacks_value=1.0 if search.names.asks_for_name else 0.0,
        )

    def _answers(
        self,
        search: Search,
        trace: RankingTrace,
        evidence: AnswerEvidence | None,
        rejected: Collection[int] = (),
    ) -> bool:
        return any_answers(
            evidence,
            trace.likeliest(rejected),
            asks=search.query.need is not None and search.query.need.asks_at_all,
            asks_for_memory=asks(search, evidence),
            floor=self._floor(search.query),
            unknown_below=self._options.recall.unknown_below,
        )

    def _share(self, query: Query) -> float:
        return self._options.recall.keep_share if query.keep_share is None else query.keep_share

    def _choose(
        self, search: Search, trace: RankingTrace, fetch: Fetch
    ) -> tuple[list[Hit], set[int]]:
        """Return the hits: candidates that exist, are valid, strong enough and not visible yet.

        Records are fetched page by page, two pages at most and one more for each excluded text.
        The reasons of rejections are added to ``trace.reasons``.

        Returns:
            The hits, and the positions of the candidates that were rejected whatever their score.
        """
        ids, scores, reasons = trace.candidates.ids, trace.scores, trace.reasons
        query, options, reader = search.query, self._options, search.reader
        limit, share = query.limit(options), self._share(query)
        leans = search.parsed.words != query.text  # near to the dialogue by the words it took over
        is_weak = trace.is_weak(self._floor(query), 0.0 if leans else share)
        is_visible = trace.candidates.visible[trace.order]
        rejected, order = set(trace.order[is_visible].tolist()), trace.order[~is_visible]
        best = least = -math.inf  # of the usable ones
        usable, kept = list[_Candidate](), list[int]()
        page = max(1, limit) + 2
        most = min(2 * page + len(query.exclude_words), len(order))
        for start in range(0, most, page):
            names = {n: ids[n] for n in order[start : min(start + page, most)].tolist()}
            memories = fetch([*names.values()])
            for n, id_ in names.items():
                memory = memories.get(id_)
                shown = None if memory is None else disclose(memory, reader)
                if memory is None or shown is None:
                    gone = memory is None
                    reasons[n] = LeftOutReason.DELETED if gone else LeftOutReason.WITHHELD
                    rejected.add(n)
                elif reason := _rejection(memory, query, search.parsed):
                    reasons[n] = reason
                    rejected.add(n)
                elif share > 0 and is_weak[n]:  # a search is offered what there is
                    reasons[n] = LeftOutReason.BELOW_FLOOR
                else:
                    best = max(best, scores[n])
                    least = least_share(share, len(usable)) * best if share > 0 else -math.inf
                    if scores[n] >= least or _changes_one(search, usable, shown):
                        usable.append(_Candidate(n, shown))
            texts = [one.memory.text for one in usable]
            kept = fusion.distinct(texts, options.fuse.duplicate, limit)
            if len(kept) == limit or scores[n] < least:
                break
        weak = order[scores[order] < least][:WEAK].tolist()
        strong = {one.position for one in usable}
        for n in set(weak) - strong:
            reasons.setdefault(n, LeftOutReason.BELOW_SHARE)
        compared = len(usable) if len(kept) < limit else max(kept, default=0)
        for place in set(range(compared)).difference(kept):
            reasons[usable[place].position] = LeftOutReason.DUPLICATE
        chosen = [usable[place] for place in kept]
        return trace.hits([o.position for o in chosen], [o.memory for o in chosen]), rejected

    def _floor(self, query: Query) -> float:
        return self._options.recall.floor if query.floor is None else query.floor


def _likest(search: Search, newer: list[Memory], hits: Sequence[Hit]) -> list[Memory]:
    """Return the statements that have most in common with a hit, the latest of equals first."""
    if len(newer) <= MOST_CHANGES:
        return newer
    read = search.wordings
    olds = [read[hit.memory.text] for hit in hits]
    near = {one.id: max(map(read[one.text].likeness, olds)) for one in newer}
    return sorted(newer, key=lambda one: near[one.id], reverse=True)[:MOST_CHANGES]


def _with_earlier(search: Search, hits: list[Hit]) -> list[Hit]:
    """Mark the hits that a later one changes."""
    if len(hits) < 2 or search.wordings[search.query.text].asks_past:
        return hits
    newer = [hit.memory for hit in hits if hit.memory.role == "user"]
    return [
        replace(hit, memory=replace(hit.memory, facets={**hit.memory.facets, "earlier": "yes"}))
        if any(_revises(search, other, hit.memory) for other in newer)
        else hit
        for hit in hits
    ]


def _changes_one(search: Search, usable: Sequence[_Candidate], memory: Memory) -> bool:
    """Return whether a weak candidate changes a stronger one, and must stand beside it."""
    return (
        memory.role == "user"
        and not search.wordings[search.query.text].asks_past
        and search.wordings[memory.text].changes
        and any(_revises(search, memory, one.memory) for one in usable)
    )


def _revises(search: Search, newer: Memory, older: Memory) -> bool:
    if newer.role != "user" or not newer.kind == older.kind == CHUNK:
        return False
    # What the agent repeated is over too.
    by_same = older.role == "assistant" or newer.speaker == older.speaker
    read = search.wordings
    return (
        by_same
        and newer.valid_from > older.valid_from
        and revises(read[newer.text], read[older.text], read[search.query.text])
    )


def asks(search: Search, evidence: AnswerEvidence | None) -> bool:
    """Return whether the turn asks for a memory, so that it matters that there is none."""
    need, named = search.query.need, bool(search.parsed.named)
    return need is not None and asks_for_memory(need, names_speaker=named, evidence=evidence)


def with_facts(search: Search, hits: list[Hit], language: str) -> list[Hit]:
    """Attach to the hits of a question what facts say of their turns, the nearest to it first.

    Only for a reader on this machine: like a context, a fact's names may come from other turns.
    """
    query = search.query
    reader, asks_at_all = search.reader, query.need is not None and query.need.asks_at_all
    if not hits or not asks_at_all or not reader.local or reader.called:  # facts have old names
        return hits
    asked = search.wordings[query.text].keys
    return [_with_facts(hit, search.namespace.written(hit.memory.id), asked) for hit in hits]


def _with_facts(hit: Hit, facts: Sequence[str], asked: Collection[str]) -> Hit:
    if not facts or hit.memory.valid_to is not None:
        return hit
    near = {fact: sum(key in fold(fact) for key in asked) for fact in facts}
    best = sorted(near, key=lambda fact: -near[fact])[:MOST_FACTS]
    facets = {**hit.memory.facets, FACTS: "\n".join(best)}
    return replace(hit, memory=replace(hit.memory, facets=facets))


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


def _rejection(memory: Memory, query: Query, parsed: ParsedQuery) -> LeftOutReason | None:
    """Return why a memory is rejected, whatever its score; None if it is not."""
    if not holds(memory, query.now, parsed.times):
        return LeftOutReason.EXPIRED
    if query.exclude_words and fingerprint(memory.text) in query.exclude_words:
        return LeftOutReason.ALREADY_VISIBLE
    return None
