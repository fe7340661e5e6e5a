"""The protocol of an idle job: it finds what is due, and does one small piece of it.

A job never writes. ``plan`` returns tasks and the cursor of how far it looked, ``step`` returns a
``WriteBatch``; the loop applies either in one transaction, so that a kill finds all of it done, or
none. A step may be cancelled at any ``await`` when someone speaks; it is then due again.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, tzinfo
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta, Struct

from slowcat_memory.providers import LLM, Embedded
from slowcat_memory.records import Cursor, Task, WriteBatch
from slowcat_memory.store import Snapshot

Needs = Literal["nothing", "llm", "embedder"]
T = TypeVar("T", bound=Struct)


class Trigger(Struct, frozen=True):
    """When a job is asked what is due; any one condition suffices.

    Attributes:
        turns: After so many new turns; 0 for never.
        session_end: When a session has ended.
        every_s: After so many seconds; 0 for never.
        at_hour: Once a day, at the first idle moment after this local hour; None for never.
        weekday: With ``at_hour``, only on this day of the week (0 is Monday); None for every day.
    """

    turns: int = 0
    session_end: bool = False
    every_s: float = 0.0
    at_hour: int | None = None
    weekday: int | None = None


class JobOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set for any job, in ``[jobs.NAME]``; what is left out is the job's own choice.

    Attributes:
        enabled: Run it. Off, its waiting tasks stay until it is on again.
        every_s: Least seconds between two looks for work (1 to 2,592,000), in place of the job's
            own interval if it has one; more keeps a slow machine free.
        at_hour: Look for work once a day after this local hour (0 to 23), and at no other time.
        timeout_s: Seconds that one step may take before it fails, in place of ``idle.step_s``.
        model: LLM model for this job; "" for that of ``[idle_llm]``. The server must offer it.
        max_tokens: Longest answer in tokens (1 to 100,000), in place of the job's own limit.
    """

    enabled: bool | None = None
    every_s: Annotated[float, Meta(ge=1, le=2_592_000)] | None = None
    at_hour: Annotated[int, Meta(ge=0, le=23)] | None = None
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    model: str = ""
    max_tokens: Annotated[int, Meta(ge=1, le=100_000)] | None = None


class NoOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a job that has none of its own."""


class Plan(Struct, frozen=True, kw_only=True):
    """What a job found to be due.

    Attributes:
        tasks: To be done; those that wait already stay as they are.
        cursor: How far it looked, moved in the same transaction.
        more: Whether a moved cursor means that there may be more to look at: then the job is asked
            again at once, until its cursor stands still. False if it looked at everything; changes
            by other jobs must not cause it to be asked after each of their steps.
    """

    tasks: tuple[Task, ...] = ()
    cursor: Cursor | None = None
    more: bool = True


def cursor_at(name: str, position: int, payload: Struct) -> Cursor:
    """Return a cursor that keeps a job's payload as JSON; see ``payload_of``."""
    return Cursor(name=name, position=position, note=msgspec.json.encode(payload).decode())


def payload_of(cursor: Cursor | None, kind: type[T]) -> T:
    """Return a cursor's payload; the default if there is none, or another version wrote it."""
    try:
        return msgspec.json.decode(cursor.note, type=kind) if cursor else kind()
    except msgspec.DecodeError:
        return kind()


class Upkeep(Protocol):
    """What jobs may do to indexes and files; each method blocks."""

    def seal(self, scope: str) -> None:
        """Rebuild a scope's sealed index."""

    def seal_due(self, scope: str) -> bool:
        """Return whether that is worthwhile. Takes milliseconds."""

    def age(self, scope: str | None, stop: Callable[[], bool]) -> Any:
        """Move old texts into compressed blocks, until ``stop`` returns True."""

    def erase_due(self) -> int:
        """Erase for good what was forgotten and can no longer be undone."""

    def expired(self) -> bool:
        """Return whether anything is past its retention: guests' turns, or by configuration."""

    def erase_expired(self) -> Any:
        """Erase that."""

    def embed_due(self, scope: str) -> bool:
        """Return whether memories lack exact vectors of the model in use."""

    def embed(self, scope: str, *, stop: Callable[[], bool]) -> None:
        """Make those vectors in slices, between which ``stop`` is asked."""


class JobContext(Protocol):
    """What a job may use. Hold nothing of it across an ``await`` but the LLM."""

    @property
    def llm(self) -> LLM | None:
        """The LLM; None if none is configured. Never None in a step of a job that needs one."""

    @property
    def now(self) -> datetime:
        """The time, aware."""

    @property
    def zone(self) -> tzinfo:
        """The user's time zone."""

    @property
    def language(self) -> str:
        """Name of the language that is written by rule, as in ``language_of``."""

    @property
    def options(self) -> Any:
        """The job's own options."""

    @property
    def space(self) -> str:
        """Key of the vector space in use, "" without a model."""

    @property
    def token_space(self) -> str:
        """Key of the space of token vectors, "" without any."""

    @property
    def upkeep(self) -> Upkeep:
        """What may be done to indexes and files."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Return a consistent view of the store."""

    def scopes(self) -> Sequence[str]:
        """Return the scopes that jobs may read: never those of guests."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed texts as drafts, in small slices on another thread; empty without a model."""

    def blocking(self, work: Callable[..., Any], *arguments: Any) -> Awaitable[Any]:
        """Run slow work on another thread; a cancelled step does not wait for its end."""

    def interrupted(self) -> bool:
        """Return whether someone has spoken since the step began; for ``blocking`` work to ask."""


class Job(Protocol):
    """A kind of idle work. Stateless: what it must remember is in the store.

    Attributes:
        name: Its name, also in ``[jobs.NAME]``.
        version: Of its prompt or rule; kept with everything that it makes.
        needs: Without it the job is never asked: its cursor waits.
        trigger: When it is asked what is due.
        Options: Its options.
    """

    name: str
    version: int
    needs: Needs
    trigger: Trigger
    Options: type[Struct]

    def plan(self, context: JobContext) -> Plan | None:
        """Find what is due. Reads only, in milliseconds; called on the idle thread.

        Args:
            context: What it may use.

        Returns:
            The tasks; None if there are none and no cursor moves.
        """

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Do one task: seconds of work at most, of which little is lost when someone speaks.

        Args:
            task: One that ``plan`` returned.
            context: What it may use.

        Returns:
            What is to be written; the loop adds ``done`` and ``run``.

        Raises:
            BadAnswerError: The LLM's answer cannot be used; the task is tried three times in all.
            PromptTooLongError: The task is longer than the LLM reads. A job with a method
                ``split(task)`` is asked for smaller tasks.
            EndpointError: The LLM is away; the task is tried again when it is back.
        """
