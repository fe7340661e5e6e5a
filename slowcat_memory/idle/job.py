"""The protocol of an idle job: it plans what is due, and does one small task at a time.

A job never writes. ``plan`` returns tasks and a cursor, ``step`` returns a ``WriteBatch``; the loop
applies either in one transaction, so that a kill leaves all of it done, or none. A step may be
cancelled at any ``await`` when someone speaks; it is then due again.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, tzinfo
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from slowcat_memory.errors import BadAnswerError, ProviderError
from slowcat_memory.idle.working_set import V
from slowcat_memory.providers import LLM, Embedded
from slowcat_memory.records import Cursor, Task, WriteBatch
from slowcat_memory.store import Snapshot

Needs = Literal["nothing", "llm", "llm or rules", "llm if any"]
T = TypeVar("T", bound=Struct)


class OverBudgetError(ProviderError):
    """The hour, the battery or the tokens spent forbid the LLM or the embedding model now.

    Attributes:
        model: What was to be used: "llm" or "embedder".
    """

    def __init__(self, message: str, model: Literal["llm", "embedder"]) -> None:
        super().__init__(message)
        self.model = model


class RuleStandsInError(BadAnswerError):
    """The LLM's answer cannot be used, and a rule has an answer.

    What the rule found is written, and the task is tried as after any bad answer. Given up, it stays
    among the failed tasks; what an LLM finds in a later try replaces the rule's.

    Attributes:
        batch: What the rule found.
    """

    def __init__(self, error: BadAnswerError, batch: WriteBatch) -> None:
        super().__init__(error.message, hint=error.hint)
        self.batch = batch


def given_up(batch: WriteBatch, task: Task, error: BadAnswerError) -> WriteBatch:
    """Return what a rule found, and the task as failed: another model may do it better."""
    dead = replace(task, state="dead", not_before=None, error=error.message)
    return replace(batch, tasks=(*batch.tasks, dead), retask=True)


class Trigger(Struct, frozen=True):
    """When a job is planned; any one condition suffices.

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
        temperature: Sampling temperature (0 to 2), in place of ``[idle_llm] temperature``.
    """

    enabled: bool | None = None
    every_s: Annotated[float, Meta(ge=1, le=2_592_000)] | None = None
    at_hour: Annotated[int, Meta(ge=0, le=23)] | None = None
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    model: str = ""
    max_tokens: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None


class NoOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a job that has none of its own."""


class Plan(Struct, frozen=True, kw_only=True):
    """The result of planning a job.

    Attributes:
        tasks: To be done; those already queued are unchanged.
        cursor: The position reached, written in the same transaction.
        more: Whether a moved cursor means that there may be more to plan: then the job is planned
            again at once, until its cursor no longer moves. False if everything was examined;
            changes by other jobs must not cause a new plan after each of their steps.
    """

    tasks: tuple[Task, ...] = ()
    cursor: Cursor | None = None
    more: bool = True


def cursor_at(name: str, position: int, payload: Struct) -> Cursor:
    """Return a cursor with a job's payload as JSON; see ``payload_of``."""
    return Cursor(name=name, position=position, note=msgspec.json.encode(payload).decode())


def payload_of(cursor: Cursor | None, kind: type[T]) -> T:
    """Return a cursor's payload; the default if there is none, or another version wrote it."""
    try:
        return msgspec.json.decode(cursor.note, type=kind) if cursor else kind()
    except msgspec.DecodeError:
        return kind()


class Upkeep(Protocol):
    """Maintenance of indexes and files, for jobs; each method blocks."""

    def seal(self, scope: str) -> None:
        """Rebuild a scope's sealed index."""

    def seal_due(self, scope: str) -> bool:
        """Return whether sealing is worthwhile. Takes milliseconds."""

    def age(self, scope: str | None, stop: Callable[[], bool]) -> Any:
        """Move old texts into compressed blocks, until ``stop`` returns True."""

    def has_due(self) -> bool:
        """Return whether anything that was forgotten can no longer be undone."""

    def erase_due(self) -> int:
        """Permanently erase what was forgotten and can no longer be undone."""

    def expired(self) -> bool:
        """Return whether anything is past its retention period."""

    def erase_expired(self, stop: Callable[[], bool]) -> Any:
        """Erase what is past its retention period; ``stop`` ends the search for it."""


