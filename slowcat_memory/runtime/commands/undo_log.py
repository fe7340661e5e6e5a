"""Changes made by voice commands, and their undoing.

Forgetting by command has two stages. At once, the memories are *hidden*: retired, so that no recall
finds them. When the time to undo has passed, they are erased for good. The command itself is a row
in the store, written in the same transaction as its changes, so a crash leaves both or neither, and
the next process that opens the store erases what is due.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from slowcat_memory.core.language import CommandKind
from slowcat_memory.core.memory import BLOCK, NOTE, chunk_id, turn_of
from slowcat_memory.records import CommandEntry, Forget, Memory, Turn, WriteBatch
from slowcat_memory.store import Snapshot, Store

COMMAND = "command"  # the job of its batches
UNDOABLE = frozenset(("remember", "forget_that", "forget_about", "correct"))
ANSWERS = 8  # turns behind a command that are searched for its answer


@dataclass(eq=False, repr=False)
class UndoLog:
    """Applies and undoes the changes of commands. Safe to use from several threads; blocks.

    Attributes:
        apply: Writes a job's batch and updates the indexes; returns once it is durable.
        clock: Returns the current time, timezone-aware.
        doubt: Returns why nothing may be erased by time now, "" if it may.
        on_hidden: Called when something was hidden, with the seconds until it is to be erased.
    """

    store: Store
    apply: Callable[[str, WriteBatch], None]
    clock: Callable[[], datetime]
    doubt: Callable[[], str]

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self.on_hidden: Callable[[float], object] = lambda undo_s: None

    def add_memory(
        self, kind: str, memory: Memory, turn: int, instead: Iterable[str] = ()
    ) -> CommandEntry:
        """Store a memory; return the command's durable row.

        Memories with the ids ``instead``, of the same namespace, are retired and stay readable.
        """
        with self._alone():
            now = self.clock()
            old = self._retired(((memory.scope, id_) for id_ in instead), now)
            hidden = tuple(memory.id for memory in old)
            entry = self._entry(kind, memory.scope, turn, at=now, made=(memory.id,), hidden=hidden)
            return self._apply([*old, memory], entry)

    def hide(
        self,
        kind: str,
        scope: str,
        memories: Iterable[str],
        turns: Iterable[int],
        turn: int,
        undo_s: float | None,
        others: Iterable[tuple[str, str]] = (),
    ) -> CommandEntry:
        """Hide memories from recall, to be erased later with their turns.

        Args:
            memories: Ids of memories of the scope.
            turns: Log ids of the turns to erase, of any scope.
            undo_s: Seconds until then; None to hide nothing before ``confirm``.
            others: (scope, id) of memories of other scopes.

        Returns:
            The command's row, durable.
        """
        with self._alone():
            what = {"hidden": tuple(memories), "others": tuple(others), "turns": tuple(turns)}
            entry = self._entry(kind, scope, turn, at=self.clock(), state="asked", **what)
            return self._apply([], entry) if undo_s is None else self._hide(entry, undo_s)

    def _hide(self, entry: CommandEntry, undo_s: float) -> CommandEntry:
        now = self.clock()
        done = replace(entry, state="done", at=now, due=now + timedelta(seconds=undo_s))
        self._apply(self._retired(entry.all_hidden, now), done)
        self.on_hidden(undo_s)
        return done

    def confirm(self, entry: CommandEntry, undo_s: float) -> CommandEntry:
        """Hide what was asked about; return the updated row."""
        with self._alone():
            return self._hide(entry, undo_s)

    def undo(self, entry: CommandEntry) -> CommandEntry | None:
        """Undo a command: restore what it hid, retire what it made; return its updated row.

        A question is dropped. What was corrected keeps the marks of its correction. None when it does not exist, or cannot
        be undone: what it made was replaced since.
        """
        with self._alone():
            now = self.clock()
            with self.store.snapshot() as snapshot:
                present = next((e for e in snapshot.commands() if e.id == entry.id), None)
                if present and present.state == "asked":
                    return self._apply([], replace(present, state="undone"))
                if not present or present.state != "done" or present.kind not in UNDOABLE:
                    return None
                hidden = [snapshot.read(scope, id_) for scope, id_ in present.all_hidden]
                new = [snapshot.read(present.scope, id_) for id_ in present.made]
            if any(not memory or memory.retired_at for memory in new):
                return None
            # The others were retired before, and are erased with them.
            back = [_restored(m, new) for m in hidden if m and m.retired_at == present.at]
            in_order = sorted(back, key=lambda memory: (turn_of(memory.id), memory.id))
            over = self._retired(((present.scope, id_) for id_ in present.made), now)
            return self._apply([*in_order, *over], replace(present, state="undone", due=None))

    @contextmanager
    def due(self) -> Iterator[dict[int, list[Forget]]]:
        """Yield the forget orders that are due, by command id; none while the clock is doubted.

        Nothing can be undone inside the block. Erasing also cleans the commands' rows, in the same
        transaction, so that what a crash interrupts is due again.
        """
        with self._alone():
            yield self._due()

    def has_due(self) -> bool:
        return bool(self._due())

    def _due(self) -> dict[int, list[Forget]]:
        if self.doubt():
            return {}
        now = self.clock()
        with self.store.snapshot() as snapshot:
            over = (entry for entry in snapshot.commands() if is_due(entry, now))
            return {entry.id: _erasures(entry, snapshot) for entry in over}

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock, self.store.commanding():
            yield

    def _entry(self, kind: str, scope: str, turn: int, **more: Any) -> CommandEntry:
        with self.store.snapshot() as snapshot:
            stored = max((entry.id for entry in snapshot.commands(n=1)), default=0)
        return CommandEntry(id=stored + 1, scope=scope, kind=kind, turn=turn, **more)

    def _retired(self, memories: Iterable[tuple[str, str]], now: datetime) -> list[Memory]:
        with self.store.snapshot() as snapshot:
            rows = [snapshot.read(*origin) for origin in memories]
        current = (memory for memory in rows if memory and memory.retired_at is None)
        return [replace(memory, retired_at=now, valid_to=_end(memory, now)) for memory in current]

    def _apply(self, memories: list[Memory], entry: CommandEntry) -> CommandEntry:
        self.apply(COMMAND, WriteBatch(memories=tuple(memories), command=entry))
        return entry


def last_exchange(
    snapshot: Snapshot, scope: str, session: str, before: int, kept: Iterable[int] = ()
) -> list[Turn]:
    """Return the last exchange of a session: a user's turns, and the agent's reply, in order.

    The commands with log ids ``kept`` count as turns, because they made something.
    """
    counts, exchange = frozenset(kept), list[Turn]()
    id_ = snapshot.turn_before(scope, session, before)
    while id_ and (turn := snapshot.turn(id_)):
        of = turn.reply_to if turn.role == "assistant" else turn.id
        if not turn.aside or of in counts:
            if exchange and (turn.role, exchange[0].role) == ("assistant", "user"):
                break  # the exchange before
            if exchange and turn.aside != exchange[0].aside:
                break
            exchange.insert(0, turn)
        id_ = snapshot.turn_before(scope, session, id_)
    return exchange


def _end(memory: Memory, now: datetime) -> datetime | None:
    """Return until when a memory that is retired now was true: what was over before stays so.

    A version of a block has no end: a session's head shows it until that session is over.
    """
    end = memory.valid_to or (None if memory.id.startswith(BLOCK) else now)
    return end and min(end, now)


def _restored(memory: Memory, new: Iterable[Memory | None]) -> Memory:
    ended = memory.valid_to != memory.retired_at  # before it was retired
    return replace(
        memory,
        retired_at=None,
        valid_to=memory.valid_to if ended else None,
        muted=memory.muted or any(other.muted for other in new if other),
        local_only=memory.local_only or any(other.local_only for other in new if other),
    )


def is_due(entry: CommandEntry, now: datetime) -> bool:
    """Return whether the time to undo a command is over, by a clock that is not doubted.

    One that is dated in the future was given while the clock was wrong: it does not wait for then.
    """
    if entry.state != "done" or entry.due is None:
        return False
    return entry.due <= now or entry.at > now + timedelta(days=1)


def _erasures(entry: CommandEntry, snapshot: Snapshot) -> list[Forget]:
    """Return what to erase: the turns, the command's own turn and its answers, then the rest.

    A note that was hidden and has been remembered anew is another statement, and stays.
    """
    own = [entry.turn] if entry.turn else []
    if own and (command := snapshot.turn(entry.turn)):
        later = snapshot.turns(command.scope, after=command.id, upto=command.id + ANSWERS)
        answers = (turn for turn in later if turn.role == "assistant")
        own += [turn.id for turn in answers if turn.reply_to == command.id]
    turns = tuple(dict.fromkeys((*entry.turns, *own)))
    chunks = {chunk_id(turn) for turn in turns}
    erasures = [Forget(turns=turns)] if turns else []
    anew = {pair for pair in entry.all_hidden if _is_anew(snapshot.memory(*pair), entry.at)}
    rest = (pair for pair in entry.all_hidden if pair[1] not in chunks and pair not in anew)
    return [*erasures, *(Forget(scope=scope, memories=(id_,)) for scope, id_ in rest)]


def _is_anew(memory: Memory | None, hidden_at: datetime) -> bool:
    if memory is None or memory.kind != NOTE or memory.retired_at:
        return False
    return (memory.recorded_at or hidden_at) > hidden_at


LLMPlace = Literal["local", "remote", "unknown"]


class CommandOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Voice commands, spoken or typed.

    Attributes:
        enabled: Recognise voice commands, in the language of ``memory.language``.
        undo_s: Seconds in which "forget that" can be undone; then what it hid is erased, or
            when the store is next opened. 300 is five minutes: the pause after which a session
            ends.
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
        asked: Id of the command that asked this conversation something; 0 for none.
        shared: The household namespace, "" for none.
    """

    scope: str
    speaker: str
    session: str
    turn: int
    asked: int = 0
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


LATEST = 50  # commands among which the one to undo is searched
