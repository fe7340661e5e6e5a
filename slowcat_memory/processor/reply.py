"""The agent's replies: logged as spoken, announced once durable."""

import asyncio

from slowcat_memory.engine.availability import Availability
from slowcat_memory.errors import StoreError
from slowcat_memory.processor.guard import FrameGuard
from slowcat_memory.records import Turn
from slowcat_memory.runtime import injection
from slowcat_memory.runtime.conversation.conversation import Conversation
from slowcat_memory.store import Ack


class Replies:
    """Tracks one pending reply at a time. Use it on the event loop."""

    def __init__(
        self, conversation: Conversation, guard: FrameGuard, availability: Availability
    ) -> None:
        self._conversation, self._guard = conversation, guard
        self._availability = availability
        self._done = asyncio.Event()
        self._done.set()
        self._interrupted = False

    def expect(self) -> None:
        self._done.clear()

    def begin(self) -> None:
        """Reset the interruption: the LLM is about to be called."""
        self._interrupted = False

    def interrupt(self) -> None:
        self._interrupted = not self._done.is_set()

    def end_silent(self) -> None:
        """End a reply of which nothing was spoken."""
        self._done.set()

    def log(self, text: str, *, interrupted: bool | None = None) -> None:
        """Log what the agent spoke; ``interrupted`` None means to use the interruptions seen."""
        cut = self._interrupted if interrupted is None else interrupted
        said = injection.without_blocks(text)  # what it reads aloud of a block is not its own
        logged = self._conversation.agent_said(said, interrupted=cut)
        self._done.set()
        if logged is not None:
            self._guard.spawn(self._announce(*logged))

    async def wait(self, timeout_s: float) -> bool:
        """Wait for the pending reply; return False if it did not come in time."""
        try:
            await asyncio.wait_for(self._done.wait(), timeout_s)
        except TimeoutError:
            return False
        return True

    async def _announce(self, user_turn: Turn | None, ack: Ack) -> None:
        try:
            await asyncio.wrap_future(ack.future)
        except StoreError as error:
            if self._availability.trouble is None:  # else it is reported, once for all turns
                await self._guard.call("on_memory_trouble", error)
            return
        asked = ack.logged(user_turn) if user_turn else None
        said = ack.logged(ack.event) if isinstance(ack.event, Turn) else ack.event
        await self._guard.call("on_exchange_stored", asked, said)
