"""Makes a local LLM read the conversation ahead, by asking it for one token while nobody speaks.

A local server caches what it read of one prompt. The first request of a process waits for
connections and models besides; idle work on the same server evicts the cache, and the next turn
then waits for the whole conversation to be read again. Asking for a single token, as the pipeline
starts and after each burst of idle work, moves both out of the way.

The request is Pipecat's own ``run_inference``: the same system instruction, messages and tools as
the next turn's, so the next request begins with exactly what was read. It is dropped the moment
somebody speaks, and its errors never matter.
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

_TURN_FRAMES = (
    VADUserStartedSpeakingFrame,
    UserStartedSpeakingFrame,
    UserStoppedSpeakingFrame,
    InterruptionFrame,
    LLMContextFrame,
)


class Warming:
    """Reads one conversation ahead. Use it on the event loop."""

    def __init__(self) -> None:
        """Start with no request, and nobody speaking."""
        self._user_speaks = self._llm_answers = False
        self._warmed = ""  # key of the messages that the LLM has read
        self._request: asyncio.Future | None = None

    def see(self, kind: type[Frame]) -> None:
        """Follow who speaks, by the kinds of frames; whoever starts cancels a request."""
        if not issubclass(kind, _TURN_FRAMES):
            return
        self.stop()
        if issubclass(kind, (LLMContextFrame, InterruptionFrame)):
            self._llm_answers = issubclass(kind, LLMContextFrame)
        else:
            self._user_speaks = not issubclass(kind, UserStoppedSpeakingFrame)

    def answer_ended(self) -> None:
        """The agent's turn is over."""
        self._llm_answers = False

    def stop(self) -> None:
        """Cancel the running request, if any."""
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
        """Ask for one token.

        Args:
            again: Something else has used the LLM since it last read this.
            reading: Wraps the request, to keep others from the LLM meanwhile.

        Returns:
            Whether the LLM has read it now: False while somebody speaks or is answered, for what
            it has read already, and when the request was dropped or failed.
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
            request.cancel()  # when we are cancelled ourselves
            self._request = None
        if request.cancelled():
            return False
        if error := request.exception():
            logger.debug(f"{llm}: not warmed: {type(error).__name__}")
            return False
        self._warmed = key
        return True


def rewarm_after_idle(
    engine: MemoryEngine,
    rewarm: Callable[[], Coroutine[Any, Any, Any]],
    spawn: Callable[[Coroutine[Any, Any, Any]], None],
) -> Callable[[], None]:
    """Read the conversation again after each burst of idle work that asked the LLM.

    A burst may evict the cache many times; the conversation is read once, when it is over. Call
    this on the conversation's event loop.

    Args:
        rewarm: Reads the conversation, unless somebody speaks.
        spawn: Starts a task on the event loop.
    """
    loop, spent = asyncio.get_running_loop(), _tokens_read(engine)

    def on_burst_end() -> None:  # on the idle thread
        nonlocal spent
        before, spent = spent, _tokens_read(engine)
        if spent != before and not loop.is_closed():
            loop.call_soon_threadsafe(lambda: spawn(rewarm()))

    return engine.subscribe(on_pause=on_burst_end)


def _tokens_read(engine: MemoryEngine) -> int:
    """Return how much idle work had the LLM read; upkeep reads nothing."""
    return engine.metrics.counts().get("idle_tokens_in", 0)


def _key(messages: Sequence[Any]) -> str:
    return hashlib.blake2b(repr(messages).encode("utf-8", "replace"), digest_size=16).hexdigest()
