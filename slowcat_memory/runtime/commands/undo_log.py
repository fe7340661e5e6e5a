"""What a person's orders change, and how it is taken back.

Forgetting by order has two stages. At once, what is to be forgotten is *hidden*: retired, so that no
recall finds it. When the time for second thoughts has passed, it is erased for good. The order
itself is a row in the store, written in the same transaction as what it changes, so a crash leaves
both or neither, and whoever opens the store next erases what is due.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import chunk_id, turn_of
from slowcat_memory.records import CommandEntry, Forget, Memory, Turn, WriteBatch
from slowcat_memory.store import Snapshot, Store

UNDOABLE = frozenset(("remember", "forget_that", "forget_about", "correct"))
ANSWERS = 8  # turns behind an order among which the answer to it is looked for


class Hiding:
    """Changes memories by order, and back. Safe to use from several threads; every method blocks."""

    def __init__(
        self, store: Store, put: Callable[[Memory], None], clock: Callable[[], datetime]
    ) -> None:
        """Change nothing yet.

        Args:
            store: Where memories and orders are kept.
            put: Brings a stored memory's state into its index.
            clock: The time, aware.
        """
        self._store, self._put, self._clock = store, put, clock
        self._lock = threading.RLock()
        self._last_id: int | None = None

    # ---------------------------------------------------------------- changes

    def keep(
        self, kind: str, memory: Memory, turn: int, instead: Iterable[str] = ()
    ) -> CommandEntry:
        """Put a memory, and retire others that it takes the place of.

        Args:
            kind: The order.
            memory: The new one.
            turn: Log id of the turn that ordered it.
            instead: Ids of the old ones of its namespace, which stay readable.

        Returns:
            The order's row, durable.
        """
        with self._lock:
            now = self._clock()
            old = self._retired(memory.scope, instead, now)
            entry = self._entry(kind, memory.scope, turn, now, made=(memory.id,))
            entry = replace(entry, hidden=tuple(one.id for one in old))
            return self._do([*old, memory], entry)

    def hide(
        self,
        kind: str,
        scope: str,
        memories: Iterable[str],
        turns: Iterable[int],
        turn: int,
        undo_s: float,
    ) -> CommandEntry:
        """Take memories out of recall, to be erased later with the turns they were made from.

        Args:
            kind: The order.
            scope: Their namespace.
            memories: Their ids; those that are retired already stay as they are.
            turns: Log ids of the turns that are to be erased.
            turn: Log id of the turn that ordered it.
            undo_s: Seconds until they are erased.

        Returns:
            The order's row, durable.
        """
        with self._lock:
            now = self._clock()
            hidden = self._retired(scope, memories, now)
            entry = self._entry(kind, scope, turn, now, turns=tuple(turns))
            entry = replace(entry, hidden=tuple(m.id for m in hidden), due=_later(now, undo_s))
            return self._do(hidden, entry)

    def ask(
        self, kind: str, scope: str, memories: Iterable[str], turns: Iterable[int], turn: int
    ) -> CommandEntry:
        """Note what would be hidden if the person says yes.

        Args:
            kind: The order.
            scope: The memories' namespace.
            memories: Their ids.
            turns: Log ids of the turns that would be erased.
            turn: Log id of the turn that ordered it.

        Returns:
            The order's row, durable, of state "asked".
        """
        with self._lock:
            entry = self._entry(kind, scope, turn, self._clock(), turns=tuple(turns))
            return self._do([], replace(entry, hidden=tuple(memories), state="asked"))

    def answer(self, entry: CommandEntry, yes: bool, undo_s: float) -> CommandEntry:
        """Carry out what was asked, or leave it.

        Args:
            entry: From ``ask``.
            yes: What the person said.
            undo_s: As in ``hide``.

        Returns:
            The row as it is now: "done", or "undone".
        """
        with self._lock:
            if not yes:
                return self._do([], replace(entry, state="undone"))
            now = self._clock()
            hidden = self._retired(entry.scope, entry.hidden, now)
            ids = tuple(memory.id for memory in hidden)
            return self._do(
                hidden, replace(entry, hidden=ids, state="done", due=_later(now, undo_s))
            )

    def undo(self, entry: CommandEntry) -> CommandEntry | None:
        """Take an order back: what it hid comes back, what it made is retired.

        Args:
            entry: Its row.

        Returns:
            The row as it is now; None when it is not there any more, or not to be undone.
        """
        with self._lock:
            now = self._clock()
            with self._store.snapshot() as snapshot:
                present = next((e for e in snapshot.commands() if e.id == entry.id), None)
                if present is None or present.state != "done" or present.kind not in UNDOABLE:
                    return None
                found = [snapshot.read(present.scope, id_) for id_ in present.hidden]
            back = [replace(m, retired_at=None, valid_to=None) for m in found if m]
            in_order = sorted(back, key=lambda memory: (turn_of(memory.id), memory.id))
            made = self._retired(present.scope, present.made, now)
            return self._do([*in_order, *made], replace(present, state="undone", due=None))

    # ---------------------------------------------------------------- erasing

    def erase_due(self, forget: Callable[[Sequence[Forget]], object]) -> int:
        """Erase for good what was forgotten by order and is due.

        Args:
            forget: Deletes all of it for good; it also cleans the orders' rows, in the same transaction, so
                that what a crash interrupts is due again.

        Returns:
            How many orders were finished.
        """
        with self._lock:
            now = self._clock()
            with self._store.snapshot() as snapshot:
                due = [e for e in snapshot.commands() if _is_due(e, now)]
                wishes = [wish for entry in due for wish in _wishes(entry, snapshot)]
            if wishes:
                forget(wishes)
            return len(due)

    # ---------------------------------------------------------------- small things

    def _entry(
        self,
        kind: str,
        scope: str,
        turn: int,
        now: datetime,
        *,
        made: tuple[str, ...] = (),
        turns: tuple[int, ...] = (),
    ) -> CommandEntry:
        if self._last_id is None:
            with self._store.snapshot() as snapshot:
                self._last_id = max((entry.id for entry in snapshot.commands(n=1)), default=0)
        self._last_id += 1
        return CommandEntry(
            id=self._last_id, scope=scope, kind=kind, at=now, turn=turn, made=made, turns=turns
        )

    def _retired(self, scope: str, memories: Iterable[str], now: datetime) -> list[Memory]:
        with self._store.snapshot() as snapshot:
            found = [snapshot.read(scope, id_) for id_ in memories]
        current = (memory for memory in found if memory and memory.retired_at is None)
        return [replace(memory, retired_at=now, valid_to=now) for memory in current]

    def _do(self, memories: list[Memory], entry: CommandEntry) -> CommandEntry:
        self._store.apply("command", WriteBatch(memories=tuple(memories), command=entry)).wait(None)
        for memory in memories:
            self._put(memory)
        return entry


def last_exchange(
    snapshot: Snapshot, scope: str, session: str, before: int, kept: Iterable[int] = ()
) -> list[Turn]:
    """Find what was said last in a session: a person's turns, and the agent's reply to them.

    Args:
        snapshot: The store.
        scope: The session's namespace.
        session: The session.
        before: Log id of a turn that comes after it.
        kept: Log ids of asides that count all the same, for what was made from them.

    Returns:
        In order; empty when nothing was said.
    """
    counts, found = frozenset(kept), list[Turn]()
    id_ = snapshot.turn_before(scope, session, before)
    while id_ and (turn := snapshot.turn(id_)):
        of = turn.reply_to if turn.role == "assistant" else turn.id
        if not turn.aside or of in counts:
            if found and (turn.role, found[0].role) == ("assistant", "user"):
                break  # the exchange before
            if found and turn.aside != found[0].aside:
                break
            found.insert(0, turn)
        id_ = snapshot.turn_before(scope, session, id_)
    return found


def _later(now: datetime, seconds: float) -> datetime:
    return now + timedelta(seconds=seconds)


def _is_due(entry: CommandEntry, now: datetime) -> bool:
    return entry.state == "done" and entry.due is not None and entry.due <= now


def _wishes(entry: CommandEntry, snapshot: Snapshot) -> list[Forget]:
    """Say what is to be deleted: the turns, with the order's own and its answers, then the rest."""
    answers = [
        turn.id
        for turn in _next(snapshot, entry.turn)
        if turn.role == "assistant" and turn.reply_to == entry.turn
    ]
    own = [entry.turn, *answers] if entry.turn else []
    turns = tuple(dict.fromkeys((*entry.turns, *own)))
    chunks = {chunk_id(turn) for turn in turns}
    others = tuple(id_ for id_ in entry.hidden if id_ not in chunks)
    wishes = [Forget(turns=turns)] if turns else []
    return [*wishes, Forget(scope=entry.scope, memories=others)] if others else wishes


def _next(snapshot: Snapshot, turn: int) -> Iterable[Turn]:
    said = snapshot.turn(turn) if turn else None
    return () if said is None else snapshot.turns(said.scope, after=turn, upto=turn + ANSWERS)
