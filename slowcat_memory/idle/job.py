"""The protocol of an idle job: it plans what is due, and does one small task at a time.

A job never writes. ``plan`` returns tasks and a cursor, ``step`` returns a ``WriteBatch``; the loop
applies either in one transaction, so that a kill leaves all of it done, or none. A step may be
cancelled at any ``await`` when someone speaks; it is then due again.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from copy import copy
from datetime import datetime, tzinfo
from typing import Any, Literal, Protocol, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.errors import (
    BadAnswerError,
    EndpointError,
    EndpointRefusedError,
    PromptRefusedError,
    ProviderError,
)
from slowcat_memory.idle.options import Budget, IdleOptions
from slowcat_memory.idle.working_set import WorkingSet
from slowcat_memory.providers import LLM, Answer, Embedded, Prompt, is_remote
from slowcat_memory.records import Cursor, Made, Task, WriteBatch
from slowcat_memory.store import Snapshot, Store

Needs = Literal["nothing", "llm", "llm or rules", "llm if any"]
T = TypeVar("T", bound=Struct)
Item = TypeVar("Item")

SLICE = 8  # texts embedded at a time: 16 ms with the int8 model, in case a user starts to speak


class StepInterruptedError(asyncio.CancelledError):
    """Ends a plan or a step that reads while someone speaks; raised by its next read."""


class OverBudgetError(ProviderError):
    """The hour, the battery or the tokens spent forbid the LLM now."""


AWAY = (EndpointError, EndpointRefusedError, OverBudgetError)  # what a later try may not meet


class Trigger(Struct, frozen=True):
    """When a job is planned; any one condition suffices.

    Attributes:
        turns: After so many new turns; 0 for never.
        session_end: When a session has ended.
        every_s: After so many seconds; 0 for never.
        at_hour: Once a day, at the first idle moment after this local hour; None for never.
    """

    turns: int = 0
    session_end: bool = False
    every_s: float = 0.0
    at_hour: int | None = None


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


def new_task(
    job: str,
    scope: str,
    key: str,
    created: datetime,
    rank: int,
    *,
    sources: Sequence[int] = (),
    note: object = None,
) -> Task:
    """Return a task; the same work has the same key each time. ``note`` is encoded as JSON."""
    return Task(
        id=f"{job}/{scope}/{key}",
        job=job,
        scope=scope,
        key=key,
        created=created,
        rank=rank,
        sources=tuple(sources),
        note="" if note is None else encode(note),
    )


def encode(payload: object) -> str:
    """Return the payload of a task or cursor as JSON."""
    return msgspec.json.encode(payload).decode()


def cursor_at(name: str, position: int, payload: object) -> Cursor:
    """Return a cursor with a payload; see ``payload_of``."""
    return Cursor(name=name, position=position, note=encode(payload))


def payload_of(cursor: Cursor | None, kind: type[Item]) -> Item | None:
    """Return a cursor's payload; None if there is none, or another version wrote it."""
    try:
        return msgspec.json.decode(cursor.note, type=kind) if cursor else None
    except msgspec.DecodeError:
        return None


class Maintenance(Protocol):
    """Maintenance of indexes and files, for jobs; each method blocks."""

    def seal(self, scope: str) -> None:
        """Rebuild a scope's sealed index."""

    def seal_due(self, scope: str) -> bool:
        """Return whether sealing is worthwhile. Takes milliseconds."""

    def age(self, scope: str, stop: Callable[[], bool]) -> Any:
        """Move old texts into compressed blocks, until ``stop`` returns True."""

    def has_due(self) -> bool:
        """Return whether anything that was forgotten can no longer be undone, or has expired."""

    def erase(self, stop: Callable[[], bool]) -> Any:
        """Permanently erase that; ``stop`` ends the search for what has expired."""


class JobDeps(Struct, frozen=True, kw_only=True):
    """Dependencies of idle work, provided by the engine.

    Attributes:
        clock: Returns the current time, timezone-aware.
        scopes: Returns the scopes that jobs may read.
        embed: Embeds texts, blocking; None without a model.
        space: Returns the key of the vector space in use, "" without a model.
        token_space: Returns that of its token vectors.
        language: Of what is written by rule, as in ``language_of``.
    """

    store: Store
    upkeep: Maintenance
    clock: Callable[[], datetime]
    zone: tzinfo
    scopes: Callable[[], Sequence[str]]
    llm: LLM | None = None
    embed: Callable[[Sequence[str]], Embedded] | None = None
    space: Callable[[], str] = lambda: ""
    token_space: Callable[[], str] = lambda: ""
    options: Mapping[str, Any] = {}
    language: str = "english"


