"""Finds the model servers on this machine and chooses one; and the LLM for idle work on one of them.

Tries the usual loopback ports, without proxy, redirects or name resolution, and only
requests the list of models. While the server of idle work is away it only gets cheap probes.

The circuit breaker is our own: pybreaker's wait is the same after each failure, and its calls hold a
lock; a server here is left alone longer each time, or for as long as its ``Retry-After`` says.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.errors import EndpointError, SlowcatError
from slowcat_memory.providers.llm.base import AUTO, LLM, Answer, Prompt, ThinkingOptions, is_remote
from slowcat_memory.providers.llm.server import (
    ANY,
    KNOWN,
    Server,
    ServerKind,
    label,
    read_server,
)
from slowcat_memory.providers.loopback import check_loopback, is_own_server

T = TypeVar("T", bound=Struct)

_LOOK_S = 0.3  # for a server where one may be
_LOCAL_ANSWER_S = 1.0
_FIRST_ANSWER_S = 5.0  # a server that was named may be slow to answer


def choose_server(
    url: str = "", allow_remote: bool = False, known: Sequence[ServerKind] = KNOWN
) -> Server | None:
    """Return the server at ``url``, or one found on this machine if ``url`` is "".

    The first of ``known`` that has models comes first. None when none is found.

    Raises:
        ConfigError: The URL is malformed.
        EndpointRefusedError: It is not on this machine, and ``allow_remote`` is off.
        EndpointError: It does not answer.
    """
    if url:
        check_loopback(url, allow_remote)
        return read_server(url, _FIRST_ANSWER_S)
    servers = []
    for kind in known:
        with suppress(EndpointError):
            servers.append(read_server(_usual_url(kind), _LOOK_S, (kind, ANY)))
    return max(servers, key=lambda row: bool(row.models), default=None)  # of equals the first


def _usual_url(kind: ServerKind) -> str:
    return f"http://127.0.0.1:{kind.port}/v1"


def find_loaded(
    options: ThinkingOptions, used: str = "", known: Sequence[ServerKind] = KNOWN
) -> tuple[Server, str]:
    """Return the server for idle work, and its model to use.

    The model is loaded and runs on this machine. That of ``options.first_url``, the conversation's
    own server, comes first; at another one only programs of this user may listen. Blocks for
    seconds at most.

    Args:
        used: The model that was used before: enough if the server has it, and none is loaded.

    Raises:
        EndpointError: There is none; says why.
    """
    own, reason = options.first_url.rstrip("/"), "no LLM is loaded on this machine"
    hint = "Load a model in LM Studio, Ollama or llama.cpp, or set [idle_llm] url"
    places = [(own, (*known, ANY))] if own else []
    places += [(_usual_url(kind), (kind,)) for kind in known]
    for url, kinds in places:
        try:
            check_loopback(url)
            server = read_server(url, _LOCAL_ANSWER_S, kinds)
        except SlowcatError:
            continue  # it is of another kind, or none
        loaded = [name for name, context in server.models.items() if context is not None]
        model = options.model or (loaded or [used])[0]
        if model not in server.models:
            continue
        if url == own or is_own_server(kinds[0].port):
            return server, model
        reason = f"{server.kind} at {url} is another user's"
        hint = "Set [idle_llm] url to use it all the same"
    raise EndpointError(reason, hint=hint)


# ------------------------------------------------------------------- the LLM for idle work


FAILURES = 3  # in a row, after which the breaker is open
FIRST_WAIT_S, GROWTH, LONGEST_WAIT_S = 5.0, 2.0, 300.0


class CircuitBreakerLLM:
    """An LLM that gets no prompts while its server is unreachable.

    ``FAILURES`` in a row open the breaker for ``FIRST_WAIT_S``; then the server is probed. A failed
    probe opens it again, ``GROWTH`` times as long, up to ``LONGEST_WAIT_S``. A good one closes it and
    keeps the wait, for it shows less than an answer, which resets it. The first ``ready`` or
    ``complete`` probes. Not locked; a lost update costs one call.

    Attributes:
        inner: The LLM; None while none is found on this machine.
    """

    def __init__(
        self,
        inner: LLM | None,
        probe: Callable[[], Awaitable[bool]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wrap an LLM.

        Args:
            probe: Checks that the server is reachable, without running the model; without one,
                answers tell whether it is there.
            clock: Monotonic seconds. If it jumps back to before the last failure, the wait is over.
        """
        self.inner, self._probe, self._clock = inner, probe, clock
        self._failures, self._next_wait_s = FAILURES, FIRST_WAIT_S
        self._opened_at, self._wait_s = clock(), 0.0

    @property
    def prompt_tokens(self) -> int:
        return self.inner.prompt_tokens if self.inner else 0

    @property
    def remote(self) -> bool:
        return self.inner is not None and is_remote(self.inner)

    @property
    def found(self) -> bool:
        """Whether there is one: False until the first is found on this machine."""
        return self.inner is not None

    @property
    def seconds_until_probe(self) -> float:
        """Seconds until ``ready`` probes again; 0 if it would now, or if the server is there."""
        passed = self._clock() - self._opened_at
        open_ = self._failures >= FAILURES and 0 <= passed < self._wait_s
        return self._wait_s - passed if open_ else 0.0

    async def ready(self) -> bool:
        """Return whether the LLM is available; probes if due, which takes seconds at most."""
        if self._failures >= FAILURES and not self.seconds_until_probe:
            if self._probe is None or await self._probe():
                self._failures = 0
            else:
                self._failed()
        return self._failures < FAILURES

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """See ``LLM.complete``. Raises ``EndpointError`` at once while the breaker is open."""
        if not await self.ready() or self.inner is None:
            raise EndpointError("the LLM server is away", retry_after=self.seconds_until_probe)
        try:
            answer = await self.inner.complete(prompt, into)
        except EndpointError as error:
            self._failed(error.retry_after)
            raise
        self._failures, self._next_wait_s = 0, FIRST_WAIT_S
        return answer

    def _failed(self, retry_after: float = 0.0) -> None:
        """Count a failure. A ``retry_after`` opens the breaker at once, at least that long."""
        self._failures = max(FAILURES, self._failures) if retry_after else self._failures + 1
        if self._failures >= FAILURES:
            self._opened_at, self._wait_s = self._clock(), max(self._next_wait_s, retry_after)
            self._next_wait_s = min(GROWTH * self._next_wait_s, LONGEST_WAIT_S)

    async def close(self) -> None:
        close = getattr(self.inner, "close", None)
        if close:
            await close()


