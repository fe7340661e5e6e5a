"""Input and output of a recall: options, query, recollection, block, ledger row.

The row holds ids, scores and times, no text: query and offers are read from the log when they are
shown, so that forgetting them empties the ledger too.
"""

import math
from collections.abc import Sequence, Set
from datetime import datetime, tzinfo
from enum import StrEnum
from functools import cached_property
from itertools import islice
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from slowcat_memory.core.disclosure import Called, Reader
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.query.recall_gate import GateOptions, IsKnown, Need, judge, nobody
from slowcat_memory.core.query.understand import AskOptions, DialogueTurn, with_context
from slowcat_memory.core.ranking.offering import (
    BEST,
    AnswerEvidence,
    answer_probability,
    nearness_probability,
    probability,
)
from slowcat_memory.core.ranking.score import (
    Candidates,
    FuseOptions,
    Question,
    RankOptions,
    Row,
    Scores,
)
from slowcat_memory.core.render.memory_block import (
    ExtractOptions,
    Packed,
    PackOptions,
    pack,
    relevant,
)
from slowcat_memory.core.text.normalize import Tokenizer, fingerprint
from slowcat_memory.providers import Encoded
from slowcat_memory.records import Disclosed, Hit, LedgerEntry, LeftOut, Offer, Turn
from slowcat_memory.store import Snapshot

MOST_IN_ROW = 20  # memories in a row, offered or not
MOST_VISIBLE = 50
NEAR = 0.95  # share of the MaxSim of what the LLM can read, below which a memory is far below it


Stage = Literal["full", "lexical", "tail", "none", "skipped"]
Milliseconds = Annotated[float, Meta(ge=0, le=3_600_000)]
Probability = Annotated[float, Meta(ge=0, le=1)]


class RecallOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a recall may cost, and what is good enough to offer.

    Attributes:
        deadline_ms: Milliseconds that a turn waits at most for its memories, beyond what was
            recalled ahead; past it, it takes the best stage that is done. More where a reply may
            come later.
        settle_ms: Milliseconds that taking it may cost: the best by words from the store, else from
            the latest memories; past it, the turn goes on without any. Several times what it takes.
        warn_ms: A recall slower than so many milliseconds is logged as a warning.
        floor: Least probability that a memory answers, for it to be offered; pinned ones always
            are. A turn that asks for no memory is offered nothing unless one of the best reaches it
            by words and vectors alone (`core.ranking.offering`).
        keep_share: A memory is offered if its score is at least this share of the best one's, and
            some more for each better one (`core.ranking.offering`); less offers more.
        unknown_below: When a question asks for a memory and the probability that anything answers
            it is below this, the block says that nothing is remembered, and offers only pinned memories. 0 never says so.
    """

    deadline_ms: Milliseconds = 10.0
    settle_ms: Milliseconds = 5.0
    warn_ms: Milliseconds = 8.0
    floor: Probability = 0.10
    keep_share: Probability = 0.80
    unknown_below: Probability = 0.10


class PrefetchOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Recall while a user still speaks.

    Attributes:
        enabled: Recall ahead. It needs STT that sends interim transcripts, or predicts the end of a
            turn; with any other it costs nothing and brings little.
        min_words: Interim transcripts of fewer words begin no recall: they say too little yet.
        every_ms: Milliseconds between two recalls ahead at least: STT needs the same cores, and
            people say two or three words in that time.
        overlap: Share of the words that two texts must have in common for the vector of one to be
            used for the other.
    """

    enabled: bool = True
    min_words: Annotated[int, Meta(ge=0, le=100)] = 3
    every_ms: Milliseconds = 150.0
    overlap: Probability = 0.8


