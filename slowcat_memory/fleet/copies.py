"""This machine's copies of memories, kept from one conversation to the next; and what they could not send.

::

    ~/.slowcat-fleet/              0700
    └── 3f0c…/                     one person of one tenant, by a hash
        ├── lock                   held while a copy is made, brought up to date or deleted
        ├── copy-…/                a store; more where a stalled process still has one open
        ├── unsent-…/              a store of what could not be sent as it was
        └── set-aside-…/           a copy that could not be read: nothing deletes it
"""

import os
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from math import inf
from pathlib import Path

import msgspec
from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import NOTE, family
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.background import referring
from slowcat_memory.errors import StoreError, describe_error
from slowcat_memory.records import Cursor, Event, Forget, Memory, WriteBatch
from slowcat_memory.store import Store, replica
from slowcat_memory.store.disk import codec, outbox
from slowcat_memory.store.disk.folder import DOOMED, data_file, remove
from slowcat_memory.store.disk.outbox import Changes, CopyState, Outbox, Unsent
from slowcat_memory.store.disk.tables import EPOCH
from slowcat_memory.store.sharing import alone, if_free, living

COPY, UNSENT, ASIDE = "copy-", "unsent-", "set-aside-"  # begin the names of stores
EVERYBODY = "[0-9a-f]" * 24  # matches the names of everybody's copies, and nothing else in a folder


def copy_name(tenant: str, person: str) -> str:
    """Return the name of a person's copies: a hash, which no file system refuses."""
    return blake2b(f"{tenant}\0{person}".encode(), digest_size=12).hexdigest()


class Copies:
    """The copies of one person on this machine."""

    def __init__(self, cache: Path, name: str) -> None:
        self.folder = cache / name

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from making or deleting copies of this person in the block. Blocks."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with alone(self.folder / "lock", inf):
            yield

    def vacant(self, kind: str) -> Path:
        """Return where a new store can be made, a copy or one of what cannot be sent."""
        return self.folder / f"{kind}{secrets.token_hex(4)}"

    def sweep(self) -> None:
        """Delete what kills have left of stores that were being made or deleted.

        The copies must be locked.
        """
        for path in self.folder.glob("*"):
            if path.is_dir() and not path.name.startswith(ASIDE) and not living(path):
                is_part = path.suffix == replica.NEW or path.name.startswith(DOOMED)
                if is_part or not data_file(path).is_file():
                    remove(path)

    def closed(self, kind: str) -> list[Path]:
        """Return the stores of a kind, ``COPY`` or ``UNSENT``, that no process has open."""
        entries = sorted(self.folder.glob(f"{kind}*"))
        whole = (entry for entry in entries if not entry.suffix and data_file(entry).is_file())
        return [entry for entry in whole if not living(entry)]


def readable(folders: Iterable[Path]) -> Iterator[tuple[Path, CopyState, list[Unsent]]]:
    """Yield closed stores, whose copies they are, and what may not have been sent.

    One that cannot be read is set aside.
    """
    for folder in folders:
        try:
            state, sets = replica.state_of(folder)
        except StoreError as error:
            set_aside(folder, error.message)
        else:
            yield folder, state, sets


def set_aside(folder: Path, why: str) -> None:
    """Keep a copy under another name, which nothing deletes."""
    aside = folder.with_name(f"{ASIDE}{secrets.token_hex(4)}")
    os.rename(folder, aside)
    logger.warning("fleet: a copy cannot be used and is kept in {}: {}", aside, why)


# ------------------------------------------------------------------- what cannot be sent
# What was heard on this machine and cannot be sent as it was written: turns, notes and forgets.
#
# Another worker took over with something to send left here, or there was no copy to write to: the
# memory was refused, or the database was away. It lies in stores on this disk, beside the copies.
# Whoever on this machine holds the person's lease next appends the turns as new events, keeps the
# notes, and forgets what was to be forgotten. What was derived is made again.
#
# A turn has a source, the epoch under which it was heard, and a number in it. How far a memory has
# the turns of a source is a cursor in the transaction that appends them: so each is there once,
# however often that is tried.

PREFIX = "late/"  # of the names of cursors
AT_ONCE = 50  # events appended until they are flushed
SAVED_S = 30.0  # how long what was appended may take to be on the disk
CLOSE_S = 5.0  # how long the beginning or the end of a conversation waits for that
CLAIM = "claim"  # file in a store: locked by the one process that appends what it has

_unpack_event = msgspec.msgpack.Decoder(Event).decode


