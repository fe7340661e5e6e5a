"""Warms up a local LLM: makes it process the conversation while no one speaks, for one token.

A local server caches the prompt it processed. The first request of a process also waits for
connections and models; idle work on the same server evicts the cache, and the next turn then waits
for the whole conversation to be processed again. A request for a single token, at the pipeline's
start and after each burst of idle work, avoids both waits.

The request is Pipecat's own ``run_inference`` with the system instruction, messages and tools of
the next turn, so that the next request has the same prefix. It is cancelled the moment somebody
speaks, and its errors are ignored.
"""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from loguru import logger
from pipecat.frames.frames import (
    Frame,
    InterruptionFrame,
    LLMContextFrame,
    UserStartedSpeakingFrame,
    UserStoppedSpeakingFrame,
    VADUserStartedSpeakingFrame,
)
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.services.llm_service import LLMService

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import describe_error

_TURN_FRAMES = (
    VADUserStartedSpeakingFrame,
    UserStartedSpeakingFrame,
    UserStoppedSpeakingFrame,
    InterruptionFrame,
    LLMContextFrame,
)


class Warming:
    """Warms up one conversation's LLM. Use it on the event loop."""

    def __init__(self) -> None:
        self._user_speaks = self._llm_answers = False
        self._warmed = ""  # key of the messages that the LLM has processed
        self._request: asyncio.Future | None = None

    def see(self, kind: type[Frame]) -> None:
        """Track who speaks, by the kinds of frames; any start of speech cancels a request."""
        if not issubclass(kind, _TURN_FRAMES):
            return
        self.stop()
        if issubclass(kind, (LLMContextFrame, InterruptionFrame)):
            self._llm_answers = issubclass(kind, LLMContextFrame)
        else:
            self._user_speaks = not issubclass(kind, UserStoppedSpeakingFrame)

    def answer_ended(self) -> None:
        """Mark the end of the agent's turn."""
        self._llm_answers = False

    def stop(self) -> None:
        if self._request:
            self._request.cancel()

    async def warm(
        self,
        llm: LLMService,
        context: LLMContext,
        *,
        again: bool = False,
        reading: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> bool:
        """Request one token.

        Args:
            again: The LLM has served other requests since it last processed this.
            reading: Wraps the request, to keep others from the LLM meanwhile.

        Returns:
            Whether the LLM has processed it now: False while somebody speaks or is answered, if it
            had been processed already, and when the request was cancelled or failed.
        """
        key = _key(context.messages)
        if self._user_speaks or self._llm_answers or self._request:
            return False
        if key == self._warmed and not again:
            return False
        request = self._request = asyncio.ensure_future(llm.run_inference(context, max_tokens=1))
        try:
            with reading():
                await asyncio.wait((request,))
        finally:
            request.cancel()  # when this task is cancelled itself
            self._request = None
        if request.cancelled():
            return False
        if error := request.exception():
            logger.debug(f"{llm}: not warmed: {describe_error(error)}")
            return False
        self._warmed = key
        return True


def rewarm_after_idle(
    engine: MemoryEngine,
    rewarm: Callable[[], Coroutine[Any, Any, Any]],
    spawn: Callable[[Coroutine[Any, Any, Any]], None],
) -> Callable[[], None]:
    """Warm up the conversation again after each burst of idle work that used the LLM.

    A burst may evict the cache many times; the conversation is processed once, when it is over.
    Call this on the conversation's event loop.
    """
    loop, spent = asyncio.get_running_loop(), _tokens_read(engine)

    def on_burst_end() -> None:  # on the idle thread
        nonlocal spent
        before, spent = spent, _tokens_read(engine)
        if spent != before and not loop.is_closed():
            loop.call_soon_threadsafe(lambda: spawn(rewarm()))

    return engine.subscribe(on_pause=on_burst_end)


def _tokens_read(engine: MemoryEngine) -> int:
    """Return the prompt tokens of idle work so far; upkeep uses none."""
    return engine.metrics.counts().get("idle_tokens_in", 0)


def _key(messages: Sequence[Any]) -> str:
    return hashlib.blake2b(repr(messages).encode("utf-8", "replace"), digest_size=16).hexdigest()
