"""Whether this process owns the memory, is a client of its owner, or waits.

::

                 ┌──────────────► owning ──┐  gives up to a server; paused
    waiting ─────┤                         ├──► waiting
                 └──────────────► client ──┘  its owner went away

The kernel's lock on the store is the only truth. A thread tries it: who gets it opens the store and
listens; who does not connects to the process that has it. When the owner goes, its clients'
connections end, and all try again, at once. What is said meanwhile waits; see ``Appends``.

Where the store cannot be opened at all (its disk is full, read-only or not mounted, its file is
damaged, a program that serves nobody holds it), an engine that only reads serves recall, and the
thread tries again with pauses that grow to ``LONGEST_PAUSE_S``. A disk that refuses later is the
matter of the store's writer, which keeps its own queue.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from loguru import logger

from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.availability import KEPT, Availability, trouble_of
from slowcat_memory.errors import (
    SlowcatError,
    StoreBusyError,
    StoreClosedError,
    StoreDamagedError,
    StoreError,
    describe_error,
)
from slowcat_memory.metrics import Metrics
from slowcat_memory.owner.address import Owner, last_owner
from slowcat_memory.owner.appends import Appends
from slowcat_memory.owner.backlog import Backlog
from slowcat_memory.owner.channel import OwnerAwayError
from slowcat_memory.owner.client import RemoteMemory
from slowcat_memory.owner.forking import closed_in_child
from slowcat_memory.owner.pausing import is_paused, opening
from slowcat_memory.owner.serving.owner_server import OwnerServer
from slowcat_memory.store import check_writable, data_file

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 3.0  # between tries to open the store
QUICK_S = 0.01  # between tries while another process takes over
SETTLE_S = 1.0  # how long another process may take over before that is a trouble
YIELD_S = 3.0  # how long one that gave up lets another have the store
KEEP_S = 60.0  # how long a store is kept before it may be given up again
SLOW_S = 20.0  # how long the first try may take before that is reported
CLOSE_S, LAST_TRY_S = 2.0, 10.0  # how long closing waits for a try; with words that wait


class Lifecycle:
    """Owns the engine of a store, or a connection to its owner. Safe to use from any thread.

    Attributes:
        appends: Where events go.
        last_error: Why the memory could not be used, as it was raised; None if it always could.
    """

    def __init__(
        self,
        config: Config,
        availability: Availability,
        metrics: Metrics,
        *,
        open_engine: Callable[[], MemoryEngine],
        open_reader: Callable[[], MemoryEngine],
        connect: Callable[[Owner], RemoteMemory],
        on_ready: Callable[[MemoryEngine | RemoteMemory], None],
        before_owning: Callable[[], None] = lambda: None,
        on_abandoned: Callable[[int], object] | None = None,
        serves: bool = False,
        shares: bool = True,
        reads_meanwhile: bool = True,
    ) -> None:
        """Start in the state "waiting"; nothing happens before ``start``.

        Args:
            open_engine: Opens the engine; it is released at the end.
            open_reader: Opens an engine that only reads; it is closed at the end.
            connect: Connects to an owner.
            on_ready: Called with the engine or the owner's memory once it is in use.
            before_owning: Closes what this process has open of the store.
            on_abandoned: Called with the number of events that could not be saved before it was
                closed; None logs that they are lost.
            serves: Whether this is a server: bots may give the store up to it.
            shares: Whether other processes may be clients of this one.
            reads_meanwhile: Whether to open a reader while neither can be had.
        """
        self.appends = Appends(config.store.queue_limit)
        self.server: OwnerServer | None = None
        self.last_error: Exception | None = None
        self._reads_meanwhile, self._shares = reads_meanwhile, shares
        self._config, self._availability, self._metrics = config, availability, metrics
        self._open_engine, self._open_reader, self._connect = open_engine, open_reader, connect
        self._on_abandoned = on_abandoned or self._log_lost
        self._on_ready, self._before_owning, self._serves = on_ready, before_owning, serves
        self._trying, self._starting = threading.Lock(), threading.Lock()
        self._tried, self._closing = threading.Event(), threading.Event()
        self._closed, self._ending, self._released = threading.Event(), threading.RLock(), False
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._damaged: object = None  # identity of a file that could not be recovered
        self._give_up = ""  # why the store is to be given up: "server" or "pause"
        self._not_before = self._keep_until = self._alone_since = 0.0  # by the monotonic clock
        closed_in_child.add(self)

    # ---------------------------------------------------------------- life

    def start(self, wait_s: float) -> None:
        """Begin to own or to connect, and wait for the first try, ``wait_s`` seconds at most.

        A try that takes longer than ``SLOW_S`` (a huge store is checked, or a file system hangs) is
        reported as a trouble.
        """
        with self._starting:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="slowcat-reopen", daemon=True
                )
                self._thread.start()
        self._tried.wait(wait_s)

    @property
    def engine(self) -> MemoryEngine | None:
        """The engine; None unless this process owns the store, and has appended what waited."""
        return self.appends.engine

    @property
    def remote(self) -> RemoteMemory | None:
        """The owner's memory; None unless this process is its client."""
        return self.appends.remote

    @property
    def reader(self) -> MemoryEngine | None:
        """An engine that only reads, while neither can be had."""
        return self.appends.reader

    @property
    def backlog(self) -> Backlog:
        return self.appends.backlog

    @property
    def is_ready(self) -> bool:
        """Whether the memory can be used: this process owns it, or is a client of its owner."""
        return self.engine is not None or self.remote is not None

    def wait_settled(self, timeout_s: float) -> None:
        """Wait while another process takes the store over. Not on an event loop."""
        deadline = time.monotonic() + timeout_s
        while self._is_settling() and not self.is_ready and time.monotonic() < deadline:
            self._closing.wait(QUICK_S)

    def _run(self) -> None:
        slow = threading.Timer(SLOW_S, self._report_slow)
        slow.daemon = True
        slow.start()
        try:
            self._keep_ready()
        finally:
            slow.cancel()
            if self._closed.is_set():
                self._end()

    def _report_slow(self) -> None:
        if not self._tried.is_set():
            folder = self._config.folder
            self._availability.fail(StoreError(f"{folder} is still being opened", hint=KEPT))

    def _keep_ready(self) -> None:
        pause = FIRST_PAUSE_S
        while not self._closing.is_set():
            self._wake.clear()
            if self._give_up:
                self._give_the_store_up()
            if self.attempt():
                pause = FIRST_PAUSE_S
                if not self._give_up:
                    self._wake.wait()
            elif self._is_settling():
                self._wake.wait(QUICK_S)
            else:
                self._wake.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)

    def _is_settling(self) -> bool:
        """Whether another process is just taking the store over."""
        return bool(self._alone_since) and time.monotonic() - self._alone_since < SETTLE_S

    def attempt(self) -> bool:
        """Try to own the store, or else to connect; return whether the memory can be used.

        Blocks, for seconds at most.
        """
        with self._trying:
            if not self.is_ready and not self._is_pointless():
                try:
                    self._own_or_connect()
                except (StoreBusyError, OwnerAwayError) as error:
                    self._wait_or_fail(error)
                except Exception as error:  # whatever it is: the agent goes on, and it is retried
                    self._fail(error)
        if self.is_ready or not self._is_settling():
            self._tried.set()
        return self.is_ready

    def _own_or_connect(self) -> None:
        mode = self._config.owner.mode
        if mode != "client" and time.monotonic() >= self._not_before:
            try:
                return self._own()
            except StoreBusyError:
                if mode == "own":
                    raise
                busy = True
        else:
            busy = False
        owner = last_owner(self._config.folder)
        if owner is not None and owner.socket:
            return self._become_client(owner)
        if busy:
            raise _busy(self._config.folder, owner)
        raise OwnerAwayError(
            f"no process has {self._config.folder} open",
            hint="Start `slowcat-memory serve`, or an agent that may own it",
        )

    def _wait_or_fail(self, error: SlowcatError) -> None:
        """Report that the store is held, unless another process is just taking it over."""
        if not self._alone_since:
            self._alone_since = time.monotonic()
        if not self._is_settling():
            self._fail(error)

    def _own(self) -> None:
        with opening(self._config.folder):
            if self.reader is not None:  # which must be closed first, so not in vain
                check_writable(self._config.folder, self._config.store)
                self._close_reader()
            self._before_owning()
            engine = self._open_engine()
            try:
                self.appends.hand_over(engine, self._closing)
                if self._shares:
                    self._serve(engine)
            except BaseException:
                self._let_go(engine)
                raise
        try:
            self._on_ready(engine)
        except BaseException:
            self._let_go(engine)
            raise
        self._recovered(engine.availability.trouble is None)
        _report_damage(engine, self._availability)

    def _let_go(self, engine: MemoryEngine) -> None:
        self._stop_serving()
        self.appends.take_engine()
        engine.release()

    def _recovered(self, can_save: bool) -> None:
        self._alone_since = 0.0
        if can_save:
            self._availability.recover()

    def _serve(self, engine: MemoryEngine) -> None:
        """Listen for clients. Where that fails, this process has a memory, and others have none."""
        folder = self._config.folder
        try:
            self.server = OwnerServer(
                engine, folder, on_server=self._on_server, on_pause=self._on_pause
            )
            self.server.start()
        except (OSError, ValueError, SlowcatError) as error:
            why = describe_error(error)
            logger.warning("memory: other processes cannot use {}: {}", folder, why)

    def _stop_serving(self, to: str = "") -> None:
        server, self.server = self.server, None
        if server is not None:
            server.stop(to)

    def _become_client(self, owner: Owner) -> None:
        remote = self._connect(owner)
        self._close_reader()
        self.appends.send_to(remote)
        remote.start(self._on_lost)
        self._recovered(True)
        self._metrics.count("owners_met")
        self._on_ready(remote)

    def _on_lost(self, to: str) -> None:
        """The owner went away. On a thread of the connection."""
        self._alone_since = time.monotonic()  # first, so that nobody takes this for a trouble
        if to == "server" and not self._serves:
            self._not_before = time.monotonic() + YIELD_S
        self.appends.drop_remote()
        self._wake.set()

    # ---------------------------------------------------------------- giving up

    def _on_server(self) -> None:
        """A server has come. On the owner's event loop."""
        wants = self._config.owner.prefer == "serve" and not self._serves
        if wants and time.monotonic() >= self._keep_until:
            self._keep_until = time.monotonic() + KEEP_S
            self._give_up = "server"
            self._wake.set()

    def _on_pause(self) -> None:
        self.give_up("pause")

    def give_up(self, why: str) -> None:
        """Close the store soon, and try again to get it. Any thread; returns at once."""
        self._give_up = why
        self._wake.set()

    def _give_the_store_up(self) -> None:
        """Close the store, and let another process have it."""
        to, self._give_up = self._give_up, ""
        self._alone_since = time.monotonic()
        if to == "server":
            self._not_before = time.monotonic() + YIELD_S
        if (engine := self.appends.take_engine()) is None:
            return
        logger.info("memory: {} is given up to another process", self._config.folder)
        self._stop_serving(to)
        engine.release()

    # ---------------------------------------------------------------- trouble

    def _is_pointless(self) -> bool:
        """Return whether the store's file is still the one that could not be recovered."""
        return self._damaged is not None and self._damaged == _identity(self._config.folder)

    def _fail(self, error: Exception) -> None:
        self.last_error = error
        trouble = trouble_of(error, self._config.folder)
        if isinstance(trouble, StoreDamagedError):
            self._damaged = _identity(self._config.folder)
        self._metrics.count("store_open_failures")
        self._availability.fail(trouble)
        if self._reads_meanwhile and self.reader is None and not self._closing.is_set():
            with suppress(Exception):  # there is nothing to read
                self._before_owning()
                self.appends.reader = self._open_reader()

    def _close_reader(self) -> None:
        reader, self.appends.reader = self.reader, None
        if reader is not None:
            reader.close()

    def close(self) -> None:
        """Save what waits if that can be done now, and release the engine; idempotent. Blocks."""
        self._closing.set()
        self._wake.set()
        if self._thread not in (None, threading.current_thread()):
            # It may be in the middle of a recovery.
            self._thread.join(LAST_TRY_S if len(self.backlog) else CLOSE_S)
        self._save_rest()
        if lost := self.backlog.abandon(StoreClosedError("the memory was closed before this")):
            self._on_abandoned(lost)
        self._closed.set()
        self._end()

    def _log_lost(self, lost: int) -> None:
        why = self._availability.trouble
        logger.error("{} events were not saved before the memory was closed: {}", lost, why)

    def _save_rest(self) -> None:
        """Have what waits saved, by this process or by an owner; also while another takes over."""
        deadline = time.monotonic() + LAST_TRY_S
        while len(self.backlog) and time.monotonic() < deadline:
            if self.remote is not None:
                if self.backlog.wait_empty(CLOSE_S) or self.remote is not None:
                    return  # the owner is stopped, or very busy
            elif self.engine is not None or self._trying.locked():
                return
            if not self._is_settling():
                self._not_before = 0.0
            if self.attempt():
                continue
            if not (self._is_settling() or is_paused(self._config.folder)):
                return
            time.sleep(QUICK_S)

    def _end(self) -> None:
        """Let go of everything; idempotent. Also by the thread, where it was opening meanwhile."""
        with self._ending:
            self._close_reader()
            if self.remote is not None:
                self.remote.release()
            self._stop_serving()
            if self.engine is not None and not self._released:
                self._released = True
                self.engine.release()
            self._before_owning()

    def close_after_fork(self) -> None:
        """Refuse every use in a forked child; what is open is the parent's, and is not closed."""
        self._parents = self.engine, self.remote, self.reader, self.server  # nor freed
        self.server = None
        self._trying, self._starting = threading.Lock(), threading.Lock()
        self._ending, self._thread, self._alone_since = threading.RLock(), None, 0.0
        error = "the memory was opened before a fork"
        self.appends.close_after_fork(StoreClosedError(error, hint="Open it in this process"))
        self._closing.set()


def _busy(folder: Path, owner: Owner | None) -> StoreBusyError:
    pid, program = (owner.pid, owner.program) if owner else (0, "")
    return StoreBusyError(
        f"{folder} is open for writing in process {pid or 'unknown'} ({program or 'unknown'})",
        hint="One process writes, and this one serves no others: end that process",
        pid=pid,
    )


def _report_damage(engine: MemoryEngine, availability: Availability) -> None:
    """Report that a damaged store was moved aside: the agent may remember less than before."""
    opened = engine.opened
    found = getattr(opened, "trouble", "")
    if not found and opened.moved_aside:
        found = f"the store was damaged; its files are in {opened.moved_aside}"
    if found:
        hint = (
            f"{opened.restored_from} took its place"
            if opened.restored_from
            else f"{opened.salvaged} events were recovered"
        )
        availability.report(StoreDamagedError(found, hint=hint))


def _identity(folder: Path) -> object:
    try:
        found = data_file(folder).stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def unavailable(trouble: SlowcatError | None) -> StoreError:
    """Return the error of a method that needs the memory while there is none."""
    if trouble is None:
        return StoreError("the memory is still being opened", hint="Try again in a moment")
    return StoreError(f"the memory is not available: {trouble.message}", hint=trouble.hint)