class Left(Struct, frozen=True):
    """What change sets have of events, notes and forgets, and do not delete again.

    Attributes:
        events: With the ids that they have there.
        appended: Up to which number events of other sources are among them, by cursor.
    """

    source: str
    events: tuple[Event, ...]
    notes: tuple[Memory, ...]
    orders: tuple[Forget, ...]
    appended: Counter[str]


def read(state: CopyState, sets: Sequence[Unsent]) -> Left:
    """Return what the change sets of a copy have that nobody can make again."""
    events, notes, orders = dict[int, Event](), dict[bytes, Memory](), list[Forget]()
    appended = Counter[str]()
    for change in sets:
        changes = _without_derived(change.body)
        for key, value in changes.get("cursors", {}).items():
            cursor = codec.decode(Cursor, key, value or b"")
            appended[cursor.name] = cursor.position
        for key, value in changes.get("log", {}).items():
            events.pop(codec.id_of(key), None)
            if value is not None:
                events[codec.id_of(key)] = _unpack_event(codec.unseal(key, value))
        for key, value in changes.get("memories", {}).items():
            notes.pop(key, None)
            if value is not None:
                notes[key] = codec.decode(Memory, key, value)
        if outbox.forgets(changes):
            orders += _orders(changes, min(events, default=sys.maxsize))
    in_order = tuple(event for _, event in sorted(events.items()))
    return Left(str(state.epoch), in_order, tuple(notes.values()), tuple(orders), appended)


def _without_derived(body: bytes) -> Changes:
    """Return those changes of a change set that nobody can make again."""
    changes = outbox.unpack_changes(body)
    return {
        table: kept
        for table, rows in changes.items()
        if (kept := {key: value for key, value in rows.items() if _is_said(table, key, value)})
    }


def _is_said(table: str, key: bytes, value: bytes | None) -> bool:
    """Return whether a row is of an event, a note or a forget, or says which events there are."""
    match table:
        case "memories":
            return value is None or family(codec.decode(Memory, key, value).id) == NOTE
        case "cursors":
            return value is not None and codec.decode(Cursor, key, value).name.startswith(PREFIX)
        case "meta":
            return key == codec.name_key(EPOCH)
    return table in ("log", "tombstones")


def _orders(changes: Changes, own: int) -> Iterator[Forget]:
    """Yield what a forget has deleted of what the log has; its own turns begin with ``own``."""
    marks = changes.get("tombstones", {})
    turns = sorted(codec.id_of(mark) for mark in marks if codec.is_turn_tombstone(mark))
    if before := tuple(id_ for id_ in turns if id_ < own):
        yield Forget(turns=before)
    for key, value in changes.get("memories", {}).items():
        scope, id_ = codec.split_scope(key)
        which = scope, id_.decode()
        if value is None and marks.keys() & {
            codec.memory_tombstone(*which),
            codec.epoch_mark(*which),
        }:
            yield Forget(scope=scope, memories=(which[1],))


# ------------------------------------------------------------------- out of a copy


def move(folder: Path, place: Copies, state: CopyState, sets: Sequence[Unsent]) -> None:
    """Replace a closed copy by a store of what it cannot send any more.

    Nothing else of the copy is kept: what others forgot meanwhile may be in it.
    """
    kept = [
        replace(change, body=outbox.pack(said))
        for change in sets
        if (said := _without_derived(change.body))
    ]
    if kept:
        logger.warning("fleet: {} change sets could not be sent in time", len(kept))
        _make(place.vacant(UNSENT), state, kept)
    remove(folder)


def _make(folder: Path, state: CopyState, sets: Sequence[Unsent]) -> None:
    with replica.new_store(folder) as draft:
        replica.write(draft, state, unsent=sets)


# ------------------------------------------------------------------- into a memory


def append_to(memory: MemoryEngine | Store, place: Copies) -> int:
    """Append what lies beside a person's copy to it, which was brought up to date; return how much.

    What is on its disk then is deleted here.

    Raises:
        StoreError: It could not be appended; it stays.
    """
    with ExitStack() as claims:
        with place.locked():
            closed = place.closed(UNSENT)
            free = [folder for folder in closed if claims.enter_context(if_free(folder / CLAIM))]
            stores, others = list(_read(free)), [rest for _, rest in _read(place.closed(COPY))]
        appended = Counter[str]()  # also by copies that were not sent since
        for rest in (*others, *(rest for _, rest in stores)):
            appended |= rest.appended  # the higher one of each name
        for folder, rest in sorted(stores, key=lambda pair: [event.at for event in pair[1].events]):
            _append(memory, rest, appended[PREFIX + rest.source])
            if not memory.flush(SAVED_S):
                raise StoreError(f"what {folder} has cannot be saved")
            remove(folder)
    return sum(len(rest.events) + len(rest.notes) + len(rest.orders) for _, rest in stores)


