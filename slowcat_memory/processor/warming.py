"""Makes the LLM read the conversation ahead, by asking it for one token while nobody speaks.

The request is Pipecat's own ``run_inference``: the same system instruction, messages and tools as the
next turn's, so that the next request begins with exactly what was read. It is dropped the moment
somebody speaks, and its errors never matter.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

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

from slowcat_memory.runtime.session.prefix import Warmth

_TURNS = (
    VADUserStartedSpeakingFrame,
    UserStartedSpeakingFrame,
    UserStoppedSpeakingFrame,
    InterruptionFrame,
    LLMContextFrame,
)


class Warming:
    """Reads one conversation ahead."""

    def __init__(self) -> None:
        """Start with nothing under way."""
        self._warmth = Warmth()
        self._request: asyncio.Future | None = None

    def see(self, frame: Frame) -> None:
        """Follow who speaks; whoever begins stops a request.

        Args:
            frame: Any frame that passes the memory.
        """
        if not isinstance(frame, _TURNS):
            return
        self.stop()
        if isinstance(frame, LLMContextFrame):
            self._warmth.answers(True)
        elif isinstance(frame, InterruptionFrame):
            self._warmth.answers(False)
        else:
            self._warmth.speaks(not isinstance(frame, UserStoppedSpeakingFrame))

    def answered(self) -> None:
        """Note that the agent's turn is over."""
        self._warmth.answers(False)

    def stop(self) -> None:
        """Drop the request that is under way, if any."""
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
            llm: Whom.
            context: The conversation.
            again: Whether something else used the LLM since it last read this.
            reading: Surrounds the request, to keep others from the LLM meanwhile.

        Returns:
            Whether the LLM has read it now: False while somebody speaks or is answered, for what
            it has read already, and when the request was dropped or failed.
        """
        key = self._warmth.wanted(context.messages, again=again)
        if not key or self._request:
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
        self._warmth.read(key)
        return True
