"""The nouns: what is said, what is derived from it, and what is found.

All records are frozen. Text in them is clean (see ``core.text.clean``): NFC, no NUL, no lone
surrogates, so that it can always be written and always be sent. Times are aware, in UTC.
"""

from datetime import datetime
from typing import Literal

import numpy as np
from msgspec import Struct

Role = Literal["user", "assistant"]
Channel = Literal["voice", "text"]

# ------------------------------------------------------------------- source: the log


class Turn(Struct, frozen=True, kw_only=True, tag="turn", omit_defaults=True):
    """One utterance by one speaker: half of an exchange.

    Attributes:
        id: Position in the log, from 1; 0 until the store has numbered it.
        session: The session it belongs to.
        scope: The namespace it belongs to: a person, or a pool that people share.
        speaker: Who said it, as a person would name them.
        role: Whether a person or the agent said it.
        text: What was said, verbatim but for ``core.text.clean``.
        at: When it was said.
        reply_to: For the agent's half, the id of the user's half; else 0.
        interrupted: The user cut the agent off; ``text`` is what was spoken before.
        tools: Names of the tools the agent used for this reply.
        channel: Spoken or typed.
        cut: Characters left out at the end because the utterance was too long to keep.
        aside: Said to or by the memory itself (an order, and what it answered): kept in the log,
            never found by recall.
        origin: Its id in the transcript it was imported from, else "".
    """

    session: str
    scope: str
    speaker: str
    role: Role
    text: str
    at: datetime
    id: int = 0
    reply_to: int = 0
    interrupted: bool = False
    tools: tuple[str, ...] = ()
    channel: Channel = "voice"
    cut: int = 0
    aside: bool = False
    origin: str = ""


EdgeKind = Literal["start", "end", "resume"]


class SessionEdge(Struct, frozen=True, kw_only=True, tag="edge", omit_defaults=True):
    """A session begins, ends, or goes on after an end (which voids that end).

    Attributes:
        id: Position in the log, from 1; 0 until the store has numbered it.
        session: The session.
        scope: Its namespace.
        kind: What happened.
        at: When.
        reason: Why it ended: "silence", "disconnect", "close", or "crash" (found at next open).
    """

    session: str
    scope: str
    kind: EdgeKind
    at: datetime
    id: int = 0
    reason: str = ""


Event = Turn | SessionEdge