def _read(folders: Iterable[Path]) -> Iterator[tuple[Path, Left]]:
    """Yield what closed stores have; one that cannot be read is set aside."""
    for folder, state, sets in readable(folders):
        try:
            rest = read(state, sets)
        except (StoreError, msgspec.MsgspecError) as error:
            set_aside(folder, describe_error(error))
        else:
            yield folder, rest


def _append(memory: MemoryEngine | Store, rest: Left, done: int) -> None:
    name, ids = PREFIX + rest.source, dict[int, int]()
    with memory.snapshot() as snapshot:
        known = Counter({cursor.name: cursor.position for cursor in snapshot.cursors()})
    done = max(done, known[name])
    for other, position in rest.appended.items():  # whose own store is deleted, or in use, now
        if position > known[other]:
            memory.apply("late", WriteBatch(cursor=_cursor(other, position)))
    for event in rest.events:
        if event.id > done:
            anew = _anew(event, ids, rest.events[0].id)
            ids[event.id] = memory.append(anew, cursor=_cursor(name, event.id)).id
            if len(ids) % AT_ONCE == 0:
                memory.flush(SAVED_S)
    if rest.notes:
        memory.apply("late", WriteBatch(memories=rest.notes))
    if rest.orders:
        memory.forget(rest.orders)


def _cursor(name: str, position: int) -> Cursor:
    return Cursor(name=name, position=position, in_log=False)


def _anew(event: Event, ids: Mapping[int, int], first: int) -> Event:
    """Return an event as it is appended; what it refers to keeps its id, or has a new one.

    Only ids from ``first`` on are its source's own.
    """
    event = replace(event, id=0)
    return referring(event, lambda id_: ids.get(id_, 0) if id_ >= first or id_ < 0 else id_)


# ------------------------------------------------------------------- while there is no copy


class WaitingTurns:
    """The turns of a conversation that are said while there is no copy of the memory.

    They lie in a store of their own until the copy has all of them. Nothing blocks but ``drop`` and
    ``close``. ``next_cursor``, ``keep`` and ``drop`` are called one after another.
    """

    def __init__(self, place: Copies, tenant: str, person: str) -> None:
        """Prepare; nothing is written before the first turn."""
        self._place, self._whose = place, CopyState(tenant=tenant, person=person)
        self._thread = ThreadPoolExecutor(1, "slowcat-waiting")
        self._store: Store | None = None
        self._unwritten, self._ids = list[Event](), dict[int, int]()
        self._begin()

    def _begin(self) -> None:
        """Begin a new source with the next turn."""
        self._epoch, self._count = -secrets.randbits(62), 0  # no lease has it

    @property
    def next_cursor(self) -> Cursor:
        """What the next turn is appended with: by it a memory knows that it has the turn."""
        return _cursor(f"{PREFIX}{self._epoch}", self._count + 1)

    def keep(self, event: Event) -> None:
        """Write a turn to the disk soon."""
        self._count += 1
        with suppress(RuntimeError):  # the process ends
            self._thread.submit(self._keep, self._epoch, event)

    def drop(self) -> None:
        """Delete what is on the disk: the copy has all turns. Blocks, for some seconds at most."""
        if self._count:
            self._begin()
            with suppress(OSError, RuntimeError, TimeoutError):
                self._thread.submit(self._drop).result(CLOSE_S)

    def close(self) -> None:
        """Leave on the disk what still waits. Blocks, for some seconds at most."""
        with suppress(RuntimeError, TimeoutError):
            self._thread.submit(self._leave).result(CLOSE_S)
        self._thread.shutdown(wait=False)

    # ---------------------------------------------------------------- the thread

    def _keep(self, epoch: int, event: Event) -> None:
        self._unwritten.append(event)
        try:
            if self._store is None:
                self._store = self._make(epoch)
            while self._unwritten:  # in order: their numbers are their ids there
                event = self._unwritten[0]
                self._ids[event.id] = self._store.append(_anew(event, self._ids, 1)).id
                del self._unwritten[0]
        except (OSError, StoreError) as error:
            logger.error("fleet: turns that wait cannot be saved yet: {}", describe_error(error))

    def _make(self, epoch: int) -> Store:
        with self._place.locked():
            folder = self._place.vacant(UNSENT)
            _make(folder, replace(self._whose, epoch=epoch), ())
            return Store.open(folder, outbox=Outbox(epoch))

    def _drop(self) -> None:
        with self._place.locked():  # nobody finds it closed
            store = self._store
            self._leave()
            if store is not None:
                remove(store.path)

    def _leave(self) -> None:
        self._unwritten, self._ids = [], {}
        if self._store is not None:
            self._store.close()
            self._store = None