class RetrievalOptions(Struct, frozen=True, kw_only=True):
    """All that a retrieval is configured with; constant while it exists.

    Attributes:
        recall: What a recall may cost, and what is good enough.
        prefetch: When a recall is begun ahead.
        ask: What is read out of a query.
        fuse: Weights of the views.
        rank: Weights of the priors.
        gate: Which turns need no memory.
        pack: How many memories are offered, and in how many tokens.
        extract: How a long memory is cut to what was asked for.
        language: Of time expressions and of the gate's words.
    """

    recall: RecallOptions = field(default_factory=RecallOptions)
    prefetch: PrefetchOptions = field(default_factory=PrefetchOptions)
    ask: AskOptions = field(default_factory=AskOptions)
    fuse: FuseOptions = field(default_factory=FuseOptions)
    rank: RankOptions = field(default_factory=RankOptions)
    gate: GateOptions = field(default_factory=GateOptions)
    pack: PackOptions = field(default_factory=PackOptions)
    extract: ExtractOptions = field(default_factory=ExtractOptions)
    language: str = "english"


def need_of(text: str, options: RetrievalOptions, is_known: IsKnown = nobody) -> Need:
    """Return what a turn needs; with the gate off, everything is searched."""
    need = judge(text, options.language, is_known)
    return need if options.gate.enabled else replace(need, query=text)


class Query(Struct, frozen=True, kw_only=True):
    """A query to the memory. The same object is used in all of a recall.

    Attributes:
        k: How many hits at most; None for ``pack.memories``.
        floor: As in ``RecallOptions``, to override it.
        keep_share: Likewise.
        exclude_words: Fingerprints of texts not to return.
        vector: The text's vector, or all of the embedder's output, if already embedded.
        dialogue: The turns before, oldest first.
        also: Other namespaces that are read beside it.
        local: The hits stay on this machine: local-only memories are included.
        talk: Turns that say nothing, such as questions and fillers, are candidates whatever it asks.
        need: The gate's result for the turn; None for a search, which passes no gate.
        called: Earlier names of the scopes' users, as in ``Reader``.
    """

    text: str
    scope: str
    now: datetime
    k: int | None = None
    floor: float | None = None
    keep_share: float | None = None
    exclude: frozenset[str] = frozenset()
    exclude_words: frozenset[str] = frozenset()
    vector: Encoded | np.ndarray | None = None
    dialogue: tuple[DialogueTurn, ...] = ()
    also: tuple[str, ...] = ()
    local: bool = False
    talk: bool = False
    need: Need | None = None
    called: tuple[Called, ...] = ()

    @property
    def reader(self) -> Reader:
        """Who gets the hits. Guests' namespaces are no part of a query: see ``Retrieval``."""
        return Reader(frozenset((self.scope, *self.also)), self.local, self.called)

    def limit(self, options: RetrievalOptions) -> int:
        return options.pack.memories if self.k is None else self.k


def asks_for_memory(need: Need, *, names_speaker: bool, evidence: AnswerEvidence | None) -> bool:
    """Return whether a turn asks about the people here.

    Args:
        names_speaker: It names one of them.
        evidence: A question about somebody who was never mentioned is one too, and one for a value
            of something definite.
    """
    if need.asks_memory or need.asks_somebody:
        return True
    specific = evidence is not None and (evidence.unseen_names > 0 or evidence.lacks_value > 0)
    return need.asks and (names_speaker or specific)


class LeftOutReason(StrEnum):
    """Why a candidate was rejected. The ledger stores the values: they must not change."""

    BELOW_FLOOR = "floor"  # none of the best was likely enough to answer
    BELOW_SHARE = "share"  # its score is too low relative to the best
    ALREADY_VISIBLE = "heard"  # the same words are in the LLM's context
    DUPLICATE = "duplicate"  # a better hit says the same
    BEYOND_LIMIT = "enough"  # enough better ones were found
    NO_BUDGET = "room"  # a hit that exceeds the block's token budget
    EXPIRED = "over"  # no longer true at the time of the query
    DELETED = "gone"  # no longer in the store
    WITHHELD = "local"  # its reader must not see it


class Offered(NamedTuple):
    """A memory that is offered, and its position among the candidates; -1 if it is none of them."""

    memory: Disclosed
    at: int = -1


