"""Faults planted around a memory, from outside: each must be found."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace
from pipecat.frames.frames import Frame, LLMContextFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Event, Turn
from slowcat_memory.runtime.injection import block_of, message_text, prefix, without_block
from slowcat_memory.store import Ack
from tests.harness.turn_laws import people_in
from tests.harness.turn_player import Held

IN_CONTEXT = ("again", "dropped", "replaced", "late")
IN_LOG = ("captured", "twice", "swapped", "lost")
CONTROLS = (*IN_CONTEXT, *IN_LOG)


class Engine:
    """An engine seen by one processor: with a gate before recall, and a fault in what is logged."""

    def __init__(self, engine: MemoryEngine, door: Held, fault: str) -> None:
        self._engine, self._door, self._fault = engine, door, fault
        self._block, self._turns = "", 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def recall(self, *arguments: Any, **named: Any) -> Any:
        """Wait at the gate, and recall; keep the block for a fault."""
        await self._door.pass_through()
        found = await self._engine.recall(*arguments, **named)
        packed = self._engine.blocks.pack(found, self._engine.clock())
        self._block = packed.text or self._block
        return found

    def append(self, event: Event, **named: Any) -> Ack:
        """Log an event, or something else in its place."""
        if not isinstance(event, Turn) or event.role != "user":
            return self._engine.append(event, **named)
        self._turns += 1
        if self._fault == "captured" and self._block:
            event = replace(event, text=f"{self._block} {event.text}")
        elif self._fault == "swapped":
            event = replace(event, speaker="nobody")
        elif self._fault == "lost" and self._turns % 4 == 0:
            event = replace(event, scope="elsewhere")
        elif self._fault == "twice" and self._turns % 4 == 0:
            self._engine.append(event, **named)
        return self._engine.append(event, **named)


class Spoiler(FrameProcessor):
    """Runs after the memory and corrupts the context."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self._fault, self._kept = fault, ""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Corrupt a context on its way to the LLM."""
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMContextFrame) and direction is FrameDirection.DOWNSTREAM:
            if people := people_in(frame.context.messages):
                getattr(self, f"_{self._fault}")(people)
        await self.push_frame(frame, direction)

    def _again(self, people: Sequence[dict]) -> None:
        if block := block_of(people[-1]):
            prefix(people[-1], block)

    def _dropped(self, people: Sequence[dict]) -> None:
        people[-1]["content"] = without_block(message_text(people[-1]))

    def _replaced(self, people: Sequence[dict]) -> None:
        for message in people[:-1]:
            message["content"] = without_block(message_text(message))

    def _late(self, people: Sequence[dict]) -> None:
        block, self._kept = self._kept, block_of(people[-1])
        self._dropped(people)
        if block and len(people) > 1:
            prefix(people[-2], block)