class JobContext(Protocol):
    """What a job may use. Across an ``await``, keep only the LLM."""

    @property
    def llm(self) -> LLM | None:
        """The LLM; None if none is configured, or the job needs "nothing".

        Its ``complete`` counts tokens, and raises ``OverBudgetError`` while ``[idle]`` forbids it.
        """

    @property
    def now(self) -> datetime:
        """The current time, timezone-aware."""

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
        """Maintenance of indexes and files; ``embed`` raises ``OverBudgetError`` as ``llm`` does."""

    @property
    def may_embed(self) -> bool:
        """Whether there is an embedding model, and ``[idle]`` allows it now."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Return a consistent view of the store; once ``interrupted``, its reads end the step."""

    def view(self, make: Callable[..., V], snapshot: Snapshot, scope: str, *of: object) -> V:
        """Return a view of a scope's memories that all steps share; see ``WorkingSet.view``.

        Only read it, and not across an ``await``.
        """

    def scopes(self) -> Sequence[str]:
        """Return the scopes that jobs may read: never those of guests."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed texts, in small slices on another thread.

        Empty without ``may_embed``; what has no vector then gets it when it is indexed.
        """

    def blocking(self, work: Callable[..., Any], *arguments: Any) -> Awaitable[Any]:
        """Run slow work on another thread; a cancelled step does not wait for its end."""

    def interrupted(self) -> bool:
        """Return whether someone spoke since the step began; ``blocking`` work polls it.

        A plan or step that computes for more than some milliseconds without reading polls it too.
        """


def llm_of(context: JobContext) -> LLM:
    """Return the LLM that a step is about to ask.

    Raises:
        ProviderError: The job has none; its tasks should not have been planned.
    """
    if context.llm is None:
        raise ProviderError("a step needs an LLM, and none is configured")
    return context.llm


class Job(Protocol):
    """A kind of idle work. Stateless: its state is in the store.

    Attributes:
        name: Its name, also in ``[jobs.NAME]``.
        version: Of its prompt or rule; kept with everything that it makes.
        needs: What it uses. "llm" and "embedder": without that resource the job is not planned,
            and its cursor stays; while ``[idle]`` forbids it, the tasks wait. "llm or rules": works
            by rules at once, and puts its task back (with ``not_before``) until the LLM can be
            asked. "llm if any": by rules only if no LLM is configured; otherwise its tasks wait as
            those of "llm". "nothing": its context has no LLM.
        trigger: When it is planned.
        Options: The type of its options.
    """

    name: str
    version: int
    needs: Needs
    trigger: Trigger
    Options: type[Struct]

    def plan(self, context: JobContext) -> Plan | None:
        """Return what is due, None for nothing. Only reads, in milliseconds, on the idle thread.

        It is ended at its next read when someone speaks, and called again later.
        """

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Do one task: seconds of work at most, of which little is lost when someone speaks.

        Returns:
            What to write; the loop adds ``done`` and ``run``.

        Raises:
            BadAnswerError: The LLM's answer cannot be used; the task is tried three times in all.
                A job that can do without raises ``RuleStandsInError``. When the task is given up, a
                job with a method ``pieces(task)`` is asked for smaller tasks, each tried once.
            PromptTooLongError: The task exceeds the LLM's context. A job with a method
                ``split(task)`` is asked for smaller tasks.
            EndpointError: The LLM is unreachable; the task is tried again when it is back.
            OverBudgetError: The task is done when ``[idle]`` allows it.
        """
