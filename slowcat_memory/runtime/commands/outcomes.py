"""What voice commands get and give: options, who gave one and where, and its outcome."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Annotated, Literal

from msgspec import Meta, Struct

from slowcat_memory.core.disclosure import Reader
from slowcat_memory.core.language import CommandKind
from slowcat_memory.records import LedgerEntry, Memory
from slowcat_memory.runtime.commands.undo_log import UndoLog
from slowcat_memory.store import Store

ASKED_S = 120.0  # how long a confirmation question waits for its "yes"

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
    undo_s: Annotated[float, Meta(ge=0, le=2_592_000)] = 300.0
    wait_s: Annotated[float, Meta(gt=0, le=60)] = 1.0
    tell: Annotated[int, Meta(ge=1, le=100)] = 5


class CommandContext(Struct, frozen=True, kw_only=True):
    """The speaker of a command, and where it was given.

    Attributes:
        turn: Log id of the command's turn, which is in the log already.
        shared: The household namespace, "" for none.
    """

    scope: str
    speaker: str
    session: str
    turn: int
    shared: str = ""
    llm: LLMPlace = "unknown"


class Outcome(Struct, frozen=True, kw_only=True):
    """The result of a voice command.

    Attributes:
        said: The answer, one sentence.
        rest: Words beside the command, for the LLM to answer.
        done: Whether anything was changed or answered; False if it was refused, or found nothing.
        entry: Id of the command's row, 0 when it changed nothing.
        turns: Log ids of turns that the LLM must no longer see: they are forgotten, or local-only.
        memories: Ids of memories that it must no longer see.
    """

    kind: CommandKind
    said: str
    rest: str = ""
    done: bool = True
    entry: int = 0
    turns: tuple[int, ...] = ()
    memories: tuple[str, ...] = ()


Why = Callable[[int], tuple[LedgerEntry, dict[str, Memory]] | None]


@dataclass(frozen=True, slots=True)
class CommandMemory:
    """The engine's functions that commands use.

    Attributes:
        note: Makes a note of a text and a scope without storing it; ``sources`` are log ids.
        why: Returns the ledger row of a user turn, by its log id, and its memories.
        reader: Returns who is answered: see ``audience.reader_of``.
        is_guests: Returns whether a scope is that of guests, whose commands are refused.
    """

    store: Store
    undo_log: UndoLog
    zone: tzinfo
    clock: Callable[[], datetime]
    note: Callable[..., Memory]
    why: Why
    reader: Callable[..., Reader]
    is_guests: Callable[[str], bool]


KeepLocal = Callable[[str, str], object]
"""Marks a memory, by scope and id, as one that never leaves this machine."""


LATEST = 50  # commands among which the one to undo is searched
