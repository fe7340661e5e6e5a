"""What an idle job is: it says what is due, and does one small piece of it.

A job never writes. ``plan`` returns tasks and the cursor behind which it looked, ``step`` returns a
``WriteBatch``; the loop applies either in one transaction, so that a kill finds all of it done, or
none. A step may be cancelled at any ``await``, when somebody speaks; it is then due again.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, tzinfo
from typing import Any, Literal, Protocol

from msgspec import Struct

from slowcat_memory.providers import LLM, Embedded
from slowcat_memory.records import Cursor, Task, WriteBatch
from slowcat_memory.store import Snapshot

Needs = Literal["nothing", "llm", "embedder"]


class Trigger(Struct, frozen=True):
    """When a job is asked for what is due; whatever is true of it suffices.

    Attributes:
        turns: So many new turns; 0 for never.
        session_end: A session has ended.
        every_s: So many seconds have passed; 0 for never.
        at_hour: Once a day, the first time it is idle after this hour of the user's day; None for
            never.
        weekday: With ``at_hour``, only on this day of the week (0 is Monday); None for every day.
    """

    turns: int = 0
    session_end: bool = False
    every_s: float = 0.0
    at_hour: int | None = None
    weekday: int | None = None


class NoOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Of a job that has no knobs of its own."""


class Plan(Struct, frozen=True, kw_only=True):
    """What a job found to be due.

    Attributes:
        tasks: To be done; those that wait already stay as they are.
        cursor: How far it looked, moved in the same transaction.
        more: Whether a moved cursor means that there may be more to look at: then it is asked
            again at once, until the cursor stands still. False for who looked at all there was;
            what others do meanwhile must not have it asked after each of their steps.
    """

    tasks: tuple[Task, ...] = ()
    cursor: Cursor | None = None
    more: bool = True


class Upkeep(Protocol):
    """What the engine lets jobs do to indexes and files; each blocks, and may be asked to stop."""

    def seal(self, scope: str) -> None:
        """Rebuild a scope's sealed index."""

    def seal_due(self, scope: str) -> bool:
        """Tell whether that is worth while."""

    def age(self, scope: str | None, stop: Callable[[], bool]) -> Any:
        """Move what was said long ago into blocks that take less room."""

    def erase_due(self) -> int:
        """Erase for good what was forgotten and can no longer be undone."""

    def expired(self) -> bool:
        """Tell whether anything is older than it may become: of guests, or by configuration."""

    def erase_expired(self) -> Any:
        """Erase that."""

    def embed_due(self, scope: str) -> bool:
        """Tell whether memories wait for exact vectors, or for those of the model in use."""

    def embed(self, scope: str, *, stop: Callable[[], bool]) -> None:
        """Make exact vectors of what has none, in slices that ``stop`` ends between."""


class JobContext(Protocol):
    """What a job may use. Nothing of it is to be held across an ``await`` but the LLM."""

    @property
    def llm(self) -> LLM | None:
        """The LLM; None when none is configured. Never None in a step of a job that needs one."""

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
        """Key of the space of its tokens' vectors, "" without any."""

    @property
    def upkeep(self) -> Upkeep:
        """What may be done to indexes and files."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Take a consistent view of the store."""

    def scopes(self) -> Sequence[str]:
        """List the scopes of which anything may be thought: never the guests'."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed texts as drafts, in small slices on another thread; empty without a model."""

    def blocking(self, work: Callable[..., Any], *arguments: Any) -> Awaitable[Any]:
        """Run slow work on another thread; a cancelled step does not wait for its end."""

    def interrupted(self) -> bool:
        """Tell whether somebody has spoken since the step began; for ``blocking`` work to ask."""


class Job(Protocol):
    """A kind of idle work. Stateless: what it knows is in the store.

    Attributes:
        name: Its name, and that of its section in config.toml.
        version: Of its prompt or rule; kept with all that it makes.
        needs: Without it the job is never asked for anything: its cursor waits.
        trigger: When it is asked for what is due.
        Options: Its knobs.
    """

    name: str
    version: int
    needs: Needs
    trigger: Trigger
    Options: type[Struct]

    def plan(self, context: JobContext) -> Plan | None:
        """Say what is due. Reads only, in milliseconds; called on the idle thread.

        Args:
            context: What it may use.

        Returns:
            The tasks; None when there are none and no cursor moves.
        """

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Do one task: seconds of work at most, of which little is lost when somebody speaks.

        Args:
            task: One that ``plan`` returned.
            context: What it may use.

        Returns:
            What is to be written; the loop adds ``done`` and ``run``.

        Raises:
            BadAnswerError: The LLM's answer cannot be used; tried three times in all.
            PromptTooLongError: The task is more than the LLM reads at once; see ``split``.
            EndpointError: The LLM is away; tried again when it is back.
        """
