"""The context passed to jobs, built from what the engine provides."""

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import datetime, tzinfo
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.errors import BadAnswerError
from slowcat_memory.idle.job import Job, JobOptions, Upkeep
from slowcat_memory.idle.prompt_gate import PromptGate
from slowcat_memory.providers import LLM, Answer, Embedded, Prompt, is_remote
from slowcat_memory.store import Snapshot, Store

T = TypeVar("T", bound=Struct)

SLICE = 8  # texts embedded at a time: 16 ms with the int8 model, in case a user starts to speak
NICENESS = 10  # the scheduler gives the thread about a tenth of a contended core


class JobDeps(Struct, frozen=True, kw_only=True):
    """Dependencies of idle work, provided by the engine.

    Attributes:
        clock: Returns the current time, timezone-aware.
        scopes: Returns the scopes that jobs may read.
        embed: Embeds texts as drafts, blocking; None without a model.
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


class CountingLLM:
    """An LLM that counts tokens and applies a job's ``model`` and ``max_tokens``.

    ``model`` is the fingerprint of the model that answered last.
    """

    def __init__(self, llm: LLM, options: JobOptions = JobOptions()) -> None:
        self._llm, self._options = llm, options
        self.model, self.tokens_in, self.tokens_out = "", 0, 0

    @property
    def prompt_tokens(self) -> int:
        return self._llm.prompt_tokens

    @property
    def remote(self) -> bool:
        return is_remote(self._llm)

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """See ``LLM.complete``. An unusable answer counts its prompt, by estimate."""
        model = self._options.model or prompt.model
        max_tokens = self._options.max_tokens or prompt.max_tokens
        try:
            answer = await self._llm.complete(
                replace(prompt, model=model, max_tokens=max_tokens), into
            )
        except BadAnswerError:
            self.tokens_in += estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
            raise
        self.model = answer.model
        self.tokens_in += answer.tokens_in
        self.tokens_out += answer.tokens_out
        return answer


class Contexts:
    """Makes a context for each plan and step; owns the thread for blocking work."""

    def __init__(self, deps: JobDeps) -> None:
        self._deps = deps
        self._pool = ThreadPoolExecutor(1, "slowcat-idle-work", initializer=lower_thread_priority)

    def __call__(self, job: Job) -> "Context":
        return Context(self._deps, job, self._pool)

    def close(self) -> None:
        """Start no more blocking work; running work sees ``interrupted``."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Context:
    """The context of one plan or step; see ``JobContext``."""

    def __init__(self, deps: JobDeps, job: Job, pool: ThreadPoolExecutor) -> None:
        self._deps, self._pool = deps, pool
        self._interrupted = threading.Event()
        self._options = deps.options.get(job.name)
        if self._options is None:
            self._options = job.Options()
        self.counting_llm: CountingLLM | None = None
        if deps.llm is not None:
            gated = PromptGate(deps.llm, deps.store)
            self.counting_llm = CountingLLM(gated, deps.jobs.get(job.name, JobOptions()))

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

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return self._deps.store.snapshot()

    def scopes(self) -> Sequence[str]:
        return self._deps.scopes()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """See ``JobContext``. A step ends between two slices."""
        embed = self._deps.embed
        if embed is None or not texts:
            return Embedded(np.zeros((0, 0), np.float32), [])
        slices = [texts[at : at + SLICE] for at in range(0, len(texts), SLICE)]
        made = [await self.blocking(embed, slice_) for slice_ in slices]
        tokens = [rows for part in made for rows in part.tokens]
        return Embedded(np.concatenate([part.vectors for part in made]), tokens)

    def blocking(self, work: Callable[..., Any], *arguments: Any) -> Awaitable[Any]:
        return asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    def interrupted(self) -> bool:
        return self._interrupted.is_set()

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