class RankingTrace(Struct, eq=False, dict=True):
    """The scored candidates of one query, n of them.

    Attributes:
        below_floor: None is likely enough to answer: ``order`` holds the pinned ones alone.
        reasons: By position, why one of ``order`` is no hit; code that drops a hit adds to it.
        rejected: Positions of those that are no hits, whatever their score.
    """

    candidates: Candidates
    scores: Scores
    question: Question
    below_floor: bool = False
    reasons: dict[int, str] = {}
    rejected: set[int] = set()

    @property
    def order(self) -> np.ndarray:
        """Positions of those that may be offered, best first."""
        order = self.scores.order
        return order[self.candidates.pinned[order]] if self.below_floor else order

    @property
    def visible(self) -> list[str]:
        """Ids of the candidates that the LLM can read already."""
        ids = self.candidates.ids
        return [ids[n] for n in np.flatnonzero(self.candidates.visible).tolist()]

    def keep_pinned(self) -> None:
        """Offer pinned candidates alone: no other is likely enough to answer."""
        self.below_floor = True
        self.reasons = {n: reason for n, reason in self.reasons.items() if n in self.rejected}

    def reject(self, position: int, reason: LeftOutReason) -> None:
        self.reasons[position] = reason
        self.rejected.add(position)

    @cached_property
    def coverage(self) -> np.ndarray:
        """Share of the query's weight in words that each holds, shape (n,)."""
        return self.candidates.block[Row.WINDOW] / max(self.question.ceiling, 1e-9)

    @cached_property
    def probability(self) -> np.ndarray:
        """That each answers, by words and vectors, shape (n,), 0 to 1."""
        cosine = self.candidates.block[Row.COSINE] if "dense" in self.candidates.known else None
        return probability(self.coverage, cosine, self.question.memories)

    @cached_property
    def likelihood(self) -> np.ndarray:
        """That each answers, by words and vectors or by its tokens, shape (n,), 0 to 1."""
        near = self.scores.similarity
        if near is None:
            return self.probability
        return np.maximum(self.probability, nearness_probability(near, self.question.memories))

    def is_weak(self, floor: float, compare: bool) -> np.ndarray:
        """Return which candidates answer no turn, shape (n,); pinned ones are never weak.

        Such are below the floor, or (``compare``) far below what the LLM can read already: the place
        of an answer in the context is not filled. By words alone nothing is weak: there the right
        answer is often unlikely.
        """
        candidates, near = self.candidates, self.scores.similarity
        if near is None:
            return np.zeros(len(candidates), bool)
        weak = self.likelihood < floor
        known = near[candidates.visible & (candidates.block[Row.SUBSTANCE] > 0)]
        if compare and (best := known[~np.isnan(known)].max(initial=0.0)):
            weak |= ~(near >= NEAR * best)
        return weak & ~candidates.pinned

    def likeliest(self) -> float:
        """Return the highest probability of the best candidates that are not rejected."""
        first = self.order[: BEST + len(self.rejected)].tolist()
        kept = [n for n in first if n not in self.rejected][:BEST]
        return max(map(self.probability.item, kept), default=0.0)

    def max_similarity(self, but: Set[int] = frozenset()) -> float:
        """Return the highest MaxSim of a candidate that is not among ``but``.

        NaN without tokens, or if one of the best has none, since it may be nearer.
        """
        near, best = self.scores.similarity, self.scores.best
        if near is None or np.isnan(near[best]).any():
            return math.nan
        return max((near.item(n) for n in best.tolist() if n not in but), default=math.nan)

    def max_coverage(self, but: Set[int] = frozenset()) -> float:
        """Return the highest coverage of a candidate that is not among ``but``."""
        coverage = np.delete(self.coverage, [*but]) if but else self.coverage
        return float(coverage.max(initial=0.0))

    def hits(self, chosen: Sequence[Offered]) -> list[Hit]:
        """Return hits; those that are no candidates answer, and are as good as the best."""
        rows = self._columns_at([one.at for one in chosen if one.at >= 0])
        best, remaining = rows[0][0] if rows else 1.0, iter(rows)
        return [
            self._hit(one.memory, next(remaining))
            if one.at >= 0
            else Hit(memory=one.memory, score=best, probability=1.0)
            for one in chosen
        ]

    def _hit(self, memory: Disclosed, row: Sequence[float]) -> Hit:
        score, probability, coverage, cosine, *views = row
        return Hit(
            memory=memory,
            score=score,
            probability=probability,
            coverage=coverage,
            cosine=None if math.isnan(cosine) else cosine,
            views=dict(zip(self.scores.views, views, strict=True)),
        )

    def _columns_at(self, positions: Sequence[int]) -> list[list[float]]:
        """Return score, probability, coverage, cosine and views, rounded, for each position."""
        scores, block = self.scores, self.candidates.block
        rows = (scores.scores, self.likelihood, self.coverage, block[Row.COSINE])
        at = np.array(positions, np.intp)
        return np.array([row[at] for row in (*rows, *scores.views.values())]).round(4).T.tolist()

    def left_out(self, recalled: Set[str], offered: Set[str], limit: int) -> tuple[LeftOut, ...]:
        """Return the best rejected candidates, best first; ``offered``: ids of the others."""
        above, ids = frozenset(self.order.tolist()), self.candidates.ids
        seen = self.candidates.visible
        every = (n for n in self.scores.order.tolist() if ids[n] not in offered and not seen[n])
        rejected = list(islice(every, max(limit, 0)))
        return tuple(
            LeftOut(
                memory=ids[n],
                reason=str(self._reason(n, above=n in above, recalled=ids[n] in recalled)),
                score=score,
                probability=probability,
                views=dict(zip(self.scores.views, views, strict=True)),
            )
            for n, (score, probability, _, _, *views) in zip(
                rejected, self._columns_at(rejected), strict=True
            )
        )

    def _reason(self, n: int, *, above: bool, recalled: bool) -> str:
        if reason := self.reasons.get(n):
            return reason
        if above:
            return LeftOutReason.NO_BUDGET if recalled else LeftOutReason.BEYOND_LIMIT
        pinned = bool(self.candidates.pinned[n])
        below_floor = self.below_floor and not pinned
        return LeftOutReason.BELOW_FLOOR if below_floor else LeftOutReason.BELOW_SHARE


