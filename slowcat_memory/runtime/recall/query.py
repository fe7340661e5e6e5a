"""Input and output of a recall: options, query, recollection, block, ledger row.

The row holds ids, scores and times, no text: query and offers are read from the log when they are
shown, so that forgetting them empties the ledger too.
"""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from slowcat_memory.core.disclosure import Called
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.query.recall_gate import GateOptions, Need, judge
from slowcat_memory.core.query.understand import AskOptions, DialogueTurn, with_context
from slowcat_memory.core.ranking.score import (
    AnswerEvidence,
    Candidates,
    FuseOptions,
    LeftOutReason,
    RankOptions,
)
from slowcat_memory.core.render.memory_block import ExtractOptions, Packed, PackOptions
from slowcat_memory.core.text.normalize import fingerprint
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
            by words and vectors alone (`core.ranking.score`).
        keep_share: A memory is offered if its score is at least this share of the best one's, and
            some more for each better one (`core.ranking.score`); less offers more.
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
        vector: The embedder's output for the text, if already embedded.
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
    vector: Encoded | None = None
    dialogue: tuple[DialogueTurn, ...] = ()
    also: tuple[str, ...] = ()
    local: bool = False
    talk: bool = False
    need: Need | None = None
    called: tuple[Called, ...] = ()


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


def ledger_entry(turn: Turn, recollection: Recollection, packed: Packed) -> LedgerEntry:
    """Return the row of a numbered turn: what was found, and injected. Takes 0.2 ms."""
    trace, offers = recollection.trace, tuple(_offer(hit, turn.scope) for hit in packed.hits)
    recalled = {hit.memory.id for hit in recollection.hits}
    offered = {offer.memory for offer in offers}
    visible = trace.visible_ids if trace else []
    return LedgerEntry(
        turn=turn.id,
        scope=turn.scope,
        session=turn.session,
        at=turn.at,
        stage=recollection.stage,
        offers=offers,
        left_out=trace.left_out(recalled, offered, MOST_IN_ROW - len(offered)) if trace else (),
        visible=tuple(visible[:MOST_VISIBLE]),
        candidates=len(trace) - len(visible) if trace else 0,
        tokens=packed.tokens,
        timings=recollection.timings,
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
