"""The context passed to jobs, built from what the engine provides."""

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import datetime, tzinfo
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.errors import BadAnswerError, EndpointError, EndpointRefusedError
from slowcat_memory.idle.job import Job, JobOptions, OverBudgetError, Upkeep
from slowcat_memory.idle.prompt_gate import PromptGate
from slowcat_memory.idle.working_set import V, WorkingSet
from slowcat_memory.providers import LLM, Answer, Embedded, Prompt, is_remote
from slowcat_memory.store import Snapshot, Store

T = TypeVar("T", bound=Struct)

SLICE = 8  # texts embedded at a time: 16 ms with the int8 model, in case a user starts to speak
NICENESS = 10  # the scheduler gives the thread about a tenth of a contended core


class StepInterruptedError(asyncio.CancelledError):
    """Ends a plan or a step that reads while someone speaks; raised by its next read."""


class JobDeps(Struct, frozen=True, kw_only=True):
    """Dependencies of idle work, provided by the engine.

    Attributes:
        clock: Returns the current time, timezone-aware.
        scopes: Returns the scopes that jobs may read.
        embed: Embeds texts, blocking; None without a model.
        space: Returns the key of the vector space in use, "" without a model.
        token_space: Returns that of its token vectors.
        jobs: Settings common to all jobs (``[jobs.NAME]``), by name.
        language: Of what is written by rule, as in ``language_of``.
    """

    store: Store
    upkeep: Upkeep
    clock: Callable[[], datetime]
    zone: tzinfo
    scopes: Callable[[], Sequence[str]]
    llm: LLM | None = None
    embed: Callable[[Sequence[str]], Embedded] | None = None
    space: Callable[[], str] = lambda: ""
    token_space: Callable[[], str] = lambda: ""
    options: Mapping[str, Any] = {}
    jobs: Mapping[str, JobOptions] = {}
    language: str = "english"


Model = Literal["llm", "embedder"]


class Budget(Protocol):
    """Limits the use of models; the scheduler's is ``scheduler.budget.Budget``."""

    def blocks(self, model: Model, now: datetime, zone: tzinfo) -> str:
        """Return the limit that forbids a model; "" if it may be used."""

    def spend(self, tokens: int, now: datetime) -> None:
        """Count the tokens of a call."""


class NoLimit:
    """A budget without limits, for tests and benchmarks of single jobs."""

    def blocks(self, model: Model, now: datetime, zone: tzinfo) -> str:
        return ""

    def spend(self, tokens: int, now: datetime) -> None:
        """Count nothing."""


class BudgetGate:
    """Admits one step to the LLM and the embedding model, as far as the budget allows."""

    def __init__(self, budget: Budget, clock: Callable[[], datetime], zone: tzinfo) -> None:
        self._budget, self._clock, self._zone = budget, clock, zone

    def is_open(self, model: Model) -> bool:
        return not self._budget.blocks(model, self._clock(), self._zone)

    def check(self, model: Model) -> None:
        """Raise ``OverBudgetError`` unless a model may be used now."""
        if limit := self._budget.blocks(model, self._clock(), self._zone):
            raise OverBudgetError(f"[idle] does not allow it now ({limit})", model)

    def spend(self, tokens: int) -> None:
        self._budget.spend(tokens, self._clock())


class CountingLLM:
    """An LLM within the budget, with a job's options; it counts tokens.

    ``model`` is the fingerprint of the model that answered last.
    """

    def __init__(self, llm: LLM, gate: BudgetGate, options: JobOptions = JobOptions()) -> None:
        self._llm, self._gate, self._options = llm, gate, options
        self.model, self.tokens_in, self.tokens_out = "", 0, 0
        self.items_lost = 0  # of answers: they could not be used
        self.answered: bool | None = None  # whether the server did, at the last call; None if none

    @property
    def prompt_tokens(self) -> int:
        return self._llm.prompt_tokens

    @property
    def remote(self) -> bool:
        return is_remote(self._llm)

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """See ``LLM.complete``. A prompt without a usable answer counts, by estimate.

        Raises:
            OverBudgetError: Nothing was sent.
        """
        self._gate.check("llm")
        model = self._options.model or prompt.model
        max_tokens = self._options.max_tokens or prompt.max_tokens
        try:
            own = replace(
                prompt,
                model=model,
                max_tokens=max_tokens,
                job_temperature=self._options.temperature,
            )
            answer = await self._llm.complete(own, into)
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

    def _count(self, tokens_in: int, tokens_out: int) -> None:
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        self._gate.spend(tokens_in + tokens_out)