class LocalLLM(CircuitBreakerLLM):
    """An LLM on this machine; each probe looks for it, see ``find_loaded``."""

    def __init__(self, options: ThinkingOptions) -> None:
        """Look for nothing yet."""
        super().__init__(None, self._look)
        self._options, self._model = options, options.model
        self._place = self._reason = ""

    async def _look(self) -> bool:
        from slowcat_memory.providers.llm.openai import OpenAILLM  # takes half a second

        try:
            server, model = await asyncio.to_thread(find_loaded, self._options, self._model)
        except EndpointError as error:
            if not self.inner and error.message != self._reason:
                self._reason = error.message
                logger.info(f"No LLM for idle work, for now: {error}")
            return False
        place = f"{label(model)} of {server.kind} at {server.url}"
        if not isinstance(self.inner, OpenAILLM) or place != self._place:
            await self.close()
            self._place, self._model = place, model
            self.inner = OpenAILLM(replace(self._options, url=server.url, model=model))
            logger.info(f"Idle work uses {place}")
        return await self.inner.probe()


def open_llm(options: ThinkingOptions) -> CircuitBreakerLLM | None:
    """Return the LLM, or None and log a line if no URL is set; nothing is sent yet.

    Another provider is another branch here.

    Raises:
        ConfigError: The URL is malformed.
        EndpointRefusedError: The server is not on this machine, and that is not allowed.
    """
    if not options.url:
        logger.info(
            "No LLM for idle work. To have one, start LM Studio, Ollama or llama.cpp on this "
            'machine and set [idle_llm] url = "auto"'
        )
        return None
    if options.url == AUTO:
        return LocalLLM(options)
    from slowcat_memory.providers.llm.openai import OpenAILLM  # takes half a second

    llm = OpenAILLM(options)
    return CircuitBreakerLLM(llm, llm.probe)
