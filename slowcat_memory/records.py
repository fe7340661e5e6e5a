"""The record types: the log, derived data, bookkeeping and recall results.

All records are frozen. Their text is clean (see ``core.text.normalize.clean``: NFC, no NUL, no lone
surrogates), so it can be stored and sent. Times are aware, in UTC.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct

Role = Literal["user", "assistant"]
Channel = Literal["voice", "text"]

# ------------------------------------------------------------------- source: the log


class Turn(Struct, frozen=True, kw_only=True, tag="turn", omit_defaults=True):
    """One utterance by one speaker."""

    session: str
    scope: str  # the namespace: a person's, or one that people share
    speaker: str  # the speaker's name
    role: Role
    text: str  # cleaned with ``core.text.normalize.clean``
    at: datetime
    id: int = 0  # position in the log, from 1; 0 until the store numbers it
    reply_to: int = 0  # for the agent's turn, the id of the user's turn; else 0
    interrupted: bool = False  # the user interrupted; ``text`` ends there
    tools: tuple[str, ...] = ()  # names of the tools that the agent used for this reply
    channel: Channel = "voice"
    cut: int = 0  # characters removed at the end because it was too long
    aside: bool = False  # a voice command or its answer: logged, never recalled
    origin: str = ""  # its id in the transcript that it was imported from, else ""
    local_only: bool = False  # when it was logged; the mark of its chunk may have changed since
    # (scope, id) of local-only memories that the LLM could read when it said this
    derived_from: tuple[tuple[str, str], ...] = ()
    # log id of the first turn of several that are one: the parts of a turn of several speakers, or
    # the copies of the agent's reply to it; 0 for that first one, and for a turn that is alone
    part_of: int = 0
    unnamed: bool = False  # nobody identified the speaker: ``speaker`` is the user's name by then


EdgeKind = Literal["start", "end", "resume"]


class SessionEdge(Struct, frozen=True, kw_only=True, tag="edge", omit_defaults=True):
    """A session starts, ends, or resumes (which voids its end)."""

    session: str
    scope: str
    kind: EdgeKind
    at: datetime
    id: int = 0  # position in the log, from 1; 0 until the store numbers it
    # why it ended: "silence", "disconnect", "close", or "crash" (found at next open)
    reason: str = ""


Event = Turn | SessionEdge


class Session(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session, computed from the log and kept beside it for fast look-up."""

    id: str
    scope: str
    started: datetime  # time of its first event
    last: datetime  # time of its latest turn, or of its start
    ended: datetime | None = None  # time of its end, None while open
    reason: str = ""
    turns: int = 0
    first_turn: int = 0  # log id of its first turn, 0 when none
    last_turn: int = 0  # log id of its latest turn, 0 when none


# ------------------------------------------------------------------- derived

Confidence = Literal["high", "medium", "low"]


class Ending(Struct, frozen=True):
    """Statements about a subject that are over, by predicate and object."""

    subject: str  # as in the statements that it ends
    predicates: tuple[str, ...] = ()  # in snake_case; none for every predicate
    object: str = ""  # its content words occur in what it ends; "" for any object


