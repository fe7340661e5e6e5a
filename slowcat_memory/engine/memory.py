"""The protocol between the engine and its callers: the processor, the tools and the command line.

An engine implements it, and so does the memory of a process that opens its engine in the
background: arguments and results are records. Reading goes through ``snapshot``.
``testing.contracts.check_memory`` exercises every method of an implementation.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, tzinfo
from typing import Any, Literal, Protocol, Unpack

from slowcat_memory.config import Config
from slowcat_memory.core.commands.grammar import Command
from slowcat_memory.core.disclosure import Reader
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine.availability import Availability
from slowcat_memory.engine.search import SearchArguments
from slowcat_memory.engine.turns import RecallArguments
from slowcat_memory.idle.events import OnMemory
from slowcat_memory.idle.forecast import Forecast
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import EmbedderReport
from slowcat_memory.records import (
    CommandEntry,
    Cursor,
    Event,
    Forget,
    Forgotten,
    Hotword,
    Turn,
    WriteBatch,
)
from slowcat_memory.records import Memory as MemoryRecord
from slowcat_memory.runtime.commands.executor import CommandContext, Outcome
from slowcat_memory.runtime.namespaces.vectors import Told
from slowcat_memory.runtime.recall.prefetch import Prefetch
from slowcat_memory.runtime.recall.query import Query, Recollection
from slowcat_memory.store import Ack, OpenReport, Snapshot

MaintenanceTask = Literal[
    "tidy",  # embed, seal and move the tiers of a scope, and shrink the file; minutes
    "embed",  # make the vectors of a scope that are missing; minutes
    "seal",  # rebuild the sealed index of a scope; seconds
    "shrink",  # rewrite the store's file if that saves room; returns whether it did
    "check",  # read and verify everything; returns a ``Health``
    "repair",  # salvage damaged rows; returns how many, by table
    "backup",  # copy the store's file; returns the path
    "copy for replay",  # copy the store's file into the folder of a replay, which exists
    "erase",  # erase what is due or has expired; nothing while the clock is doubted
    "overdue",  # find what should be erased by now; returns an ``Overdue``
    "confirm clock",  # believe the wall clock, because the user says so; returns if it was doubted
    "drop queries",  # clear queries from the caches, without waiting
]
"""What ``Memory.maintain`` can do; those that work on a scope need one."""


class Memory(Protocol):
    """Everything that a caller may do with a memory, in at most 27 methods.

    Unless a method says otherwise it blocks, may be called from any thread but an event loop's, and
    raises ``StoreError`` when the store cannot be read or written, and ``ConfigError`` when a scope
    is not a valid name, or the time of a turn or a note has no time zone.

    Attributes:
        clock: Returns the current time, timezone-aware.
        availability: Reports that the memory cannot be opened or saved, and that it can be again.
    """

    availability: Availability
    config: Config
    zone: tzinfo
    clock: Callable[[], datetime]
    metrics: Metrics

    @property
    def embedding(self) -> EmbedderReport:
        """Which embedding model is in use, and where it came from."""

    @property
    def opened(self) -> OpenReport:
        """What was found and done when the store was opened."""

    def append(self, event: Event) -> Ack:
        """Log an event and make a turn findable. Does not block or wait for the disk.

        Args:
            event: An unnumbered turn or session edge.

        Returns:
            Resolves once the event is durable; carries its number.

        Raises:
            StoreFullError: Too many writes are pending.
        """

    def append_all(self, events: Sequence[Event], cursor: Cursor | None = None) -> list[Ack]:
        """Log events in order and in one transaction, with a cursor if one is given.

        Returns an ack for each event; does not wait for the disk.
        """

    async def recall(
        self,
        text: str,
        scope: str,
        *,
        prefetch: Prefetch | None = None,
        **known: Unpack[RecallArguments],
    ) -> Recollection:
        """Recall for a turn that waits; return what is ready by the deadline.

        Args:
            prefetch: A recall made ahead for this turn; it is consumed, and costs no wait.
            **known: See ``RecallArguments``.
        """

    def prefetch(self, ask: Callable[[str], Query | None]) -> Prefetch:
        """Return a prefetcher for one speaker; use it on the event loop of this call.

        Args:
            ask: Returns the query that a turn of these words would make now (see ``build_query``);
                None for no recall.
        """

    def pack(self, found: Recollection, now: datetime | None = None) -> Packed:
        """Write a recollection as the block for the LLM, inside the token budget.

        Takes a fraction of a millisecond: it may be called on an event loop.
        """

    def note_recall(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        """Write into the ledger what was injected at a turn and what was rejected; skips guests.

        On an event loop it returns at once, and the row is made on the recall worker.

        Args:
            turn: The user's turn, numbered.
            found: From ``recall``.
            packed: What was injected of it.
        """

    def session_context(self, scope: str, *, local: bool = False) -> str:
        """Return what stays the same during a session, for the system instruction.

        Byte-stable while nothing is pinned or unpinned, so it belongs there before the session
        starts, where it costs the LLM's prefix cache nothing. Takes an icebreaker from the queue
        if one may be used; within one session it is the same one each time.

        Args:
            local: Whether the LLM is on this machine; otherwise local-only memories are excluded.

        Returns:
            A few lines; "" if there is nothing to include, and for guests.
        """

    def prepare(self, scope: str) -> None:
        """Load a scope's index, so that its first recall is answered in full. Blocks.

        What makes it as fast as later ones (patterns, rules, a full garbage collection) takes a
        second of processor time once in a process, and follows in the background.
        """

    def set_activity(self, name: str, busy: bool) -> None:
        """Close the gate of idle work while an activity lasts. Returns at once; any thread.

        Args:
            name: The activity, for example "kitchen/user speaks". A name that ends in "/" means all
                names with that prefix, and is only valid with ``busy=False``.
            busy: Whether the activity is running.
        """

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open a consistent view of the store; do not hold it across an ``await``."""

    def reader(self, *scopes: str, local: bool = False, muted: bool = False) -> Reader:
        """Return who reads some namespaces, for ``core.disclosure``; that of guests is left out.

        Memories disclosed to it carry the users' present names.

        Args:
            local: Whether the texts stay on this machine; otherwise local-only ones are left out.
            muted: Whether a person reads them, and no LLM: muted memories are included.
        """

    def search(
        self, text: str, scope: str, k: int = 10, **how: Unpack[SearchArguments]
    ) -> Recollection:
        """Recall without a deadline and, by default, without a threshold; the best hits first.

        ``how``: see ``SearchArguments``.
        """

    def hotwords(self, scope: str, n: int = 100, *, local: bool = False) -> list[Hotword]:
        """Return a scope's names, and words frequent there and rare elsewhere, for an STT.

        Args:
            local: Whether the STT runs on this machine; otherwise words that only local-only
                memories hold are left out.

        Returns:
            None for the guests' scope.
        """

    def stats(self) -> dict[str, Any]:
        """Return counts and sizes, as plain values.

        ``counts`` by table, ``scopes``, ``disk_bytes``, ``tiers``, ``embedding``,
        ``index`` by loaded scope, ``unsaved``, ``counters``, ``latency_ms``.
        """

    def remember(
        self,
        text: str,
        scope: str,
        *,
        speaker: str = "",
        pinned: bool = False,
        importance: float = 0.8,
        at: datetime | None = None,
        local_only: bool = False,
    ) -> MemoryRecord:
        """Store a statement that was not made in a conversation; return it once it is durable.

        Args:
            speaker: The person it is about; "" for the configured user.
            pinned: Whether it always counts.
            importance: 0 to 1; 0.5 is ordinary.
            at: The time since when it is true; None for now.
            local_only: Whether it must never reach an LLM on another machine.

        Raises:
            ValueError: The statement is empty.
            ConfigError: The scope is not a valid name, or that of guests.
        """

    def mark(
        self,
        scope: str,
        memory_id: str,
        *,
        pinned: bool | None = None,
        local_only: bool | None = None,
        muted: bool | None = None,
        dropped: bool = False,
    ) -> MemoryRecord | None:
        """Change the marks of a memory; None leaves a mark as it is.

        Args:
            pinned: Whether it always counts.
            local_only: Whether it, and what was derived from it, never reaches an LLM on another
                machine.
            muted: Whether it, and what was derived from it, is never recalled nor put into any
                prompt, block, head, icebreaker or spoken answer. Lists for a person have it.
            dropped: Remove an icebreaker from the queue.

        Returns:
            The changed memory; None if it does not exist, or is no queued icebreaker.
        """

    def correct(self, scope: str, memory_id: str, text: str) -> MemoryRecord | None:
        """Replace a memory by the user's own wording, since when it was true.

        The old one is superseded and stays readable as history; the new one, a note, has its
        sources, pin and marks, and is taken back by ``undo``. A block gets a new version that jobs
        do not overwrite.

        Returns:
            What replaces it, durable; None if there is no such current memory, and for a turn: what
            was said stays as it was said.

        Raises:
            ValueError: The text is empty, or too long for a block.
            ConfigError: The scope is that of guests.
        """

    def push_icebreaker(
        self,
        scope: str,
        text: str,
        *,
        priority: float = 0.5,
        expires: datetime | None = None,
        quiet: bool = True,
    ) -> MemoryRecord | None:
        """Queue something for the agent to bring up unprompted, once, in a later session.

        Args:
            scope: The agent's namespace.
            text: The content; the LLM words it.
            priority: 0 to 1; the highest is used first.
            expires: When it is no longer worth saying; None for as configured.
            quiet: Whether it respects the quiet hours.

        Returns:
            The memory; None when it is not queued (see ``Icebreakers.push``).

        Raises:
            ValueError: There is no text, the priority is out of range, or it has expired already.
        """

    def carry_out(self, command: Command, context: CommandContext) -> Outcome:
        """Execute a voice command; what the answer confirms is durable on return."""

    def undo(self, entry: CommandEntry) -> CommandEntry | None:
        """Undo a command: restore what it hid, retire what it made; return its updated row.

        None when it does not exist or cannot be undone.
        """

    def forget(
        self,
        what: Forget | Sequence[Forget],
        *,
        dry_run: bool = False,
        keep_backups: bool = False,
        undo_s: float = 0.0,
    ) -> Forgotten:
        """Delete for good: turns, what was derived from them, index entries, cached queries.

        Args:
            what: What to forget; several orders are one pass.
            dry_run: Change nothing, and return what would be deleted from disk.
            keep_backups: Rewrite the backups in the store's folder without it, instead of deleting
                them; takes about as long as making them did.
            undo_s: Hide it at once, durably, and delete it after as many seconds; until then
                ``undo`` takes the ``order`` of the result back. 0 deletes it now.

        Raises:
            ValueError: An order has no condition.
        """

    def apply(self, job: str, batch: WriteBatch) -> None:
        """Write a batch in one transaction and update the indexes; waits for the disk."""

    def maintain(
        self, task: MaintenanceTask, scope: str = "", *, progress: Told | None = None
    ) -> Any:
        """Do one maintenance task; ``MaintenanceTask`` documents each and its result.

        Args:
            scope: For tasks that work on one scope.
            progress: Called with the step's name, the count done, and the total.

        Raises:
            ProviderError: The document embedder failed; finished work is kept.
            IndexDamagedError: The build failed; the present index stays in use.
        """

    def think(
        self,
        jobs: Sequence[str] | None = None,
        progress: Callable[[Forecast], object] | None = None,
    ) -> int:
        """Do all idle work that is due, while no one speaks; return how many tasks are left.

        Args:
            jobs: Names of the only jobs to do; None for all.
            progress: Called twice a second.

        Raises:
            StoreError: The store is read-only.
            KeyError: There is no such job.
        """

    def subscribe(
        self,
        *,
        on_memory: OnMemory | None = None,
        on_pause: Callable[[], object] | None = None,
        on_event: OnMemory | None = None,
    ) -> Callable[[], None]:
        """Register callbacks. They run on the thread of what happens and must return at once.

        Args:
            on_memory: Called with each memory that idle work creates, updates or retires.
            on_pause: Called when idle work pauses: nothing is due, or somebody speaks.
            on_event: Called with everything that is stored, recalled, created, updated, retired,
                marked or forgotten, by whomever; not with turns that wait for the store.

        Returns:
            Ends the subscription.
        """

    def flush(self, timeout_s: float | None = None, *, indexed: bool = False) -> bool:
        """Wait until everything appended so far is durable; return whether it is.

        Args:
            timeout_s: The longest wait; None for no limit.
            indexed: Wait until it is indexed and embedded as well.
        """

    def release(self) -> None:
        """Close the memory, unless it is shared with other users in this process."""