class Session(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the log says about one session; kept beside the log for fast look-up.

    Attributes:
        id: The session.
        scope: Its namespace.
        started: Time of its first event.
        last: Time of its latest turn, or of its start.
        ended: Time of its end, None while open.
        reason: Why it ended.
        turns: How many turns it holds.
        first_turn: Log id of its first turn, 0 when none.
        last_turn: Log id of its latest turn, 0 when none.
    """

    id: str
    scope: str
    started: datetime
    last: datetime
    ended: datetime | None = None
    reason: str = ""
    turns: int = 0
    first_turn: int = 0
    last_turn: int = 0


# ------------------------------------------------------------------- derived


class Memory(Struct, frozen=True, kw_only=True, tag="memory", omit_defaults=True):
    """One derived, searchable statement; every kind has this one shape.

    Attributes:
        id: Deterministic from its sources, so that repeating a step repeats its ids.
        kind: "chunk", "note", "summary/day", "fact/preference", …: an open set.
        scope: Its namespace.
        speaker: Who said it, or whom it is about.
        text: The statement.
        context: Contextual description, indexed together with the text.
        valid_from: Since when it is true in the user's world.
        valid_to: Until when; None while true.
        recorded_at: Since when we believe it.
        retired_at: When it was superseded; None while current.
        sources: Log ids of the turns it was made from.
        importance: 0 to 1; 0.5 is ordinary.
        pinned: A person asked that it always counts.
        trust: Who vouches for it: "user" or "agent".
        role: Whose words they are, for chunks; "user" otherwise.
        local_only: Never put before an LLM on another machine.
        facets: What a kind keeps beside its text, by name: "quote", "confidence", "topics", …
        made: Which job made it; None for what a person said or kept.
    """

    id: str
    kind: str
    scope: str
    speaker: str
    text: str
    valid_from: datetime
    context: str = ""
    valid_to: datetime | None = None
    recorded_at: datetime | None = None
    retired_at: datetime | None = None
    sources: tuple[int, ...] = ()
    importance: float = 0.5
    pinned: bool = False
    trust: str = "user"
    role: Role = "user"
    local_only: bool = False
    facets: dict[str, str] = {}
    made: "Made | None" = None


class Made(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where something derived comes from.

    Attributes:
        job: The idle job that made it.
        version: Of the job's prompt, or of its rule.
        model: Fingerprint of the LLM, "" when a rule made it.
    """

    job: str
    version: int = 1
    model: str = ""


class Context(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What places a chunk: who says what to whom, when, and what it refers to.

    Kept apart from the chunk, which stays the person's own words.

    Attributes:
        scope: The chunk's namespace.
        memory: The chunk's id.
        text: One or two sentences; "" when there is nothing to add.
        digest: Of what it was made from: the same words in the same place need no second answer.
        sources: Log ids of the turns that it was made from, the chunk's own included.
        made: Who wrote it.
    """

    scope: str
    memory: str
    text: str
    digest: str = ""
    sources: tuple[int, ...] = ()
    made: Made | None = None


class Key(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A short text that points back to a memory: found by it, the memory is what is injected.

    Attributes:
        scope: The memory's namespace.
        memory: The memory's id.
        id: ``<memory>?<name>``, deterministic; its vector is kept under this id.
        kind: "question" (which it answers), "note", "fact" (it states), "asked" (a real query that
            an LLM or a correction judged): an open set.
        text: The text.
        weight: 0 to 1; below 0 for what it does not answer.
        sources: Log ids of the turns that it was made from, beside the memory's own.
        made: Who wrote it.
    """

    scope: str
    memory: str
    id: str
    kind: str
    text: str
    weight: float = 1.0
    sources: tuple[int, ...] = ()
    made: Made | None = None


class Vector(Struct, frozen=True, kw_only=True):
    """A memory's vector by one embedder.

    Attributes:
        scope: The memory's namespace.
        memory: The memory's id.
        values: Shape (dim,), float32, unit length.
        draft: True when the query embedder (int8) made it, to be replaced by the document
            embedder (fp32); both live in one space.
        of: Digest of the text that it was made of (``core.digest``). It is written only if that
            is still the text; 0 where that is sure.
    """

    scope: str
    memory: str
    values: np.ndarray
    draft: bool = False
    of: int = 0


class TokenVectors(Struct, frozen=True, kw_only=True):
    """The vectors of a memory's tokens by one embedder, for ``core.maxsim``.

    Attributes:
        scope: The memory's namespace.
        memory: The memory's id.
        values: Shape (n, token_dim), int8; n may be 0.
        draft: As in ``Vector``.
        of: As in ``Vector``.
    """

    scope: str
    memory: str
    values: np.ndarray
    draft: bool = False
    of: int = 0


# ------------------------------------------------------------------- bookkeeping


class Cursor(Struct, frozen=True, kw_only=True):
    """How far a reader of the log, or of a file, has come.

    Attributes:
        name: Whose cursor.
        position: The last position that is done.
        note: Anything else its owner must know, for example a file's fingerprint.
    """

    name: str
    position: int
    note: str = ""


CommandState = Literal["asked", "done", "undone", "erased"]


class CommandEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person ordered the memory to do, and what that changed: ids, never a text.

    Attributes:
        id: Position among the orders, from 1.
        scope: The namespace that it changed.
        kind: Which order (see ``core.phrases``).
        at: When.
        turn: Log id of the turn that ordered it, 0 when no turn did, or it is forgotten.
        made: Ids of memories that it made.
        hidden: Ids of memories that it took out of recall, chunks of ``turns`` included.
        turns: Log ids of turns that are to be forgotten.
        due: When what is hidden is erased for good; None for never.
        state: "asked" while a person has not confirmed it; "erased" once nothing can be undone.
    """

    id: int
    scope: str
    kind: str
    at: datetime
    turn: int = 0
    made: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()
    due: datetime | None = None
    state: CommandState = "done"


TaskState = Literal["waiting", "dead"]


class Task(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of idle work that is due, until it is done: a row that survives a kill.

    Attributes:
        id: ``<job>/<scope>/<key>``: the same work has the same id, and is there once.
        job: Whose.
        scope: The namespace it works on, "" for all of them.
        key: What it is about, in the job's own words: a session's id, a turn's, a day.
        created: When it fell due.
        rank: Smaller ones first; within one rank the newest first.
        note: What else the job must know; its own format.
        sources: Log ids of the turns that it is about: it goes when one of them is forgotten.
        attempts: How often its outcome could not be used.
        not_before: When it may be tried again; None for at once.
        error: Why it failed last, "" when it did not; never a text of a memory.
        state: "dead" once it is given up; a person may have it tried again.
    """

    id: str
    job: str
    key: str
    created: datetime
    scope: str = ""
    rank: int = 50
    note: str = ""
    sources: tuple[int, ...] = ()
    attempts: int = 0
    not_before: datetime | None = None
    error: str = ""
    state: TaskState = "waiting"


RunOutcome = Literal["done", "retry", "dead", "interrupted", "away"]


class Run(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step of an idle job, as the run log keeps it; never a text.

    Attributes:
        id: Position among the runs, from 1; 0 until the store has numbered it.
        task: The task's id.
        job: Whose.
        at: When it began.
        ms: How long it took.
        outcome: "interrupted" by somebody who spoke; "away" while the LLM's server was.
        model: Fingerprint of the LLM, "" without one.
        tokens_in: Prompt tokens.
        tokens_out: Tokens that it wrote.
        made: How many records it put or retired.
        error: Why it failed, "" when it did not.
    """

    task: str
    job: str
    at: datetime
    ms: float
    outcome: RunOutcome
    id: int = 0
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    made: int = 0
    error: str = ""


class WriteBatch(Struct, frozen=True, kw_only=True):
    """Everything that one step changes, applied in one transaction.

    Attributes:
        memories: To put, by id; replaces a memory of the same scope and id.
        drop: (scope, id) of memories to take away. Not for forgetting: see ``Forget``.
        contexts: To put; replaces the context of the same memory. An empty text takes it away.
        keys: To put, by id.
        drop_keys: (scope, id) of keys to take away, with their vectors.
        vectors: To put.
        embedder: Key of the embedder that made ``vectors``.
        tokens: To put.
        token_key: Key of the space of ``tokens``.
        cursor: Moved in the same transaction.
        command: The order that asked for it, put in the same transaction.
        tasks: To put. One that is there already stays as it is, unless ``retask`` is set.
        retask: Whether ``tasks`` replace those that are there.
        done: Id of the task that this is the outcome of, taken away with it. When it is no longer
            there (done before, or about something that was forgotten), nothing is written at all.
        run: For the run log; written in any case.
    """

    memories: tuple[Memory, ...] = ()
    drop: tuple[tuple[str, str], ...] = ()
    contexts: tuple[Context, ...] = ()
    keys: tuple[Key, ...] = ()
    drop_keys: tuple[tuple[str, str], ...] = ()
    vectors: tuple[Vector, ...] = ()
    embedder: str = ""
    tokens: tuple[TokenVectors, ...] = ()
    token_key: str = ""
    cursor: Cursor | None = None
    command: CommandEntry | None = None
    tasks: tuple[Task, ...] = ()
    retask: bool = False
    done: str = ""
    run: Run | None = None


class Offer(Struct, frozen=True):
    """A memory that was put before the LLM, as the ledger keeps it: an id, never a text.

    ``scope`` is its namespace where that is not the entry's own.
    """

    memory: str
    score: float
    views: dict[str, float] = {}
    probability: float = 0.0
    scope: str = ""


class LeftOut(Struct, frozen=True, array_like=True):
    """A memory that was weighed for a turn and not put before the LLM: an id, never a text.

    Attributes:
        memory: Its id.
        reason: Why (see ``runtime.weighed``).
        score: As in ``Hit``.
        probability: As in ``Hit``.
        views: As in ``Hit``.
    """

    memory: str
    reason: str
    score: float
    probability: float = 0.0
    views: dict[str, float] = {}


class LedgerEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What recall did for one user turn.

    Attributes:
        turn: Log id of the user's turn.
        scope: Its namespace.
        session: Its session.
        at: When.
        stage: How far recall came before the deadline (see ``runtime.recall``).
        offers: What was injected, in order.
        tokens: Estimated size of the block.
        timings: Milliseconds by stage.
        left_out: The best of what was not injected, by score.
        visible: Ids of memories that would have been weighed, had they not stood in the context.
        candidates: How many memories were weighed.
    """

    turn: int
    scope: str
    session: str
    at: datetime
    stage: str = ""
    offers: tuple[Offer, ...] = ()
    tokens: int = 0
    timings: dict[str, float] = {}
    left_out: tuple[LeftOut, ...] = ()
    visible: tuple[str, ...] = ()
    candidates: int = 0

    @property
    def told(self) -> tuple[Offer | LeftOut, ...]:
        """The memories that the row tells scores of: those that were injected come first."""
        return self.offers + self.left_out

    @property
    def memories(self) -> tuple[str, ...]:
        """The ids of all memories that the row speaks of."""
        return tuple(one.memory for one in self.told) + self.visible


class IndexFile(Struct, frozen=True):
    """A file of a published index, as the manifest vouches for it."""

    name: str
    size: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """Vouches for one sealed index; files that differ are not loaded.

    Attributes:
        scope: The namespace it indexes.
        generation: Folder name below the index folder.
        files: Name, size and hash of each file.
        documents: How many memories are inside.
        embedder: Key of the embedder of its vectors, "" when it holds none.
        dim: Their dimension, 0 when none.
        upto: Log id up to which the log is inside.
        tokenizer: Version of the tokenizer.
        forget_epoch: The store's forget epoch when it was built.
        changes: Number of the last change of memories and vectors that is inside.
    """

    scope: str
    generation: str
    files: tuple[IndexFile, ...]
    documents: int
    embedder: str
    dim: int
    upto: int
    tokenizer: int
    forget_epoch: int
    changes: int = 0


# ------------------------------------------------------------------- forgetting


class Forget(Struct, frozen=True, kw_only=True):
    """What a person wants gone. All given conditions must hold; none given is an error.

    Attributes:
        scope: Only in this namespace; "" for every one.
        turns: Log ids of turns.
        memories: Ids of memories; a chunk's id stands for its turn.
        speaker: Everything this speaker said.
        session: Everything in this session.
        since: Said at or after.
        until: Said before.
        everything: Really everything (in ``scope``, when given).
    """

    scope: str = ""
    turns: tuple[int, ...] = ()
    memories: tuple[str, ...] = ()
    speaker: str = ""
    session: str = ""
    since: datetime | None = None
    until: datetime | None = None
    everything: bool = False


class Forgotten(Struct, frozen=True, kw_only=True):
    """What is gone.

    Attributes:
        turns: Log ids of the turns that are gone.
        memories: (scope, id) of the derived records that are gone, chunks included.
        erased: True once no byte of their text is left in the store's files.
    """

    turns: tuple[int, ...] = ()
    memories: tuple[tuple[str, str], ...] = ()
    erased: bool = False


# ------------------------------------------------------------------- ageing


class Aged(Struct, frozen=True, kw_only=True):
    """What one round of ageing moved.

    Attributes:
        warmed: How many events went into warm blocks.
        cooled: How many went on into cold ones.
        done: False when it was stopped before its end: there is more to move.
    """

    warmed: int = 0
    cooled: int = 0
    done: bool = True


class Held(Struct, frozen=True, kw_only=True):
    """What a tier holds.

    Attributes:
        memories: Turns.
        blocks: Blocks; none in the hot tier.
        raw_bytes: What its events take unpacked, each in a row of its own.
        stored_bytes: What they take as they are kept, keys and pointers included.
    """

    memories: int = 0
    blocks: int = 0
    raw_bytes: int = 0
    stored_bytes: int = 0


# ------------------------------------------------------------------- recall


class Hit(Struct, frozen=True, kw_only=True):
    """A memory that answers a query.

    Attributes:
        memory: The record.
        score: 0 to about 1, comparable within one result only.
        probability: That it answers the query, 0 to 1 (see ``core.calibrate``).
        coverage: Share of the query's weight in words that it and its neighbours hold, 0 to 1.
        cosine: Of its vector and the query's; None where one of them is missing.
        views: Normalised score by view ("dense", "tokens", "window", "turn", "session").
    """

    memory: Memory
    score: float
    probability: float = 0.0
    coverage: float = 0.0
    cosine: float | None = None
    views: dict[str, float] = {}


class Hotword(Struct, frozen=True):
    """A word that a recogniser should know.

    Attributes:
        word: As it is written.
        weight: 0 to 1: how telling it is, the most telling one having 1.
        count: How often it was said.
        name: Whether it was used as a name.
    """

    word: str
    weight: float
    count: int
    name: bool
