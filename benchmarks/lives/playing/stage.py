"""A conversation without a server: Pipecat's aggregators around the memory, and a scripted agent.

    user aggregator → memory → agent → assistant aggregator

One pipeline plays a whole life. Between two sessions the connection drops, and the context is empty.
"""

import asyncio
from types import TracebackType
from typing import Any, Self

from pipecat.frames.frames import (
    EndFrame,
    Frame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.utils.time import time_now_iso8601
from pipecat.workers.runner import WorkerRunner

from slowcat_memory import HybridContextualMemoryProcessor

PATIENCE_S = 20.0


class Agent(FrameProcessor):
    """Answers every context with the words that it was given, in place of an LLM service."""

    def __init__(self) -> None:
        super().__init__()
        self.words = ""
        self.silent = asyncio.Event()  # it was asked, and has no words

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, LLMContextFrame):
            await self.push_frame(frame, direction)
            return
        if not self.words:
            self.silent.set()
            return
        await self.push_frame(LLMFullResponseStartFrame())
        await self.push_frame(LLMTextFrame(self.words))
        await self.push_frame(LLMFullResponseEndFrame())


class Stage:
    """The pipeline, with one exchange at a time.

    Attributes:
        memory: The processor.
        answered: What the memory itself answered to voice commands, in order.
    """

    def __init__(self, memory: HybridContextualMemoryProcessor, speaker: str) -> None:
        self.memory, self._speaker, self._agent = memory, speaker, Agent()
        self.answered: list[str] = []
        self._context = LLMContext()
        stop = SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=0.001)
        aggregators = LLMContextAggregatorPair(
            self._context,
            user_params=LLMUserAggregatorParams(
                user_turn_strategies=UserTurnStrategies(stop=[stop])
            ),
        )
        self._worker = PipelineWorker(
            Pipeline([aggregators.user(), memory, self._agent, aggregators.assistant()]),
            params=PipelineParams(),
            enable_rtvi=False,
            idle_timeout_secs=None,
        )
        self._said = asyncio.Event()
        self._stored = asyncio.Event()
        aggregators.assistant().add_event_handler("on_assistant_turn_stopped", self._on_said)
        memory.add_event_handler("on_command", self._on_command)

    async def __aenter__(self) -> Self:
        started = asyncio.Event()
        self._worker.add_event_handler("on_pipeline_started", lambda *_: started.set())
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(self._worker)
        self._running = asyncio.create_task(runner.run())
        await asyncio.wait_for(started.wait(), PATIENCE_S)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if kind is None:
            await self._worker.queue_frame(EndFrame())
            await asyncio.wait([self._running], timeout=PATIENCE_S)
        if not self._running.done():
            await self._worker.cancel()

    async def exchange(self, user: str, agent: str) -> None:
        """Let the user say a sentence and the agent answer it.

        Raises:
            TimeoutError: The answer did not come.
        """
        self._agent.words = agent
        self._said.clear()
        self._agent.silent.clear()
        queue = self._worker.queue_frame
        await queue(VADUserStartedSpeakingFrame(start_secs=0.2))
        await queue(VADUserStoppedSpeakingFrame(stop_secs=0.2))
        await queue(TranscriptionFrame(user, self._speaker, time_now_iso8601(), finalized=True))
        either = [asyncio.ensure_future(event.wait()) for event in (self._said, self._agent.silent)]
        done, left = await asyncio.wait(
            either, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED
        )
        for one in left:
            one.cancel()
        if not done:
            raise TimeoutError(f"no answer to {user!r}")

    @property
    def activities(self) -> str:
        """The prefix of the activities that this conversation reports to the idle gate."""
        return f"{self.memory.name}:{self.memory.id}/"

    def hang_up(self) -> None:
        """End the session, and forget the running context."""
        self.memory.disconnected()
        self._context.set_messages([])

    async def _on_said(self, *_: Any) -> None:
        self._said.set()

    async def _on_command(self, _: Any, command: Any, outcome: Any) -> None:
        self.answered.append(outcome.said)
