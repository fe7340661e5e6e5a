"""Types of voice commands: options, the context of a command, its outcome, and what it needs."""

from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Annotated, Literal, Protocol

from msgspec import Meta, Struct

from slowcat_memory.core.language import CommandKind
from slowcat_memory.records import LedgerEntry, Memory
from slowcat_memory.runtime.commands.undo_log import UndoLog
from slowcat_memory.store import Store

ASKED_S = 120.0  # how long a question of the memory waits for its "yes"

LLMPlace = Literal["local", "remote", "unknown"]


class CommandOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Voice commands, spoken or typed.

    Attributes:
        enabled: Recognise them, in the language of ``index.language``.
        undo_s: Seconds in which "forget that" can be undone; what it hid is erased when the next
            session ends, or the store is opened, after that. 300 is five minutes: the pause after
            which a session ends.
        wait_s: Seconds that a command may take before the agent says that it is still busy. A
            command takes two commits, 20 ms on a slow disk.
        tell: How many memories are read out to "what do you know about me?"; five take half a
            minute to listen to.
    """

    enabled: bool = True
    undo_s: Annotated[float, Meta(ge=0)] = 300.0
    wait_s: Annotated[float, Meta(gt=0)] = 1.0
    tell: Annotated[int, Meta(ge=1)] = 5


class CommandContext(Struct, frozen=True, kw_only=True):
    """The speaker of a command, and where it was given.

    Attributes:
        scope: The user's namespace.
        speaker: Display name.
        session: The session.
        turn: Log id of the command's turn, which is in the log already.
        shared: The namespace that people share, "" for none.
        llm: Where the language model that answers runs.
    """

    scope: str
    speaker: str
    session: str
    turn: int
    shared: str = ""
    llm: LLMPlace = "unknown"


class Outcome(Struct, frozen=True, kw_only=True):
    """What became of a voice command.

    Attributes:
        kind: The command.
        said: The answer, one sentence.
        rest: What was said beside the command, for the language model to answer.
        done: Whether anything was changed or told; False if it was refused, or found nothing.
        entry: Id of the command's row, 0 when it changed nothing.
        turns: Log ids of forgotten turns.
        memories: Ids of memories that recall no longer finds.
    """

    kind: CommandKind
    said: str
    rest: str = ""
    done: bool = True
    entry: int = 0
    turns: tuple[int, ...] = ()
    memories: tuple[str, ...] = ()


class CommandMemory(Protocol):
    """What commands need of the engine."""

    store: Store
    undo_log: UndoLog
    zone: tzinfo
    clock: Callable[[], datetime]

    def note(
        self, text: str, scope: str, *, speaker: str = "", sources: tuple[int, ...] = ()
    ) -> Memory:
        """Make a note without storing it.

        Args:
            text: The statement.
            scope: Its namespace.
            speaker: Whose it is.
            sources: Log ids of the turns that it comes from.
        """
        ...

    def why(self, turn: int) -> tuple[LedgerEntry, dict[str, Memory]] | None:
        """Return what was put before the LLM at a user turn, given by its log id."""
        ...


KeepLocal = Callable[[str, str], object]
"""Marks a memory, by scope and id, as one that never leaves this machine."""