class Recollection(Struct, frozen=True, kw_only=True):
    """The result of a recall.

    Attributes:
        hits: Best first.
        stage: How far recall came; "skipped" if none was needed.
        timings: Milliseconds by lap: "gate" (on the event loop), "parse", "lexical", "embed", "dense",
            "fuse", "tokens", "fetch"; the processor adds "wait", all that the turn waited. Benchmarks
            rely on the names.
        words: The query's weight by token, for cutting the hits' texts to the query.
        trace: The candidates, for the ledger; None when there were none.
        evidence: Whether anything remembered answers, or is in the LLM's context already; None
            when recall did not come far enough to know.
        names_speaker: The query names a speaker of the namespace.
        unknown: It asks for a memory, and there is none: the block says so.
        unchanged: It asks for a change of the memory and is no command: the block says so.
        asks_time: It asks for the time, or for what depends on it.
        packed: The block of just these hits, if it was written ahead.
    """

    hits: list[Hit] = []
    stage: Stage = "none"
    timings: dict[str, float] = {}
    words: dict[str, float] = {}
    trace: RankingTrace | None = None
    evidence: AnswerEvidence | None = None
    names_speaker: bool = False
    unknown: bool = False
    unchanged: bool = False
    asks_time: bool = False
    packed: Packed | None = None


