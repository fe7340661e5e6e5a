"""The protocol between the engine and its doors: the processor, the tools and the command line.

An engine in this process implements it, and so can a client of an engine in another process:
arguments and results are records. Reading goes through ``snapshot``: a client opens the store
read-only itself. ``testing.contracts.check_memory`` exercises every verb of an implementation.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, tzinfo
from typing import Any, Literal, Protocol, Unpack

from slowcat_memory.config import Config
from slowcat_memory.core.commands.grammar import Command
from slowcat_memory.core.render.memory_block import Packed
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
    "tidy",  # embed, seal and age a scope, and shrink the file; minutes
    "embed",  # make the exact vectors of a scope that are missing; minutes
    "seal",  # rebuild the sealed index of a scope; seconds
    "shrink",  # rewrite the store's file if that saves room; returns whether it did
    "check",  # read and verify everything; returns a ``Health``
    "repair",  # salvage damaged rows; returns how many, by table
    "backup",  # copy the store's file; returns the path
    "erase",  # erase what is due or has expired
    "drop queries",  # clear queries from the caches, without waiting
]
"""What ``Memory.maintain`` can do; those that work on a scope need one."""


class Memory(Protocol):
    """Everything that a door may do with a memory, in at most 25 verbs.

    Unless a verb says otherwise it blocks, may be called from any thread but an event loop's, and
    raises ``StoreError`` when the store cannot be read or written, and ``ConfigError`` when a scope
    is not a valid name.

    Attributes:
        config: The configuration.
        zone: The user's time zone.
        clock: The time, aware.
        metrics: Counters and histograms.
    """

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

    def append(self, event: Event, *, draft: bool = True) -> Ack:
        """Log an event and make a turn findable. Neither blocks nor waits.

        Args:
            event: An unnumbered turn or session edge.
            draft: Whether to embed it soon; False when bulk embedding follows.

        Returns:
            Resolves once the event is durable; carries its number.

        Raises:
            StoreFullError: Too much waits to be saved.
        """

    def append_all(
        self, events: Sequence[Event], cursor: Cursor | None = None, *, draft: bool = False
    ) -> list[Ack]:
        """Log events in order and in one transaction, with a cursor if one is given.

        Returns:
            An ack for each event; does not wait for the disk.
        """

    async def recall(
        self,
        text: str,
        scope: str,
        *,
        prefetch: Prefetch | None = None,
        **known: Unpack[RecallArguments],
    ) -> Recollection:
        """Recall for a turn that waits: what is ready by the deadline.

        Args:
            text: The user's words.
            scope: The namespace.
            prefetch: Recalled ahead for this turn; it is consumed, and costs no wait.
            **known: See ``RecallArguments``.
        """

    def prefetch(self, ask: Callable[[str], Query | None]) -> Prefetch:
        """Return what recalls ahead of one speaker; to be used on the event loop of this call.

        Args:
            ask: Returns what a turn of these words would ask now (see ``build_query``); None for
                nothing.
        """

    def pack(self, found: Recollection, now: datetime | None = None) -> Packed:
        """Write a recollection as the block for the LLM, inside the token budget.

        Takes a fraction of a millisecond: it may be called on an event loop.
        """

    def note_recall(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        """Write into the ledger what was injected at a turn and what was not; nothing for guests.

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
            scope: The scope.
            local: Whether the LLM is on this machine; otherwise local-only memories are left out.

        Returns:
            A few lines; "" when there is nothing to say, and for guests.
        """

    def prepare(self, scope: str) -> None:
        """Load a scope's index, so that its first recall is as fast as the others."""

    def set_activity(self, name: str, busy: bool) -> None:
        """Close the gate of idle work while something goes on. Returns at once; any thread.

        Args:
            name: What goes on, for example "kitchen/user speaks". A name that ends in "/" stands
                for all that begin with it, and may only be set free.
            busy: Whether it goes on.
        """

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open a consistent view of the store; never hold it across an ``await``."""

    def search(
        self, text: str, scope: str, k: int = 10, **how: Unpack[SearchArguments]
    ) -> Recollection:
        """Recall without a deadline and, by default, without a threshold; the best hits first.

        Args:
            text: The query.
            scope: The namespace.
            k: How many hits.
            **how: See ``SearchArguments``.
        """

    def hotwords(self, scope: str, n: int = 100) -> list[Hotword]:
        """Return a scope's names, and words frequent there and rare elsewhere, for an STT."""

    def stats(self) -> dict[str, Any]:
        """Count what there is.

        Returns:
            Plain values: ``counts`` by table, ``scopes``, ``disk_bytes``, ``tiers``,
            ``embedding``, ``index`` by loaded scope, ``unsaved``, ``counters``, ``latency_ms``.
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
        """Keep a statement that was not said in a conversation.

        Args:
            text: The statement.
            scope: Its namespace.
            speaker: Whom it is about; "" for the configured user.
            pinned: Whether it always counts.
            importance: 0 to 1; 0.5 is ordinary.
            at: Since when it holds; None for now.
            local_only: Whether it must never reach an LLM on another machine.

        Returns:
            The memory, durable.

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
        dropped: bool = False,
    ) -> MemoryRecord | None:
        """Change the marks of a memory; None leaves a mark as it is.

        Args:
            scope: Its namespace.
            memory_id: Its id.
            pinned: Whether it always counts.
            local_only: Whether it, and what was derived from it, never reaches an LLM on another
                machine.
            dropped: Take an icebreaker out of the queue.

        Returns:
            The changed memory; None when there is none, or no such icebreaker waits.
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
        """Let the agent bring something up by itself, once, in a later session.

        Args:
            scope: Whose agent.
            text: What, for the LLM to say in its own words.
            priority: 0 to 1; the highest is used first.
            expires: When it is no longer worth saying; None for as configured.
            quiet: Whether it keeps the quiet hours.

        Returns:
            The memory; None when it is not queued (see ``Icebreakers.push``).

        Raises:
            ValueError: There is no text, the priority is out of range, or it has expired already.
        """

    def carry_out(self, command: Command, context: CommandContext) -> Outcome:
        """Carry out a voice command; what the answer confirms is durable by then."""

    def undo(self, entry: CommandEntry) -> CommandEntry | None:
        """Undo a voice command: what it hid comes back, what it made is retired.

        Returns:
            The row as it is now; None when it is gone or cannot be undone.
        """

    def forget(self, what: Forget | Sequence[Forget], *, dry_run: bool = False) -> Forgotten:
        """Delete for good: turns, what was derived from them, index entries, cached queries.

        Args:
            what: What to forget; several orders are one pass.
            dry_run: Change nothing, and return what would be gone of what is on disk.

        Returns:
            What is gone.

        Raises:
            ValueError: An order has no condition.
        """

    def apply(self, job: str, batch: WriteBatch) -> None:
        """Write a batch in one transaction and bring the indexes up to date; waits for the disk.

        Args:
            job: The name of the writer.
            batch: What changes.
        """

    def maintain(
        self, task: MaintenanceTask, scope: str = "", *, progress: Told | None = None
    ) -> Any:
        """Do maintenance; ``MaintenanceTask`` says what each does and returns.

        Args:
            task: The task.
            scope: The scope, for tasks that work on one.
            progress: Called with the name of the step, how much is done, and of how much.

        Raises:
            ProviderError: The document embedder failed; what it finished is kept.
            IndexDamagedError: The build failed; the present index stays in use.
        """

    def think(
        self,
        jobs: Sequence[str] | None = None,
        progress: Callable[[Forecast], object] | None = None,
    ) -> int:
        """Do all idle work that is due, while nobody speaks.

        Args:
            jobs: Names of the only jobs to do; None for every one.
            progress: Called twice a second.

        Returns:
            How many tasks are left.

        Raises:
            StoreError: The store is read-only.
            KeyError: There is no such job.
        """

    def subscribe(
        self,
        *,
        on_memory: OnMemory | None = None,
        on_pause: Callable[[], object] | None = None,
    ) -> Callable[[], None]:
        """Call back from idle work, on its thread; callbacks must return at once.

        Args:
            on_memory: Called with each memory that idle work creates, updates or retires.
            on_pause: Called when idle work pauses: nothing is due, or somebody speaks.

        Returns:
            Ends the subscription.
        """

    def flush(self, timeout_s: float | None = None, *, indexed: bool = False) -> bool:
        """Wait until what was appended so far is durable.

        Args:
            timeout_s: How long at most; None for as long as it takes.
            indexed: Wait until it is indexed and embedded as well.

        Returns:
            Whether all of it is durable.
        """

    def release(self) -> None:
        """Close the memory, unless other users of this process still share it."""
