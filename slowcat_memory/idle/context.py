"""What a job may use, made of what the engine hands in."""

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import datetime, tzinfo
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.errors import BadAnswerError
from slowcat_memory.idle.job import Job, Upkeep
from slowcat_memory.providers import LLM, Answer, Embedded, Prompt
from slowcat_memory.store import Snapshot, Store

T = TypeVar("T", bound=Struct)

SLICE = 8  # texts embedded at a time: 16 ms with the int8 model, and somebody may begin to speak
NICENESS = 10  # the scheduler gives the thread about a tenth of a contended core


class Parts(Struct, frozen=True, kw_only=True):
    """What the engine hands to idle thinking, which knows nothing of the engine.

    Attributes:
        store: The store.
        upkeep: What may be done to indexes and files.
        clock: The time, aware.
        zone: The user's time zone.
        scopes: Lists the scopes of which may be thought.
        llm: The LLM; None when none is configured.
        embed: Embeds texts as drafts, and blocks; None without a model.
        space: Tells the key of the vector space in use, "" without a model.
        token_space: Tells that of its tokens' vectors.
        options: Each job's options, by its name.
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
    options: dict[str, Any] = {}
    language: str = "english"


class Tally:
    """Asks an LLM, and counts what that costs.

    Attributes:
        model: Fingerprint of what answered last.
        tokens_in: Prompt tokens.
        tokens_out: Tokens that it wrote.
    """

    def __init__(self, llm: LLM) -> None:
        """Count from nothing.

        Args:
            llm: Asked.
        """
        self._llm = llm
        self.model, self.tokens_in, self.tokens_out = "", 0, 0

    @property
    def prompt_tokens(self) -> int:
        """Tokens that a prompt may have."""
        return self._llm.prompt_tokens

    @property
    def remote(self) -> bool:
        """Whether it is on another machine, where what is local-only may not go."""
        return bool(getattr(self._llm, "remote", False))

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """Ask; see ``LLM``. An answer that cannot be used has cost its prompt at least."""
        try:
            answer = await self._llm.complete(prompt, into)
        except BadAnswerError:
            self.tokens_in += estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
            raise
        self.model = answer.model
        self.tokens_in += answer.tokens_in
        self.tokens_out += answer.tokens_out
        return answer


class Contexts:
    """Makes a context for each step; owns the thread on which their slow work runs."""

    def __init__(self, parts: Parts) -> None:
        """Keep the parts; the thread starts with the first work.

        Args:
            parts: From the engine.
        """
        self._parts = parts
        self._pool = ThreadPoolExecutor(1, "slowcat-idle-work", initializer=humble)

    def __call__(self, job: Job) -> "Context":
        """Make a context.

        Args:
            job: For whom.

        Returns:
            For one plan, or one step.
        """
        return Context(self._parts, job, self._pool)

    def close(self) -> None:
        """Let no more work begin. What runs has been told, by ``interrupted``."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Context:
    """What one step of a job may use; see ``JobContext``."""

    def __init__(self, parts: Parts, job: Job, pool: ThreadPoolExecutor) -> None:
        """Make it for one step.

        Args:
            parts: From the engine.
            job: Whose step.
            pool: Runs what blocks.
        """
        self._parts, self._pool = parts, pool
        self._interrupted = threading.Event()
        self._options = parts.options.get(job.name)
        if self._options is None:
            self._options = job.Options()
        self.tally = Tally(parts.llm) if parts.llm is not None else None

    @property
    def llm(self) -> LLM | None:
        """The LLM, counted."""
        return self.tally

    @property
    def now(self) -> datetime:
        """The time."""
        return self._parts.clock()

    @property
    def zone(self) -> tzinfo:
        """The user's time zone."""
        return self._parts.zone

    @property
    def language(self) -> str:
        """Name of the language that is written by rule."""
        return self._parts.language

    @property
    def options(self) -> Any:
        """The job's own options."""
        return self._options

    @property
    def space(self) -> str:
        """Key of the vector space in use."""
        return self._parts.space()

    @property
    def token_space(self) -> str:
        """Key of the space of its tokens' vectors."""
        return self._parts.token_space()

    @property
    def upkeep(self) -> Upkeep:
        """What may be done to indexes and files."""
        return self._parts.upkeep

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Take a consistent view of the store."""
        return self._parts.store.snapshot()

    def scopes(self) -> Sequence[str]:
        """List the scopes of which may be thought."""
        return self._parts.scopes()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed texts as drafts, a slice at a time, so that a step ends between two of them."""
        embed = self._parts.embed
        if embed is None or not texts:
            return Embedded(np.zeros((0, 0), np.float32), [])
        slices = [texts[at : at + SLICE] for at in range(0, len(texts), SLICE)]
        made = [await self.blocking(embed, slice_) for slice_ in slices]
        tokens = [rows for part in made for rows in part.tokens]
        return Embedded(np.concatenate([part.vectors for part in made]), tokens)

    def blocking(self, work: Callable[..., Any], *arguments: Any) -> Awaitable[Any]:
        """Run slow work on another thread; a cancelled step does not wait for its end."""
        return asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    def interrupted(self) -> bool:
        """Tell whether somebody has spoken since the step began."""
        return self._interrupted.is_set()

    def interrupt(self) -> None:
        """Let ``interrupted`` tell so. From any thread."""
        self._interrupted.set()


def humble() -> None:
    """Give this thread less of a contended processor, where the system can: Linux.

    For threads that mostly compute without the interpreter's lock (a model, a compression). One
    that holds the lock much must not be slowed: whoever waits for the lock would be slowed too.
    """
    if sys.platform == "linux":
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        except OSError:  # a container that forbids it
            pass