class Contexts:
    """Makes a context for each plan and step; owns the thread for blocking work."""

    def __init__(self, deps: JobDeps) -> None:
        self._deps = deps
        self._pool = ThreadPoolExecutor(1, "slowcat-idle-work", initializer=lower_thread_priority)
        self._views = WorkingSet()
        self._closing = threading.Event()

    def __call__(self, job: Job, budget: Budget = NoLimit()) -> "Context":
        """Return the context of a plan or step, whose uses of models the budget limits."""
        return Context(self._deps, job, self._pool, self._views, budget, self._closing)

    def rest(self) -> None:
        """Discard what only speeds up work: there is none for now."""
        self._views.clear()

    def interrupt(self) -> None:
        """Interrupt all plans and steps, running and later ones, because the engine closes."""
        self._closing.set()

    def close(self) -> None:
        """Start no more blocking work; running work sees ``interrupted``."""
        self.interrupt()
        self._pool.shutdown(wait=False, cancel_futures=True)


class Context:
    """The context of one plan or step; see ``JobContext``."""

    def __init__(
        self,
        deps: JobDeps,
        job: Job,
        pool: ThreadPoolExecutor,
        views: WorkingSet,
        budget: Budget,
        closing: threading.Event,
    ) -> None:
        self._deps, self._pool, self._views = deps, pool, views
        self._gate = BudgetGate(budget, deps.clock, deps.zone)
        self._interrupted, self._closing = threading.Event(), closing
        self._options = deps.options.get(job.name)
        if self._options is None:
            self._options = job.Options()
        self.counting_llm: CountingLLM | None = None
        found = getattr(deps.llm, "found", True)  # False while one is looked for
        if deps.llm is not None and found and job.needs != "nothing":
            job_options = deps.jobs.get(job.name, JobOptions())
            checked = PromptGate(deps.llm, deps.store)
            self.counting_llm = CountingLLM(checked, self._gate, job_options)

    @property
    def llm(self) -> LLM | None:
        return self.counting_llm

    @property
    def now(self) -> datetime:
        return self._deps.clock()

    @property
    def zone(self) -> tzinfo:
        return self._deps.zone

    @property
    def language(self) -> str:
        """Name of the language that is written by rule."""
        return self._deps.language

    @property
    def options(self) -> Any:
        return self._options

    @property
    def space(self) -> str:
        return self._deps.space()

    @property
    def token_space(self) -> str:
        return self._deps.token_space()

    @property
    def upkeep(self) -> Upkeep:
        return self._deps.upkeep

    @property
    def may_embed(self) -> bool:
        has_model = self._deps.embed is not None and bool(self._deps.space())
        return has_model and self._gate.is_open("embedder")

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return self._deps.store.snapshot(self._check)

    def view(self, make: Callable[..., V], snapshot: Snapshot, scope: str, *of: object) -> V:
        return self._views.view(make, snapshot, scope, *of)

    def scopes(self) -> Sequence[str]:
        return self._deps.scopes()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """See ``JobContext``. A step ends between two slices."""
        embed = self._deps.embed
        if embed is None or not texts or not self._gate.is_open("embedder"):
            return Embedded(np.zeros((0, 0), np.float32), [])
        slices = [texts[at : at + SLICE] for at in range(0, len(texts), SLICE)]
        made = [await self.blocking(embed, slice_) for slice_ in slices]
        tokens = [rows for part in made for rows in part.tokens]
        return Embedded(np.concatenate([part.vectors for part in made]), tokens)

    def blocking(self, work: Callable[..., Any], *arguments: Any) -> Awaitable[Any]:
        return asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    def interrupted(self) -> bool:
        return self._interrupted.is_set() or self._closing.is_set()

    def _check(self) -> None:
        if self.interrupted():
            raise StepInterruptedError

    def interrupt(self) -> None:
        """Make ``interrupted`` return True. From any thread."""
        self._interrupted.set()


def lower_thread_priority() -> None:
    """Lower this thread's scheduling priority (Linux only).

    For threads that mostly compute without the interpreter's lock (a model, a compression). A
    thread that often holds the lock must not be slowed: other threads would wait longer for it.
    """
    if sys.platform == "linux":
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        except OSError:  # a container that forbids it
            pass
