"""Where a block of memories can stand in the LLM's context: stand-ins for what others do.

Each stand-in asks the same engine for the same user message with the same options, and differs from
the others only in where the block goes and whether it is ever taken away. None of them stores
anything: only the requests that they cause are looked at.
"""

from typing import Any

from pipecat.frames.frames import Frame, LLMContextFrame
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from slowcat_memory.engine import MemoryEngine

ROLE = "user"  # every chat template takes it; "developer" is Mem0's default and breaks some


class Placement(FrameProcessor):
    """Recalls once for each new user message, and places the block."""

    def __init__(self, engine: MemoryEngine, scope: str) -> None:
        """Take the memory.

        Args:
            engine: What recalls.
            scope: Whose memory.
        """
        super().__init__()
        self._engine, self._scope = engine, scope
        self._asked: Any = None
        self._block: dict[str, str] | None = None

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Place a block before a context reaches the LLM.

        Args:
            frame: Any frame.
            direction: Where it goes.
        """
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMContextFrame) and direction is FrameDirection.DOWNSTREAM:
            said = [m for m in frame.context.messages if self._is_said(m)]
            if said and said[-1] is not self._asked:
                self._asked = said[-1]
                found = await self._engine.recall(said[-1]["content"], self._scope)
                block = self._engine.pack(found).text
                self.place(frame.context, {"role": ROLE, "content": block} if block else None)
        await self.push_frame(frame, direction)

    def _is_said(self, message: Any) -> bool:
        return message.get("role") == "user" and not str(message["content"]).startswith(
            "<memories>"
        )

    def place(self, context: LLMContext, block: dict[str, str] | None) -> None:
        """Put a turn's block into the context.

        Args:
            context: The shared context, its last message the user's.
            block: A message; None when nothing was recalled.
        """
        raise NotImplementedError

    def _take_back(self, messages: list[Any]) -> list[Any]:
        return [message for message in messages if message is not self._block]


class Mem0Placement(Placement):
    """As ``pipecat.services.mem0.Mem0MemoryService`` places what it finds, by default.

    It inserts a message at ``position=1`` of the context for each turn that finds anything, and takes
    none away: blocks pile up near the top, the newest first, and everything below moves.
    """

    def place(self, context: LLMContext, block: dict[str, str] | None) -> None:
        """Insert at position 1."""
        if block:
            messages = list(context.messages)
            messages.insert(min(1, len(messages)), block)
            context.set_messages(messages)


class AfterSystem(Placement):
    """One block right after the system message, replaced at each turn."""

    def place(self, context: LLMContext, block: dict[str, str] | None) -> None:
        """Replace the block at the top."""
        rest = self._take_back(list(context.messages))
        self._block = block
        context.set_messages([block, *rest] if block else rest)


class BeforeLastUser(Placement):
    """One block as a message of its own before the user's last one, replaced at each turn."""

    def place(self, context: LLMContext, block: dict[str, str] | None) -> None:
        """Replace the block before the last message."""
        rest = self._take_back(list(context.messages))
        self._block = block
        context.set_messages([*rest[:-1], block, rest[-1]] if block else rest)
