"""The loaded namespaces: each a scope's memories, ready for recall; and their users' names.

A namespace is the scope's index, kept equal to the log, with its latest texts and its facts. All of
it is derived from the store, and every later change is passed on to it.

Locking: ``LiveIndex.lock`` is the only lock of a namespace. Every method that changes anything holds
it for the whole change, so that index and latest texts agree; a sealed index is swapped in under it.
Readers take no lock: ``searcher`` has its own, and dictionaries are read by single operations. No
store write happens under it; a snapshot may be opened, which never waits for the writer.
"""

import re
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from weakref import WeakSet

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.core.disclosure import Called
from slowcat_memory.core.memory import FACT, READING, chunk, chunk_id
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import ConfigError, StoreError, describe_error
from slowcat_memory.index.generation import Build
from slowcat_memory.records import Event, Memory, Turn
from slowcat_memory.runtime.namespaces.known_facts import KnownFacts
from slowcat_memory.runtime.namespaces.live_index import (
    FLUSH_S,
    LiveIndex,
    Place,
    SealOrder,
    indexable,
    place_of,
    seal,
    time_about,
)
from slowcat_memory.store import Ack, Snapshot, Store
from slowcat_memory.store.disk.folder import index_folder

Fetch = Callable[[Sequence[str]], dict[str, Memory]]
PAUSE_S = 0.05  # before the thread begins: the first answer, which began it, goes out first
STOP_S = 2.0  # how long a running step may take at the end


class HotCache:
    """The latest memories, and all that are not durable yet: only here can these be read."""

    def __init__(self, size: int) -> None:
        self._size, self._held = size, OrderedDict[str, tuple[Memory, Ack | None]]()

    def get(self, memory_id: str) -> Memory | None:
        held = self._held.get(memory_id)
        return held[0] if held else None

    def latest(self) -> Memory | None:
        try:
            return next(reversed(self._held.values()), (None, None))[0]
        except RuntimeError:  # another thread changed it meanwhile
            return None

    def add(self, memory: Memory, ack: Ack | None) -> None:
        """Add a memory, which is durable once ``ack`` resolves, and drop the oldest durable ones."""
        self._held[memory.id] = (memory, ack)
        self._trim()

    def put_before(self, memories: Iterable[Memory]) -> None:
        """Add stored memories, oldest first, before those that are there; the latest stay."""
        self._held = OrderedDict({memory.id: (memory, None) for memory in memories} | self._held)
        self._trim()

    def _trim(self) -> None:
        while len(self._held) > self._size and not self.pending(oldest := next(iter(self._held))):
            del self._held[oldest]

    def update(self, memory: Memory) -> None:
        if held := self._held.get(memory.id):
            self._held[memory.id] = (memory, held[1])

    def pending(self, memory_id: str) -> bool:
        """Return whether a memory is cached whose write has not finished."""
        held = self._held.get(memory_id)
        return held is not None and held[1] is not None and not held[1].done()

    def drop(self, memory_id: str) -> None:
        self._held.pop(memory_id, None)


