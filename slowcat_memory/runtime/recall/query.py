"""What is asked of a memory, and what comes to mind."""

from datetime import datetime
from typing import TYPE_CHECKING, Literal, Optional

import numpy as np
from msgspec import Struct

from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.core.ranking.abstention import Signs
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.providers import Encoded
from slowcat_memory.records import Hit

if TYPE_CHECKING:
    from slowcat_memory.runtime.recall.weighed import Weighed

Stage = Literal["full", "lexical", "tail", "none", "skipped"]


class RecallOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a recall may cost, and what is good enough to offer.

    Attributes:
        deadline_ms: A turn waits no longer than this for its memories, beyond what was recalled
            ahead; past it, it takes the best stage that is done.
        settle_ms: How long that may take: the words' best from the store, else from among the
            latest memories; past it, the turn goes on without any. Several times what it takes.
        warn_ms: A slower recall is logged as a warning.
        floor: Least probability that one of the best memories answers (see `core.calibrate`); below
            it, nothing is offered but what is pinned. 0 offers the best of nothing too.
        keep_share: A memory is offered if its score is at least this share of the best one's.
        unknown_below: When a question asks for a memory (see `core.gate`) and the probability that
            anything answers it (see `core.known`) is below this, the block says that nothing is
            remembered, and offers nothing but what is pinned. 0 never says so.
    """

    deadline_ms: float = 10.0
    settle_ms: float = 5.0
    warn_ms: float = 8.0
    floor: float = 0.12
    keep_share: float = 0.75
    unknown_below: float = 0.15


class Query(Struct, frozen=True, kw_only=True):
    """What is asked.

    Attributes:
        text: The user's words.
        scope: The namespace.
        now: The time of the question.
        k: How many hits at most.
        exclude: Ids of memories not to return.
        exclude_words: Fingerprints of texts not to return.
        floor: Least probability of the likeliest of the best hits; below it, only pinned ones.
        keep_share: Least share of the best hit's score.
        doubt: Where less than this speaks for an answer, what is excluded is looked at as well.
        vector: The text's vector, or all that the embedder told, when it was embedded ahead.
        dialogue: The turns before, oldest first.
        also: Other namespaces that are read beside it.
        local: The hits stay on this machine: what is local-only is among them.
    """

    text: str
    scope: str
    now: datetime
    k: int
    exclude: frozenset[str] = frozenset()
    exclude_words: frozenset[str] = frozenset()
    floor: float = 0.0
    keep_share: float = 0.0
    doubt: float = 0.0
    vector: Encoded | np.ndarray | None = None
    dialogue: tuple[DialogueTurn, ...] = ()
    also: tuple[str, ...] = ()
    local: bool = False


class Recollection(Struct, frozen=True, kw_only=True):
    """What came to mind.

    Attributes:
        hits: Best first.
        stage: How far recall came; "skipped" where there was no need of one.
        timings: Milliseconds by stage; "wait", once a turn took it, is all that the turn waited.
        words: The query's weight by token, for who cuts the hits' texts to what was asked.
        weighed: What the hits were chosen from, for the ledger; None when nothing was.
        signs: What speaks for anything remembered answering, or standing in the context that the
            LLM sees; None when recall did not come far enough to tell.
        names_speaker: Whether the query names somebody who speaks in the namespace.
        unknown: It asks for a memory, and there is none: to be said.
        asks_time: It asks for the time, or for what depends on it.
        packed: The block of just these hits, where it was written ahead.
    """

    hits: list[Hit] = []
    stage: Stage = "none"
    timings: dict[str, float] = {}
    words: dict[str, float] = {}
    weighed: Optional["Weighed"] = None
    signs: Signs | None = None
    names_speaker: bool = False
    unknown: bool = False
    asks_time: bool = False
    packed: Packed | None = None