class Statement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of a fact; the steps from a turn to the store extend it."""

    subject: str = ""  # a name
    predicate: str = ""  # in snake_case; "" for none
    object: str = ""  # a name or value
    subject_id: str = ""  # of the entity that its turn means; "" where it relates nobody
    object_id: str = ""  # likewise; "" for a value
    quote: str = ""  # the words of the turn that state it
    confidence: Confidence = "high"  # of the extractor
    date: str = ""  # the day it is about, "2026-05-12", "2026-05" or "2026"; "" for none
    last: str = ""  # the last day of several ("2026-05-17"); "" for one
    over: bool = False  # it says that something is over
    corrects: bool = False  # its turn corrects an earlier one, rather than reporting a change
    reported: bool = False  # it was only read aloud or repeated from a text
    ends: tuple[Ending, ...] = ()


class Memory(Struct, frozen=True, kw_only=True, tag="memory", omit_defaults=True):
    """One derived, searchable statement of any kind."""

    id: str  # deterministic from its sources, so that a repeated step repeats its ids
    kind: str  # "chunk", "note", "summary/day", "fact/preference", …: an open set
    scope: str
    speaker: str  # the speaker, or the person it is about
    text: str
    valid_from: datetime  # start of its validity
    context: str = ""  # contextual description, indexed together with the text
    valid_to: datetime | None = None  # end of its validity; None while it is true
    recorded_at: datetime | None = None  # since when it is believed
    retired_at: datetime | None = None  # when it was superseded; None while current
    sources: tuple[int, ...] = ()  # log ids of the turns it was made from
    importance: float = 0.5  # 0 to 1; 0.5 is ordinary
    pinned: bool = False  # always included, at the user's request
    trust: str = "user"  # its source: "user" or "agent"
    role: Role = "user"  # the speaker's role, for chunks; "user" otherwise
    local_only: bool = False  # never sent to an LLM on another machine
    local_inherited: bool = False  # local-only because of its origins, not marked by a person
    muted: bool = False  # kept and listed; never recalled, and in no prompt
    muted_inherited: bool = False  # muted because of its origins, not marked by a person
    derived_from: tuple[tuple[str, str], ...] = ()  # (scope, id) of its origins besides its turns
    statement: Statement = Statement()  # of a fact
    facets: dict[str, str] = {}  # by name: "owner", "covers", …
    made: "Made | None" = None  # the job that made it; None for a user's words or notes


if TYPE_CHECKING:

    class Disclosed(Memory, frozen=True, kw_only=True):
        """A memory that its reader may see. Only ``core.disclosure`` makes one."""
else:
    Disclosed = Memory


class Made(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The job that derived something."""

    job: str  # the idle job that made it
    version: int = 1  # of the job's prompt, or of its rule
    model: str = ""  # fingerprint of the LLM, "" when a rule made it