def abstain(found: Recollection, need: Need, unknown_below: float) -> Recollection:
    """Return the recollection for the LLM, which may state that a question has no answer.

    The best of bad hits would be taken for an answer: when a turn asks for a memory and nothing
    answers, only pinned memories stay, and the block says that nothing is remembered. Without
    evidence (recall did not come so far), all stays.

    Args:
        unknown_below: Probability that anything answers, below which nothing does.
    """
    evidence = found.evidence
    asks = asks_for_memory(need, names_speaker=found.names_speaker, evidence=evidence)
    unknown = asks and evidence is not None and answer_probability(evidence) < unknown_below
    if not unknown and not need.asks_time:
        return found
    hits = [hit for hit in found.hits if hit.memory.pinned] if unknown else found.hits
    return replace(found, hits=hits, unknown=unknown, asks_time=need.asks_time)


class BlockWriter:
    """Writes recollections as blocks for the LLM. Safe to use from any thread."""

    def __init__(self, zone: tzinfo, tokenizer: Tokenizer, options: RetrievalOptions) -> None:
        self._zone, self._tokenizer, self._options = zone, tokenizer, options

    def pack(self, found: Recollection, now: datetime) -> Packed:
        """Return the block for the LLM, in its budget; long memories are cut to the query."""
        options = self._options
        return pack(
            found.hits,
            now,
            self._zone,
            options.pack,
            lambda text, tokens: relevant(
                text, found.words, self._tokenizer, tokens, options.extract, options.language
            ),
            language=options.language,
            unknown=found.unknown,
            unchanged=found.unchanged,
            asks_time=found.asks_time,
        )


def ledger_entry(turn: Turn, found: Recollection, packed: Packed) -> LedgerEntry:
    """Return the row of a numbered turn: what was found, and injected. Takes 0.2 ms."""
    row = LedgerEntry(
        turn=turn.id,
        scope=turn.scope,
        session=turn.session,
        at=turn.at,
        stage=found.stage,
        offers=tuple(
            Offer(
                m.id,
                hit.score,
                hit.views,
                hit.probability,
                m.scope if m.scope != turn.scope else "",
            )
            for hit in packed.hits
            for m in (hit.memory,)
        ),
        tokens=packed.tokens,
        timings=found.timings,
    )
    if found.trace is None:
        return row
    recalled = {hit.memory.id for hit in found.hits}
    offered = {offer.memory for offer in row.offers}
    return replace(
        row,
        left_out=found.trace.left_out(recalled, offered, MOST_IN_ROW - len(offered)),
        visible=tuple(found.trace.visible[:MOST_VISIBLE]),
        candidates=len(found.trace.scores.order) - len(found.trace.visible),
    )


def heard_words(snapshot: Snapshot, row: LedgerEntry) -> frozenset[str]:
    """Return fingerprints of the memories that a recall rejected as in the context already."""
    heard = [one.memory for one in row.left_out if one.reason == LeftOutReason.ALREADY_VISIBLE]
    read = (snapshot.read(row.scope, memory) for memory in heard)
    return frozenset(fingerprint(memory.text) for memory in read if memory)


def dialogue_before(snapshot: Snapshot, turn: Turn) -> tuple[DialogueTurn, ...]:
    """Return the two turns before a turn in its session, oldest first."""
    found: list[DialogueTurn] = []
    id_ = turn.id
    while len(found) < 2 and (id_ := snapshot.turn_before(turn.scope, turn.session, id_)):
        if earlier := snapshot.turn(id_):
            found.append(DialogueTurn(earlier.text, earlier.at, chunk_id(id_)))
    return tuple(reversed(found))


def asked_text(
    snapshot: Snapshot, turn: Turn, options: AskOptions, gate: GateOptions, language: str
) -> str:
    """Return the text that was searched for at a turn.

    That is the turn's words without a greeting, and with the words that a follow-up takes over from
    the dialogue; "" for a turn that needs no memory.
    """
    text = judge(turn.text, language).query if gate.enabled else turn.text
    dialogue = dialogue_before(snapshot, turn) if options.follow_up else ()
    return with_context(text, dialogue, turn.at) if text and dialogue else text
