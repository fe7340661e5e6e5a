"""Input and output of a recall: options, query, recollection, block, ledger row.

The row holds ids, scores and times, no text: query and offers are read from the log when they are
shown, so that forgetting them empties the ledger too.
"""

from datetime import datetime, tzinfo
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from slowcat_memory.core.disclosure import Called, Reader
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.query.recall_gate import GateOptions, Need, judge
from slowcat_memory.core.query.understand import AskOptions, DialogueTurn, with_context
from slowcat_memory.core.ranking.offering import (
    AnswerEvidence,
    Candidates,
    LeftOutReason,
    answer_probability,
)
from slowcat_memory.core.ranking.score import FuseOptions, RankOptions
from slowcat_memory.core.render.memory_block import (
    ExtractOptions,
    Packed,
    PackOptions,
    pack,
    relevant,
)
from slowcat_memory.core.text.normalize import Tokenizer, fingerprint
from slowcat_memory.providers import Encoded
from slowcat_memory.records import Hit, LedgerEntry, Offer, Turn
from slowcat_memory.store import Snapshot

MOST_IN_ROW = 20  # memories in a row, offered or not
MOST_VISIBLE = 50


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

    @property
    def asks(self) -> bool:
        """Whether a turn asks anything; False for a search."""
        return self.need is not None and self.need.asks_at_all

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
    trace: Candidates | None = None
    evidence: AnswerEvidence | None = None
    names_speaker: bool = False
    unknown: bool = False
    unchanged: bool = False
    asks_time: bool = False
    packed: Packed | None = None


def abstain(recollection: Recollection, need: Need, unknown_below: float) -> Recollection:
    """Return the recollection for the LLM, which may state that a question has no answer.

    The best of bad hits would be taken for an answer: when a turn asks for a memory and nothing
    answers, only pinned memories stay, and the block says that nothing is remembered. Without
    evidence (recall did not come so far), all stays.

    Args:
        unknown_below: Probability that anything answers, below which nothing does.
    """
    evidence = recollection.evidence
    asks = asks_for_memory(need, names_speaker=recollection.names_speaker, evidence=evidence)
    unknown = asks and evidence is not None and answer_probability(evidence) < unknown_below
    if not unknown and not need.asks_time:
        return recollection
    hits = [hit for hit in recollection.hits if hit.memory.pinned] if unknown else recollection.hits
    return replace(recollection, hits=hits, unknown=unknown, asks_time=need.asks_time)


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


def ledger_entry(turn: Turn, recollection: Recollection, packed: Packed) -> LedgerEntry:
    """Return the row of a numbered turn: what was found, and injected. Takes 0.2 ms."""
    row = LedgerEntry(
        turn=turn.id,
        scope=turn.scope,
        session=turn.session,
        at=turn.at,
        stage=recollection.stage,
        offers=tuple(_offer(hit, turn.scope) for hit in packed.hits),
        tokens=packed.tokens,
        timings=recollection.timings,
    )
    if recollection.trace is None:
        return row
    recalled = {hit.memory.id for hit in recollection.hits}
    offered = {offer.memory for offer in row.offers}
    visible = recollection.trace.visible_ids
    return replace(
        row,
        left_out=recollection.trace.left_out(recalled, offered, MOST_IN_ROW - len(offered)),
        visible=tuple(visible[:MOST_VISIBLE]),
        candidates=len(recollection.trace) - len(visible),
    )


def _offer(hit: Hit, own: str) -> Offer:
    memory = hit.memory
    scope = memory.scope if memory.scope != own else ""
    return Offer(memory.id, hit.score, hit.views, hit.probability, scope)


def heard_words(snapshot: Snapshot, row: LedgerEntry) -> frozenset[str]:
    """Return fingerprints of the memories that a recall rejected as in the context already."""
    heard = [item.memory for item in row.left_out if item.reason == LeftOutReason.ALREADY_VISIBLE]
    read = (snapshot.read(row.scope, memory) for memory in heard)
    return frozenset(fingerprint(memory.text) for memory in read if memory)


def dialogue_before(snapshot: Snapshot, turn: Turn) -> tuple[DialogueTurn, ...]:
    """Return the two turns before a turn in its session, oldest first."""
    turns: list[DialogueTurn] = []
    id_ = turn.id
    while len(turns) < 2 and (id_ := snapshot.turn_before(turn.scope, turn.session, id_)):
        if earlier := snapshot.turn(id_):
            turns.append(DialogueTurn(earlier.text, earlier.at, chunk_id(id_)))
    return tuple(reversed(turns))


def asked_text(
    snapshot: Snapshot, turn: Turn, options: AskOptions, gate: GateOptions, language: str
) -> str:
    """Return the text that was searched for at a turn.

    That is the turn's words without a greeting, and with the words that a follow-up takes over from
    the dialogue; "" for a turn that needs no memory.
    """
    text = judge(turn.text, language).query if gate.enabled else turn.text
    dialogue = dialogue_before(snapshot, turn) if options.follow_up else ()
    return with_context(text, dialogue, turn.at, language)