class Namespace(LiveIndex):
    """A scope's searcher and latest texts. Safe to use from several threads."""

    def __init__(
        self,
        order: SealOrder,
        store: Store,
        root: Path,
        tokenizer: Tokenizer,
        hot_cache_size: int,
        give_way: Callable[[], None] = lambda: None,
    ) -> None:
        """Load the scope from the store.

        ``hot_cache_size`` is in memories. ``give_way`` is called between short pieces of the work,
        and may wait.
        """
        super().__init__(order, store, root, tokenizer)
        self.hot, self._hot_size = HotCache(hot_cache_size), hot_cache_size
        # Incremented by every change of known memories: earlier recalls may be outdated.
        self.version = 0
        self._give_way = give_way
        added = self.load(lambda: store.snapshot(give_way))
        self._facts = KnownFacts(order.language)
        self._unread = [self._read_latest, self.read_times, self._read_facts]
        self._finishing, self._stopping = threading.Lock(), threading.Event()
        self._reader: threading.Thread | None = None
        if not self.sealed and not added:  # there is next to nothing to read
            self.finish_opening()

    # ---------------------------------------------------------------- behind the opening

    def finish_opening(self) -> None:
        """Read all that no first answer waits for: the latest texts, times in texts, facts. Blocks.

        Otherwise this is done on a thread of its own, from the first recall on.

        Raises:
            Exception: What a step raised; it is done again, and those after it, at the next call.
        """
        with self._finishing:
            while self._unread and not self._stopping.is_set():
                self._unread[0]()
                self._unread.pop(0)

    def _finish_soon(self) -> None:
        """Begin to finish the opening on a thread, unless that was begun. Takes microseconds."""
        if self._unread and self._reader is None and not self._stopping.is_set():
            self._reader = threading.Thread(target=self._run, name="slowcat-opened", daemon=True)
            self._reader.start()

    def _run(self) -> None:
        try:
            if not self._stopping.wait(PAUSE_S):
                self.finish_opening()
        except Exception as error:  # a thread has no caller to raise to
            if not self._stopping.is_set():
                logger.warning(f"memory: opening was not finished: {describe_error(error)}")

    def _read_latest(self) -> None:
        with self.lock, self._store.snapshot() as snapshot:
            turns = self._latest(snapshot)
            read = (snapshot.read(self.scope, chunk_id(turn.id)) or chunk(turn) for turn in turns)
            self.hot.put_before(read)

    def _latest(self, snapshot: Snapshot) -> list[Turn]:
        talk = (turn for turn in snapshot.latest_turns(self.scope) if not turn.aside)
        return list(islice(talk, self._hot_size))[::-1]

    def read_times(self) -> None:
        """Read the times in the texts that were indexed without; few queries ask for a time.

        Blocks for 0.2 ms each the first time.
        """
        while self._undated and not self._stopping.is_set():
            self._give_way()
            with self.lock:  # again for each: a turn may wait for it
                if self._undated:
                    self._read_time(*self._undated.popitem())

    def _read_time(self, memory_id: str, memory: Memory) -> None:
        if about := time_about(memory, self._zone, self._order.language):
            times = {"about_from": about[0], "about_until": about[1]}
            self.change(lambda searcher: searcher.set_columns(memory_id, **times))

    def _read_facts(self) -> None:
        with self._store.snapshot(self._give_way) as snapshot:
            facts = list(snapshot.memories(self.scope, f"{FACT}/"))
            turns = self._latest(snapshot)
            rows = [snapshot.memory(self.scope, chunk_id(turn.id)) or chunk(turn) for turn in turns]
        turns = [turn for turn, row in zip(turns, rows, strict=True) if indexable(row)]
        self._facts.read(facts, self._giving_way(turns), self.lock)

    def _giving_way(self, turns: Iterable[Turn]) -> Iterator[Turn]:
        """Yield turns until it is to stop; each is read for a millisecond."""
        for turn in turns:
            self._give_way()
            if not self._stopping.is_set():
                yield turn

    # ---------------------------------------------------------------- changes

    def add_turn(self, turn: Turn, ack: Ack | None = None) -> None:
        """Index a turn, the latest of its session and numbered.

        Its text is served from memory until ``ack`` resolves. A saved one that was forgotten since
        is left out: turns that come while an index is loaded are added again behind it.
        """
        memory, saved = chunk(turn), ack is None or ack.done()  # asked before the snapshot is taken
        with self.lock, self._store.snapshot() as snapshot:
            if saved and snapshot.missing(self.scope, (memory.id,)):
                return
            asked = snapshot.memory(self.scope, chunk_id(turn.reply_to)) if turn.reply_to else None
            if asked is not None and asked.muted:
                self.hot.add(replace(memory, muted=True, muted_inherited=True), ack)
                return
            place = Place((self._before(turn, snapshot),))
            self._last[turn.session] = memory.id
            self.hot.add(memory, ack)
            self._facts.change(lambda known: known.hear(turn), turn.id)
            memory = snapshot.in_context(memory)
            self._put(snapshot, memory, place, time_about(memory, self._zone, self._order.language))

    def refresh(self, memory_ids: Sequence[str]) -> None:
        """Read memories from the store again, with contexts, keys, and the vectors of both.

        Ids missing from the store are removed from the index, unless their write is pending.
        """
        with self.lock, self._store.snapshot() as snapshot:
            for memory_id in memory_ids:
                if memory := snapshot.read(self.scope, memory_id):
                    self._index_stored(memory, snapshot)
                elif not self.hot.pending(memory_id):
                    self._remove(memory_id)

    def _remove(self, memory_id: str) -> None:
        self.hot.drop(memory_id)
        self._facts.change(lambda known: known.drop(memory_id))
        self._undated.pop(memory_id, None)
        self.change(lambda searcher: searcher.remove(memory_id))
        self.version += 1

    def _index_stored(self, memory: Memory, snapshot: Snapshot) -> None:
        """Index a memory's whole state in the store; the caller holds the lock."""
        if memory.kind == READING:
            return
        self.hot.update(memory)
        self._facts.change(lambda known: known.put(memory))
        self._undated.pop(memory.id, None)
        place = place_of(memory.id, snapshot, self.searcher)
        self._put(snapshot, memory, place, time_about(memory, self._zone, self._order.language))
        self.version += 1

    def forget(self, gone: Collection[str]) -> None:
        with suppress(Exception):  # a reading that failed holds nothing
            self.finish_opening()  # else it could bring them back
        with self.lock:
            for memory_id in gone:
                self._remove(memory_id)
            self.searcher.names.clear()  # counted again with the index that follows
            self._last = {s: last for s, last in self._last.items() if last not in gone}
            self.version += 1

    # ---------------------------------------------------------------- reading

    @property
    def facts(self) -> KnownFacts:
        """What facts are known by now, after beginning to read the rest."""
        self._finish_soon()
        return self._facts

    def fetch(self, memory_ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories that exist, by id, from memory or from the store."""
        with self.reading() as fetch:
            return fetch(memory_ids)

    @contextmanager
    def reading(self) -> Iterator[Fetch]:
        """Yield ``fetch`` for several calls: the store is opened once, when it is first needed."""
        with ExitStack() as opened:
            snapshot: Snapshot | None = None

            def fetch(memory_ids: Sequence[str]) -> dict[str, Memory]:
                nonlocal snapshot
                memories = self.recent(memory_ids)
                if missing := [i for i in memory_ids if i not in memories]:
                    snapshot = snapshot or opened.enter_context(self._store.snapshot())
                    memories |= {i: m for i in missing if (m := snapshot.read(self.scope, i))}
                return memories

            yield fetch

    def recent(self, memory_ids: Sequence[str]) -> dict[str, Memory]:
        """Return those of the memories that are among the latest, without reading the store."""
        return {id_: memory for id_ in memory_ids if (memory := self.hot.get(id_))}

    def stop(self) -> None:
        self.build.stop()
        self._stopping.set()
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join(STOP_S)


# ------------------------------------------------------------------- all of them


ANONYMOUS = "User"  # the name where none is configured
SCOPE = re.compile(r"[a-z0-9_-]{1,64}")


@dataclass(eq=False, repr=False)
class Namespaces:
    """Loads namespaces, and drops those that nobody uses. Safe to use from several threads.

    Attributes:
        order: Returns what a scope's index is made with.
        guest: The guests' scope, which is never indexed; "" for none.
        user_name: The configured name of users.
        users: Their names, each read with its namespace.
    """

    store: Store
    order: Callable[[str], SealOrder]
    tokenizer: Tokenizer
    hot_cache_size: int
    guest: str = ""
    give_way: Callable[[], None] = lambda: None
    user_name: str = ANONYMOUS

    def __post_init__(self) -> None:
        self.users = UserNames(self.store.snapshot, self.user_name)
        self._loaded: dict[str, Namespace] = {}
        self._alive = defaultdict[str, "WeakSet[Namespace]"](WeakSet)  # replaced ones too
        self._used: dict[str, float] = {}  # when each was used last, in monotonic seconds
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def is_guests(self, scope: str) -> bool:
        return scope == self.guest != ""

    def loaded(self, scope: str) -> Namespace | None:
        """Return a scope's namespace if it is loaded."""
        self._used[scope] = time.monotonic()
        return self._loaded.get(scope)

    def __iter__(self) -> Iterator[Namespace]:
        return iter([*self._loaded.values()])

    def get(self, scope: str) -> Namespace:
        """Return a scope's namespace; blocks while it is loaded, and for no other one.

        Raises:
            ConfigError: The scope's name is invalid, or it is the guests'.
        """
        namespace = self.loaded(scope)
        if namespace is None:
            with self._locks[check_scope(scope)]:
                namespace = self._loaded.get(scope) or self._load(scope)
                self._loaded[scope] = namespace
        return namespace

    def is_loading(self, scope: str) -> bool:
        return self._locks[scope].locked()

    def drop_unused(self, after_s: float = 1800.0, kept: int = 8) -> None:
        """Drop all but the latest used namespaces, a home's, if nobody used them for a while.

        Must be called on the thread that adds turns. All are kept while turns wait to be saved.
        """
        for scope in sorted([*self._loaded], key=self._used.__getitem__, reverse=True)[kept:]:
            if time.monotonic() - self._used[scope] >= after_s and not self.store.unsaved():
                self._loaded.pop(scope).stop()

    def reload(self, scope: str) -> None:
        """Load a namespace again if it is loaded.

        Raises:
            StoreError: Turns wait to be saved: they would be missing.
        """
        with self._locks[scope]:
            if scope not in self._loaded:
                return
            if not self.store.flush(FLUSH_S):
                raise StoreError("an index is not loaded again while turns wait to be saved")
            loaded = self._load(scope)
            loaded.finish_opening()  # now, so that no recall misses anything
            self._loaded[scope] = loaded

    def seal(self, scope: str) -> None:
        """Build and publish a scope's index, for the next load. Blocks for seconds.

        Raises:
            IndexDamagedError: The build failed.
            StoreError: It could not be published.
        """
        loaded = self._loaded.get(scope)
        former, build = (loaded.sealed, loaded.build) if loaded else ("", Build())
        order = self.order(scope).in_store(self.store, former)
        self.store.publish(seal(build, index_folder(self.store.path, scope), order)).wait(FLUSH_S)

    def forget(self, scope: str, gone: set[str]) -> None:
        """Remove memories from a scope's index, and end a build that may have read them.

        The sealed files are the store's to delete. Waits while the scope is loaded or built. An
        index that was replaced or dropped still has its memories while a build or a recall uses it.
        """
        with self._locks[scope]:
            alive = [*self._alive[scope]]
        self.users.forget(scope)
        for namespace in alive:
            namespace.forget(gone)
            namespace.abandon_build()

    def _load(self, scope: str) -> Namespace:
        if self.is_guests(scope):
            raise ConfigError(
                f"{scope!r} is the guests' scope, which is not indexed",
                hint=f"To see what guests said: `slowcat-memory show --last 20 --scope {scope}`",
            )
        self.users.load(scope)
        root, order, size = index_folder(Path(), scope), self.order(scope), self.hot_cache_size
        opened = Namespace(order, self.store, root, self.tokenizer, size, self.give_way)
        self._alive[scope].add(opened)
        return opened


def scope_of_user(user_id: str, what: str = "user_id") -> str:
    """Return the scope of a user: the id in lower case, so that "Anna" and "anna" are one person.

    Args:
        what: Name of the argument, for the error.

    Raises:
        ConfigError: The id has characters that no scope may have.
    """
    return check_scope(user_id.strip().casefold(), f"{what} {user_id!r}")


def check_scope(scope: str, told: str = "") -> str:
    """Return a scope's name unchanged if it is valid; ``told`` is how an error names it.

    Raises:
        ConfigError: It is not.
    """
    if SCOPE.fullmatch(scope):
        return scope
    raise ConfigError(
        f"{told or repr(scope)} cannot name a memory",
        hint="Use 1 to 64 letters a-z, digits, '_' and '-', such as 'anna'",
    )


# ------------------------------------------------------------------- names of users
# What a scope's user is called where the speech recogniser names nobody: the configured name; else
# the name by which the user introduced themselves, which the latest such turn carries; else the
# scope's own, with a capital. Memories stored under an earlier of these names are shown under the
# present one.


DEFAULT_SCOPE = "user"
_LATEST = 200  # turns of a scope that are looked through for a name


def default_name(scope: str, configured: str) -> str:
    """Return the name of a user who has not introduced themselves."""
    if configured != ANONYMOUS or scope == DEFAULT_SCOPE:
        return configured
    return " ".join(part.capitalize() for part in scope.replace("-", "_").split("_") if part)


def learned_name(snapshot: Snapshot, scope: str, configured: str) -> str:
    """Return the name that a scope's user had last, "" if it was never learned or is configured."""
    if configured != ANONYMOUS:
        return ""
    latest = (turn for turn in snapshot.latest_turns(scope) if turn.role == "user")
    name = next((turn.speaker for turn in islice(latest, _LATEST) if turn.unnamed), "")
    return "" if name in (ANONYMOUS, default_name(scope, configured)) else name


class UserNames:
    """The names of scopes' users, read from the log once. Safe to use from several threads."""

    def __init__(
        self, snapshot: Callable[[], AbstractContextManager[Snapshot]], configured: str
    ) -> None:
        self._snapshot, self._configured = snapshot, configured
        self._learned: dict[str, str] = {}

    def load(self, *scopes: str) -> tuple[Called, ...]:
        """Read scopes' names; until then, they have their default names. Return what ``called`` does."""
        for scope in filter(None, scopes):  # "" names nobody, and is refused elsewhere
            if scope not in self._learned:
                with self._snapshot() as snapshot:
                    name = learned_name(snapshot, scope, self._configured)
                    self._learned.setdefault(scope, name)
        return self.called(*scopes)

    def hear(self, events: Iterable[Event]) -> None:
        """Take the users' names from logged turns in which the recogniser named nobody."""
        for event in events:
            if isinstance(event, Turn) and event.unnamed:
                self._learned[event.scope] = event.speaker

    def forget(self, *scopes: str) -> None:
        """Drop names that forgotten turns may have told, without scopes all; they are read again."""
        for scope in scopes or [*self._learned]:
            self._learned.pop(scope, None)

    def of(self, scope: str) -> str:
        return self._learned.get(scope) or default_name(scope, self._configured)

    def called(self, *scopes: str) -> tuple[Called, ...]:
        """Return the earlier default names by scope, with the present one."""
        return tuple(
            Called(scope, old, present)
            for scope in scopes
            for present in (self.of(scope),)
            for old in {ANONYMOUS, default_name(scope, self._configured)}
            if old != present and self._configured == ANONYMOUS
        )
