"""Tools called by a realtime service, which answers before the turn is known."""

import asyncio
from dataclasses import dataclass, fields

from pipecat.frames import frames
from pipecat.pipeline.pipeline import Pipeline
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.services.llm_service import LLMService
from pipecat.services.settings import LLMSettings
from pipecat.tests.utils import run_test

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.testing.server import ToolCall
from tests.support.processors import stored


@dataclass
class Calls(frames.DataFrame):
    """What a realtime service is made to call."""

    tool: ToolCall


@dataclass
class Speaks(frames.DataFrame):
    """Somebody begins to speak, as the service hears it."""


class Realtime(LLMService):
    """A speech-to-speech service that does what it is told to, one thing after another."""

    def __init__(self, memory: HybridContextualMemoryProcessor) -> None:
        self._memory = memory
        super().__init__(settings=LLMSettings(**dict.fromkeys(SETTINGS)))
        self.told: list[dict] = []
        self._context: LLMContext | None = None
        self._news = asyncio.Event()

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)
        if isinstance(frame, frames.StartFrame):
            await self.broadcast_frame(
                frames.LLMServiceMetadataFrame, service_name="realtime", is_realtime_service=True
            )
        elif isinstance(frame, frames.LLMContextFrame):
            self._context = frame.context
        elif isinstance(frame, Calls):
            self._news.clear()
            tool = frame.tool
            call = frames.FunctionCallFromLLM(tool.name, "id", tool.arguments, self._context)
            await self.run_function_calls([call])
            await asyncio.wait_for(self._news.wait(), 60)
        elif isinstance(frame, Speaks):
            before = self._memory.tool_call().turn
            await self.broadcast_frame(frames.UserStartedSpeakingFrame)
            async with asyncio.timeout(30):
                while self._memory.tool_call().turn == before:
                    await asyncio.sleep(0)

    async def broadcast_frame(self, frame_cls, **how):
        await super().broadcast_frame(frame_cls, **how)
        if frame_cls is frames.FunctionCallResultFrame:
            self.told.append(how["result"])
            self._news.set()


FORGET = ToolCall("forget", {"what": "dog called Max"})
CONFIRM = ToolCall("forget", {"what": "dog called Max", "confirm": "yes"})
SETTINGS = [field.name for field in fields(LLMSettings) if field.name != "extra"]


def test_realtime_service_consent_is_a_new_start_of_speech(engine):
    memory = HybridContextualMemoryProcessor(engine=engine)
    service = Realtime(memory)
    sent = [
        frames.LLMContextFrame(LLMContext(tools=memory.tools())),
        Calls(ToolCall("search_memory", {"query": "dog called"})),
        Speaks(),
        Calls(FORGET),
        Calls(CONFIRM),
        Speaks(),
        Calls(CONFIRM),
    ]
    asyncio.run(run_test(Pipeline([memory, service]), frames_to_send=sent, start_timeout=30.0))
    search, first, early, agreed = service.told
    assert any("called Max" in line for line in search["memories"])
    assert first["memories"] and "not agreed yet" in early["error"]
    assert agreed["memories"] == first["memories"]
    assert "My dog is called Max." not in stored(engine, lambda log: [t.text for t in log.turns()])