class JobLLM:
    """The LLM of one step: within the budget; it counts tokens.

    It refuses prompts with muted memories, and, on another machine, with local-only ones. They are
    looked up when a prompt is sent: one may have been marked since it was written.

    Attributes:
        model: The fingerprint of the model that answered last.
        items_lost: Items of answers that could not be used.
        answered: Whether the server did, at the last call; None if none.
    """

    def __init__(self, llm: LLM, deps: JobDeps, budget: Budget) -> None:
        self._llm, self._deps, self._budget = llm, deps, budget
        self.prompt_tokens, self.remote = llm.prompt_tokens, is_remote(llm)
        self.model, self.tokens_in, self.tokens_out, self.items_lost = "", 0, 0, 0
        self.answered: bool | None = None

    async def complete(
        self, prompt: Prompt, into: type[T], made_from: Sequence[tuple[str, str]]
    ) -> Answer[T]:
        """See ``LLM.complete``. A prompt without a usable answer counts, by estimate.

        Args:
            made_from: (scope, id) of the memories and chunks whose words the prompt holds.

        Raises:
            OverBudgetError: Nothing was sent.
            PromptRefusedError: It holds such a memory.
        """
        if limit := self._budget.blocks("llm", self._deps.clock(), self._deps.zone):
            raise OverBudgetError(f"[idle] does not allow it now ({limit})")
        self._check(prompt.job, made_from)
        try:
            answer = await self._llm.complete(prompt, into)
        except (EndpointError, EndpointRefusedError):
            self.answered = False
            raise
        except (BadAnswerError, asyncio.CancelledError):
            self._count(estimate_tokens(prompt.system) + estimate_tokens(prompt.user), 0)
            raise
        self.model, self.answered = answer.model, True
        self.items_lost += sum(answer.lost.values())
        self._count(answer.tokens_in, answer.tokens_out)
        return answer

    def _check(self, job: str, made_from: Iterable[tuple[str, str]]) -> None:
        with self._deps.store.snapshot() as snapshot:
            for scope, id in made_from:
                memory = snapshot.memory(scope, id)
                if memory and memory.muted:
                    raise PromptRefusedError(f"a prompt of {job} holds a muted memory")
                memory = snapshot.read(scope, id) if self.remote else None
                if memory and memory.local_only:
                    raise PromptRefusedError(f"a prompt of {job} holds a local-only memory")

    def _count(self, tokens_in: int, tokens_out: int) -> None:
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        self._budget.spend(tokens_in + tokens_out, self._deps.clock())


