"""The agent's half of an exchange: what was really spoken, logged and announced once it is durable."""

import asyncio

from slowcat_memory.errors import StoreError
from slowcat_memory.processor.guard import Harmless
from slowcat_memory.records import Turn
from slowcat_memory.runtime.conversation.conversation import Conversation
from slowcat_memory.store import Ack


class Replies:
    """Waits for one reply at a time. To be used on the event loop."""

    def __init__(self, dialogue: Conversation, harmless: Harmless) -> None:
        """Begin with no reply owed.

        Args:
            dialogue: Logs what the agent says.
            harmless: Tells the application.
        """
        self._dialogue, self._harmless = dialogue, harmless
        self._done = asyncio.Event()
        self._done.set()
        self._cut = False

    def owed(self) -> None:
        """Note that a person's turn was logged, to which a reply is due."""
        self._done.clear()

    def asked(self) -> None:
        """Note that the LLM is about to be asked: nobody has cut it off yet."""
        self._cut = False

    def interrupted(self) -> None:
        """Note an interruption, which cuts off a reply that is due."""
        self._cut = not self._done.is_set()

    def silent(self) -> None:
        """Note that the reply ended before a word of it was spoken."""
        self._done.set()

    def take(self, text: str, *, interrupted: bool | None = None) -> None:
        """Log what the agent said.

        Args:
            text: What was spoken of it.
            interrupted: Whether it was cut off; None to go by the interruptions that came.
        """
        cut = self._cut if interrupted is None else interrupted
        said = self._dialogue.agent_said(text, interrupted=cut)
        self._done.set()
        if said is not None:
            self._harmless.begin(self._announce(*said))

    async def last(self, timeout_s: float) -> bool:
        """Wait for the reply that is due.

        Args:
            timeout_s: Seconds, at most.

        Returns:
            Whether none is due any more.
        """
        if not self._done.is_set():
            try:
                await asyncio.wait_for(self._done.wait(), timeout_s)
            except TimeoutError:
                return False
        return True

    async def _announce(self, user_turn: Turn | None, ack: Ack) -> None:
        try:
            await asyncio.wrap_future(ack.future)
        except StoreError as error:
            await self._harmless.call("on_memory_trouble", error)
        else:
            await self._harmless.call("on_exchange_stored", user_turn, ack.event)
