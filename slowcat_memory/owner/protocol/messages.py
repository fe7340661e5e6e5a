"""The messages between an owner and its clients.

A client says ``Hello`` and is answered ``Welcome`` or ``Refused``. After that both sides send when
they like; what needs an answer has a number. Appends are numbered by a counter of the client, which
goes on over all its connections.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Raw, Struct

from slowcat_memory.core.disclosure import Called
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.core.ranking.offering import AnswerEvidence
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.owner.protocol.wire import Tagged, decoder, framed
from slowcat_memory.records import Cursor, Event, Hit, Turn

CALLS_LIMIT = 64  # calls of one client at a time, and as many recalls


class Message(Struct, frozen=True, array_like=True):
    """Base of all messages."""


# ------------------------------------------------------------------- from a client


class Hello(Message, frozen=True, tag="hello"):
    """``client`` is unique to a process and constant over its connections; ``name`` is for people."""

    protocol: int
    version: str
    client: str
    name: str
    pid: int
    serves: bool = False  # it is a server, to which a bot may give ownership up


class Append(Message, frozen=True, tag="append"):
    """Events, in order and in one transaction; their ids are the client's provisional ones.

    ``floor`` is the least counter that is not acknowledged yet: what is below it is settled.
    """

    counter: int
    floor: int
    events: tuple[Event, ...]
    cursor: Cursor | None = None
    bulk: bool = False  # from ``append_all``


class Call(Message, frozen=True, tag="call"):
    """A call of a method of the memory; ``callbacks`` are those of its arguments that are wanted."""

    number: int
    verb: str
    arguments: Raw
    callbacks: tuple[str, ...] = ()


class Asked(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a turn asks for: the part of ``runtime.recall.query.Query`` that a client knows."""

    text: str
    scope: str
    now: datetime
    exclude: frozenset[str] = frozenset()
    exclude_words: frozenset[str] = frozenset()
    dialogue: tuple[DialogueTurn, ...] = ()
    also: tuple[str, ...] = ()
    local: bool = False
    called: tuple[Called, ...] = ()


class Recall(Message, frozen=True, tag="recall"):
    """A recall for a turn that waits; ``ahead`` is the number of one that was begun for it, or 0."""

    number: int
    asked: Asked
    ahead: int = 0


class Ahead(Message, frozen=True, tag="ahead"):
    """A recall for words that are still being spoken; its result is pushed as ``Recalled``."""

    number: int
    asked: Asked


class Abandon(Message, frozen=True, tag="abandon"):
    """A recall begun ahead is not needed."""

    number: int


class Touch(Message, frozen=True, tag="touch"):
    """Keep warm what the next recall in these scopes needs."""

    asked: Asked


class NoteRecall(Message, frozen=True, tag="note"):
    """What was injected at a turn, of a recall's result; hits are named by their memories' ids."""

    turn: Turn
    ticket: int
    timings: dict[str, float]
    kept: tuple[str, ...]
    offered: tuple[str, ...]
    tokens: int


class Activity(Message, frozen=True, tag="activity"):
    """Somebody speaks, or has ended."""

    name: str
    busy: bool


class Subscribe(Message, frozen=True, tag="subscribe"):
    """The callbacks of ``Memory.subscribe`` that this client wants from now on."""

    wanted: tuple[str, ...]


class Pause(Message, frozen=True, tag="pause"):
    """Close the memory: its files are about to be replaced; see ``pausing``."""


# ------------------------------------------------------------------- from the owner


class Welcome(Message, frozen=True, tag="welcome"):
    """The client is served; it may write from now on."""

    protocol: int
    version: str
    pid: int


class Refused(Message, frozen=True, tag="refused"):
    """The client is not served."""

    reason: str
    hint: str = ""


class Goodbye(Message, frozen=True, tag="goodbye"):
    """The owner ends; with ``to`` "server", the server that just came is the next one."""

    to: str = ""


class Acked(Message, frozen=True, tag="acked"):
    """The events of a counter are durable; the first has this id, the others follow it."""

    counter: int
    first: int


class NotSaved(Message, frozen=True, tag="not saved"):
    """The events of a counter cannot be saved, and will not be."""

    counter: int
    error: "Failure"


class Failure(Message, frozen=True, tag="failure"):
    """An error, by the name of its class."""

    kind: str
    message: str
    hint: str = ""


class Answer(Message, frozen=True, tag="answer"):
    """The result of a call."""

    number: int
    result: Raw


class Failed(Message, frozen=True, tag="failed"):
    """The error of a call or of a recall."""

    number: int
    error: Failure


class Called_(Message, frozen=True, tag="called"):
    """A callback of a call is to be called."""

    number: int
    callback: str
    arguments: tuple[Tagged, ...]


class Found(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A recollection without its trace, which stays with the owner under ``ticket``."""

    hits: list[Hit] = []
    stage: str = "none"
    timings: dict[str, float] = {}
    words: dict[str, float] = {}
    evidence: AnswerEvidence | None = None
    names_speaker: bool = False
    unknown: bool = False
    unchanged: bool = False
    asks_time: bool = False
    packed: Packed | None = None
    ticket: int = 0


class Recalled(Message, frozen=True, tag="recalled"):
    """The result of a recall, or of one begun ahead; None if it came to nothing."""

    number: int
    found: Found | None


class Stale(Message, frozen=True, tag="stale"):
    """Something in a scope changed: results of recalls begun ahead there do not hold any more."""

    scope: str


class Happened(Message, frozen=True, tag="happened"):
    """A callback of ``Memory.subscribe`` is to be called."""

    callback: str
    arguments: tuple[Tagged, ...]


FromClient = (
    Hello
    | Append
    | Call
    | Recall
    | Ahead
    | Abandon
    | Touch
    | NoteRecall
    | Activity
    | Subscribe
    | Pause
)
FromOwner = (
    Welcome | Refused | Goodbye | Acked | NotSaved | Answer | Failed | Called_ | Recalled | Stale
    | Happened
)  # fmt: skip

from_client: Any = decoder(FromClient)
from_owner: Any = decoder(FromOwner)


def frames(messages: Sequence[Message]) -> bytes:
    return b"".join(map(framed, messages))