def names_of(
    scope: str, turns: Iterable[int] = (), memories: Iterable[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Return (scope, id) of what a prompt holds, for ``JobLLM.complete``.

    Args:
        turns: Log ids of turns.
        memories: Ids of memories; "" is skipped.
    """
    ids = (*map(chunk_id, turns), *memories)
    return tuple(dict.fromkeys((scope, id) for id in ids if id))


class JobContext:
    """The services for one plan or step of a job. Across an ``await``, keep only the LLM.

    Attributes:
        zone: The user's time zone.
        language: Name of the language that is written by rule.
        upkeep: Maintenance of indexes and files.
        scopes: Returns the scopes that jobs may read: never those of guests.
        view: Returns a view of a scope's memories that all steps share; see ``WorkingSet.view``.
            Only read it, and not across an ``await``.
        space: Key of the vector space in use, "" without a model.
        token_space: Key of the space of token vectors, "" without any.
        options: The job's own options.
        llm: The LLM, which ``ask`` asks; None if none is configured, or the job needs "nothing".
            It counts tokens, and raises ``OverBudgetError`` while ``[idle]`` forbids it.
        remote: Whether what is read may be sent to an LLM on another machine.
        prompt_tokens: What the LLM reads at most; 0 without one.
    """

    def __init__(self, contexts: "Contexts", job: "Job", budget: Budget) -> None:
        self._job, self._deps = job, contexts.deps
        deps = contexts.deps
        self._pool, self._closing, self._budget = contexts.pool, contexts.closing, budget
        self._interrupted = threading.Event()
        self.zone, self.language = deps.zone, deps.language
        self.upkeep: Maintenance = deps.upkeep
        self.scopes, self.view = deps.scopes, contexts.views.view
        self.space: str = deps.space()
        self.token_space: str = deps.token_space()
        self.options: Any = deps.options.get(job.name) or job.Options()
        self.llm: JobLLM | None = None
        ready = getattr(deps.llm, "found", True)  # False while one is looked for
        if deps.llm is not None and ready and job.needs != "nothing":
            self.llm = JobLLM(deps.llm, deps, budget)
        self.remote = self.llm is not None and self.llm.remote
        self.prompt_tokens = self.llm.prompt_tokens if self.llm else 0

    def without_llm(self) -> "JobContext":
        """Return the context in which a step is done by rules, after the LLM was of no help."""
        ruled = copy(self)
        ruled.llm = None
        return ruled

    @property
    def now(self) -> datetime:
        """The current time, timezone-aware."""
        return self._deps.clock()

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Return a consistent view of the store; once ``interrupted``, its reads end the step."""
        return self._deps.store.snapshot(self._check)

    async def ask(
        self,
        into: type[T],
        system: str,
        user: str,
        scope: str,
        *,
        turns: Iterable[int] = (),
        memories: Iterable[str] = (),
        max_tokens: int,
        temperature: float = 0.1,
    ) -> Answer[T]:
        """Ask the LLM, with the job's options; see ``Prompt`` and ``JobLLM.complete``.

        Args:
            scope: Whose words the prompt holds.
            turns: Log ids of the turns in it.
            memories: Ids of the memories in it.

        Raises:
            ProviderError: There is none; the step should not have been planned.
        """
        if self.llm is None:
            raise ProviderError("a step needs an LLM, and none is configured")
        own = self._budget.options.of_job(self._job.name)
        prompt = Prompt(
            job=self._job.name,
            version=self._job.version,
            system=system,
            user=user,
            max_tokens=own.max_tokens or max_tokens,
            temperature=temperature,
            model=own.model,
            job_temperature=own.temperature,
        )
        return await self.llm.complete(prompt, into, names_of(scope, turns, memories))

    def made(self, model: str = "") -> Made:
        """Return what says that the job derived something: by an LLM, "" for a rule."""
        return Made(job=self._job.name, version=self._job.version, model=model)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed texts, in small slices on another thread; a step ends between two of them.

        Empty without an embedding model, and while ``[idle]`` forbids it; what has no vector then
        gets it when it is indexed.
        """
        embed = self._deps.embed
        if not (embed and texts) or self._budget.blocks("embedder", self.now, self.zone):
            return Embedded(np.zeros((0, 0), np.float32), [])
        slices = [texts[at : at + SLICE] for at in range(0, len(texts), SLICE)]
        parts = [await self.blocking(embed, slice_) for slice_ in slices]
        tokens = [rows for part in parts for rows in part.tokens]
        return Embedded(np.concatenate([part.vectors for part in parts]), tokens)

    def blocking(self, work: Callable[..., Item], *arguments: Any) -> Awaitable[Item]:
        """Run slow work on another thread; a cancelled step does not wait for its end."""
        return asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    def pausing(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items to work on for milliseconds each; once ``interrupted``, they end the step."""
        for item in items:
            self._check()
            yield item

    def interrupted(self) -> bool:
        """Return whether someone spoke since the step began; ``blocking`` work polls it."""
        return self._interrupted.is_set() or self._closing.is_set()

    def _check(self) -> None:
        if self.interrupted():
            raise StepInterruptedError

    def interrupt(self) -> None:
        """Make ``interrupted`` return True. From any thread."""
        self._interrupted.set()


class Job(Protocol):
    """A kind of idle work. Stateless: its state is in the store.

    Attributes:
        name: Its name, also in ``[jobs.NAME]``.
        version: Of its prompt or rule; kept with everything that it makes.
        needs: What it uses. "llm" and "embedder": without that resource the job is not planned,
            and its cursor stays; while ``[idle]`` forbids it, the tasks wait. "llm or rules": where
            the LLM cannot be asked, the step is done in a context without one, and its task put back
            until it can. "llm if any": the same, but while ``[idle]`` forbids the LLM its tasks
            wait. "nothing": its context has no LLM.
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

        It is ended at its next read when someone speaks, and called again later. A job whose tasks
        another one makes has nothing to plan.
        """
        return None

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Do one task: seconds of work at most, of which little is lost when someone speaks.

        Returns:
            What to write; the loop adds ``done`` and ``run``.

        Raises:
            BadAnswerError: The LLM's answer cannot be used; the task is tried three times in all,
                and a job that can do without does it by rules meanwhile. When the task is given up,
                a job with a method ``pieces(task)`` is asked for smaller tasks, each tried once.
            PromptTooLongError: The task exceeds the LLM's context. A job with a method
                ``split(task)`` is asked for smaller tasks.
            EndpointError: The LLM is unreachable; the task is tried again when it is back.
            OverBudgetError: The task is done when ``[idle]`` allows it.
        """


NICENESS = 10  # the scheduler gives the thread about a tenth of a contended core


class Contexts:
    """Makes a context for each plan and step; owns the thread for blocking work."""

    def __init__(self, deps: JobDeps) -> None:
        self.deps = deps
        self.pool = ThreadPoolExecutor(1, "slowcat-idle-work", initializer=lower_thread_priority)
        self.views, self.closing = WorkingSet(), threading.Event()

    def __call__(self, job: Job, budget: Budget | None = None) -> JobContext:
        """Return the context of a plan or step, whose uses of models the budget limits."""
        return JobContext(self, job, budget or Budget(IdleOptions(on_battery=True)))  # or none

    def interrupt(self) -> None:
        """Interrupt all plans and steps, running and later ones, because the engine closes."""
        self.closing.set()

    def close(self) -> None:
        """Start no more blocking work; running work sees ``interrupted``."""
        self.interrupt()
        self.pool.shutdown(wait=False, cancel_futures=True)


def lower_thread_priority() -> None:
    """Lower this thread's scheduling priority (Linux only).

    For threads that mostly compute without the interpreter's lock (a model, a compression). A
    thread that often holds the lock must not be slowed: other threads would wait longer for it.
    """
    if sys.platform == "linux":
        with suppress(OSError):  # a container that forbids it
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