class Context(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A description of a chunk: speaker, listener, time and subject.

    Kept apart from the chunk, whose text stays the speaker's own words.
    """

    scope: str  # the chunk's namespace
    memory: str  # the chunk's id
    text: str  # one or two sentences; "" when there is nothing to add
    digest: str = ""  # of the LLM's input, so that an unchanged input is not sent again
    sources: tuple[int, ...] = ()  # log ids of its turns, the chunk's own included
    made: Made | None = None


class Key(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A short text under which a memory is found and injected."""

    scope: str  # the memory's namespace
    memory: str  # the memory's id
    id: str  # ``<memory>?<name>``, deterministic; its vector is kept under this id
    # "question" (that it answers), "note", "fact" (it states), "asked" (a real query that an LLM or
    # a correction judged): an open set
    kind: str
    text: str
    weight: float = 1.0  # 0 to 1; negative for a query that it does not answer
    sources: tuple[int, ...] = ()  # log ids of its turns, except the memory's own
    made: Made | None = None


class Vector(Struct, frozen=True, kw_only=True):
    """A memory's vector by one embedder."""

    scope: str  # the memory's namespace
    memory: str  # the memory's id
    values: np.ndarray  # shape (dim,), float32, unit length
    # digest of the text that it was made from. It is written only if that is still the text; 0
    # skips the check
    of: int = 0


class TokenCodes(Struct, frozen=True, kw_only=True):
    """The vectors of a memory's tokens by one embedder, for MaxSim (``core.ranking.token_codes``)."""

    scope: str  # the memory's namespace
    memory: str  # the memory's id
    codes: np.ndarray  # shape (n, bytes of a token), uint8; n may be 0
    of: int = 0  # as in ``Vector``


# ------------------------------------------------------------------- bookkeeping


class Cursor(Struct, frozen=True, kw_only=True):
    """How far a reader of the log, or of a file, has come."""

    name: str  # its owner
    position: int  # the last position that is done
    note: str = ""  # its owner's own data, for example a file's fingerprint
    in_log: bool = True  # the position is a log id: a late event moves it back


class TrustedTime(Struct, frozen=True, kw_only=True):
    """The latest time at which the wall clock was known to be right (``engine.availability``)."""

    at: datetime
    doubted: bool  # since then it has not been


class CommandEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A voice command and what it changed: ids, never a text."""

    id: int  # position among the commands, from 1
    scope: str
    kind: str  # which command (see ``core.commands``)
    at: datetime
    turn: int = 0  # log id of the command's turn; 0 when there is none, or it is forgotten
    made: tuple[str, ...] = ()  # ids of memories that it made
    # ids of memories of ``scope`` to be forgotten, chunks of ``turns`` included; hidden until then
    hidden: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()  # likewise (scope, id) in other namespaces
    turns: tuple[int, ...] = ()  # log ids of turns that are to be forgotten
    due: datetime | None = None  # when what is hidden is erased for good; None for never
    # "asked" until confirmed; "erased" once it cannot be undone
    state: Literal["asked", "done", "undone", "erased"] = "done"

    @property
    def all_hidden(self) -> tuple[tuple[str, str], ...]:
        """Return (scope, id) of every memory that it hid, or found hidden already."""
        return (*((self.scope, id_) for id_ in self.hidden), *self.others)


class Task(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A due piece of idle work; the row exists until it is done."""

    id: str  # ``<job>/<scope>/<key>``, so that the same work is queued once
    job: str
    key: str  # its subject, in the job's own format: a session's id, a turn's, a day
    created: datetime  # when it became due
    scope: str = ""  # its namespace, "" for all
    rank: int = 50  # lowest first; within one rank the oldest first
    note: str = ""  # the job's own data
    sources: tuple[int, ...] = ()  # log ids; forgetting one deletes the task
    attempts: int = 0  # number of failures
    not_before: datetime | None = None  # when it may be retried; None for at once
    error: str = ""  # the last error; never a memory's text
    # "dead" once it is given up, until a person retries it
    state: Literal["waiting", "dead"] = "waiting"


RunOutcome = Literal["done", "retry", "dead", "interrupted", "away"]


class Run(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step of an idle job, in the run log; never a text."""

    task: str
    job: str
    at: datetime
    ms: float
    outcome: RunOutcome  # "interrupted" by speech; "away" when the LLM's server was unreachable
    id: int = 0  # position among the runs, from 1; 0 until the store numbers it
    model: str = ""  # fingerprint of the LLM, "" without one
    tokens_in: int = 0
    tokens_out: int = 0
    made: int = 0  # how many records it stored or retired
    error: str = ""


class WriteBatch(Struct, frozen=True, kw_only=True):
    """All changes of one step, applied in one transaction."""

    memories: tuple[Memory, ...] = ()  # to store; each replaces that of the same scope and id
    # (scope, id) of memories to delete. Not for forgetting: see ``Forget``
    drop: tuple[tuple[str, str], ...] = ()
    # (scope, id, local-only): a person's marks, which nothing else removes; derived ones follow
    marks: tuple[tuple[str, str, bool], ...] = ()
    # (scope, id, muted): as ``marks``
    mutes: tuple[tuple[str, str, bool], ...] = ()
    contexts: tuple[Context, ...] = ()  # to store; an empty text deletes it
    keys: tuple[Key, ...] = ()  # to store, by id
    drop_keys: tuple[tuple[str, str], ...] = ()  # (scope, id) of keys to delete, with their vectors
    vectors: tuple[Vector, ...] = ()
    embedder: str = ""  # key of the embedder that made ``vectors``
    tokens: tuple[TokenCodes, ...] = ()
    token_key: str = ""  # key of the space of ``tokens``
    cursor: Cursor | None = None
    command: CommandEntry | None = None  # the voice command that asked for it
    tasks: tuple[Task, ...] = ()  # to store; existing ones stay, unless ``retask`` is set
    retask: bool = False  # whether ``tasks`` replace existing ones
    # id of the task that this completes, deleted with it. When it no longer exists (done before, or
    # its turns are forgotten), nothing is written but ``run``
    done: str = ""
    run: Run | None = None  # for the run log; written in any case
    call: "CallEntry | None" = None  # for the ledger of calls


class Offer(Struct, frozen=True):
    """An injected memory, in the ledger: an id, never a text.

    ``scope`` is its namespace where that differs from the entry's.
    """

    memory: str
    score: float
    views: dict[str, float] = {}
    probability: float = 0.0
    scope: str = ""


class LeftOut(Struct, frozen=True, array_like=True):
    """A memory that was considered and not injected: an id, never a text."""

    memory: str
    reason: str  # see ``runtime.recall.query``
    score: float  # as in ``Hit``
    probability: float = 0.0  # as in ``Hit``
    views: dict[str, float] = {}  # as in ``Hit``


class LedgerEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What recall did for one user turn."""

    turn: int  # log id of the user's turn
    scope: str
    session: str
    at: datetime
    stage: str = ""  # how far recall got before the deadline (see ``runtime.recall``)
    offers: tuple[Offer, ...] = ()  # the injected memories, in order
    tokens: int = 0  # estimated size of the block
    timings: dict[str, float] = {}  # milliseconds by stage
    left_out: tuple[LeftOut, ...] = ()  # the best rejected memories, by score
    visible: tuple[str, ...] = ()  # ids of memories already in the context
    candidates: int = 0  # number of memories considered

    @property
    def told(self) -> tuple[Offer | LeftOut, ...]:
        """Return the memories with scores, injected ones first."""
        return self.offers + self.left_out

    @property
    def memories(self) -> tuple[str, ...]:
        return tuple(offer.memory for offer in self.told) + self.visible


class CallEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What another program asked of a memory, and which memories it was given: never a text."""

    scope: str
    client: str  # the name that the program gives itself
    tool: str
    at: datetime
    ms: float = 0.0
    memories: tuple[str, ...] = ()  # ids of what it was shown, or has changed
    failed: bool = False
    id: int = 0  # position among the calls, from 1; 0 until the store numbers it


class IndexFile(Struct, frozen=True):
    """A file of a published index, with its hash."""

    name: str
    size: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """The files of one sealed index; files that differ are not loaded."""

    scope: str
    generation: str  # folder name below the index folder
    files: tuple[IndexFile, ...]
    documents: int  # how many memories it holds
    embedder: str  # key of the embedder of its vectors, "" when it holds none
    dim: int  # their dimension, 0 when none
    upto: int  # log id of the last turn that it covers
    tokenizer: int  # version of the tokenizer
    forget_epoch: int  # the store's forget epoch when it was built
    changes: int = 0  # number of the last change of memories and vectors that it covers


# ------------------------------------------------------------------- forgetting


class Forget(Struct, frozen=True, kw_only=True):
    """What to delete for good. All given conditions must hold; giving none is an error."""

    scope: str = ""  # only in this namespace; "" for every one
    turns: tuple[int, ...] = ()  # log ids of turns
    memories: tuple[str, ...] = ()  # ids of memories; a chunk's id means its turn
    speaker: str = ""  # all turns of this speaker
    session: str = ""  # everything in this session
    since: datetime | None = None  # said at or after
    until: datetime | None = None  # said before
    everything: bool = False  # everything (in ``scope``, when given)
    # also the copies, in other namespaces, of the agent's replies that it covers; False for
    # retention, which each namespace has of its own
    copies: bool = True


class Forgotten(Struct, frozen=True, kw_only=True):
    """What was deleted for good."""

    turns: tuple[int, ...] = ()
    # (scope, id) of the derived records, chunks included
    memories: tuple[tuple[str, str], ...] = ()
    erased: bool = False  # true once no byte of their text is left in the store's folder
    backups_deleted: int = 0  # how many backups in the store's folder were deleted with them
    problems: tuple[str, ...] = ()  # why it is not erased yet; upkeep and the next start try again
    remains: tuple[str, ...] = ()  # files of damaged stores, which may still hold their text
    # the durable order to delete this later, if it can be undone; until then it is hidden
    order: CommandEntry | None = None


# ------------------------------------------------------------------- ageing


class Held(Struct, frozen=True, kw_only=True):
    """The size of a tier."""

    memories: int = 0  # how many turns
    blocks: int = 0  # none in the hot tier


# ------------------------------------------------------------------- events


EventKind = Literal["stored", "recalled", "created", "updated", "retired", "marked", "forgotten"]


class MemoryEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something happened to memories: ids and times, never a text."""

    # "stored": a turn is on disk; "recalled": it was put before the LLM at a turn; "updated": its
    # text or meaning changed; "retired": superseded or removed, and readable as history
    what: EventKind
    scope: str
    ids: tuple[str, ...]  # of the memories, chunks included
    kind: str = ""  # of the memories, e.g. "fact/preference"; "" if they differ or it is unknown
    job: str = ""  # what did it: an idle job, "person", "command", ...; "" for a turn
    session: str = ""  # for "stored" and "recalled"
    turn: int = 0  # log id of the turn, for "stored" and "recalled"
    at: datetime | None = None  # when it happened
    origin: str = ""  # "another process", or "" for this one


# ------------------------------------------------------------------- recall


class Hit(Struct, frozen=True, kw_only=True):
    """A memory that answers a query."""

    memory: Disclosed
    score: float  # 0 to about 1, comparable within one result only
    probability: float = 0.0  # that it answers the query, 0 to 1 (see ``core.ranking.score``)
    coverage: float = 0.0  # share of the query's word weight in it and its neighbours
    cosine: float | None = None  # of its vector and the query's; None when one is missing
    views: dict[str, float] = {}  # normalised score by field ("dense", …)


class Hotword(Struct, frozen=True):
    """A word to pass to STT."""

    word: str
    weight: float  # 0 to 1: how characteristic it is of the scope; the highest is 1
    count: int  # number of occurrences
    name: bool
