"""What orders to the memory are made of: who orders, what comes of it, and what they need."""

from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Literal, Protocol

from msgspec import Struct

from slowcat_memory.core.language import CommandKind
from slowcat_memory.records import LedgerEntry, Memory
from slowcat_memory.runtime.commands.undo_log import Hiding
from slowcat_memory.store import Store

ASKED_S = 120.0  # how long a question of the memory's own waits for its "yes"

Whereabouts = Literal["local", "remote", "unknown"]


class CommandOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Orders to the memory by voice or text.

    Attributes:
        enabled: Recognise them. The words are those of ``memory.language``.
        undo_s: Seconds in which "forget that" can be undone; what it hid is erased for good when the
            next session ends, or the store is opened, after that. 300 is five minutes: the pause
            after which a session ends.
        wait_s: Seconds that an order may take before the agent says that it is still busy. An order
            takes two commits, 20 ms on a slow disk.
        tell: How many memories are read out to "what do you know about me?"; five take half a
            minute to listen to.
    """

    enabled: bool = True
    undo_s: float = 300.0
    wait_s: float = 1.0
    tell: int = 5


class Circumstances(Struct, frozen=True, kw_only=True):
    """Who orders, and where.

    Attributes:
        scope: The person's namespace.
        speaker: Who speaks.
        session: The session.
        turn: Log id of the turn that orders; it is in the log already.
        shared: The namespace that people share, "" for none.
        llm: Where the language model that answers runs.
    """

    scope: str
    speaker: str
    session: str
    turn: int
    shared: str = ""
    llm: Whereabouts = "unknown"


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of an order.

    Attributes:
        kind: The order.
        said: What the agent is to say, one sentence.
        rest: What was said beside the order; the language model is to answer it.
        done: Whether anything was done or told, as against refused, or found nothing.
        entry: Id of the order's row, 0 when it changed nothing.
        turns: Log ids of turns that are forgotten.
        memories: Ids of memories that recall no longer finds.
    """

    kind: CommandKind
    said: str
    rest: str = ""
    done: bool = True
    entry: int = 0
    turns: tuple[int, ...] = ()
    memories: tuple[str, ...] = ()


class Remembers(Protocol):
    """What orders need of the engine."""

    store: Store
    hiding: Hiding
    zone: tzinfo
    clock: Callable[[], datetime]

    def note(
        self, text: str, scope: str, *, speaker: str = "", sources: tuple[int, ...] = ()
    ) -> Memory:
        """Make a note, and do not put it yet.

        Args:
            text: The statement.
            scope: Its namespace.
            speaker: Whose it is.
            sources: Log ids of the turns that it comes from.
        """
        ...

    def why(self, turn: int) -> tuple[LedgerEntry, dict[str, Memory]] | None:
        """Tell what was put before the LLM at a turn.

        Args:
            turn: Log id of the person's turn.
        """
        ...


KeepLocal = Callable[[str, str], object]
"""Marks a memory, by scope and id, as one that never leaves this machine."""
