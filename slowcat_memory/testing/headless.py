"""A real Pipecat pipeline without audio devices, for the demo, chat, benchmarks and tests.

::

    user aggregator → (memory) → OpenAILLMService → assistant aggregator

The user's words arrive as the frames of a VAD and an STT service. Without a TTS service, the
LLM's text frames reach the assistant aggregator directly: "spoken" means "generated", and an
interrupted reply keeps the words that had arrived.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from pipecat.frames.frames import (
    EndFrame,
    ErrorFrame,
    Frame,
    FunctionCallsStartedFrame,
    InterimTranscriptionFrame,
    InterruptionFrame,
    LLMFullResponseStartFrame,
    LLMMessagesAppendFrame,
    LLMTextFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.pipeline import worker as pipecat_worker
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    AssistantTurnStoppedMessage,
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.utils.errors import ErrorCategory
from pipecat.utils.time import time_now_iso8601
from pipecat.workers.runner import WorkerRunner

from slowcat_memory.errors import EndpointError
from slowcat_memory.providers.loopback import is_elsewhere

T = TypeVar("T")

_START_TIMEOUT_S = 60.0
_END_TIMEOUT_S = 30.0
_TURN = "slowcat_headless_turn"  # a key of frames' metadata

SYSTEM_INSTRUCTION = "You are a friendly voice assistant. Answer in one or two short sentences."


@dataclass(frozen=True)
class Reply:
    """The assistant's reply to one turn.

    Attributes:
        text: The text of all tool rounds, joined by spaces.
        tools: The functions that were called, in order.
    """

    text: str
    interrupted: bool
    tools: tuple[str, ...] = ()


class OpenTurn:
    """An open exchange: it ends when no LLM run is open or still expected, as after a tool's call."""

    def __init__(self, on_token: Callable[[str], None] | None) -> None:
        """Wait; ``on_token`` is called with each piece of the answer."""
        self.reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._on_token = on_token
        self._texts: list[str] = []
        self._tools: list[str] = []
        self._open_runs = 0
        self._run_expected = False
        self._cut = False

    def on_frame(self, frame: Frame) -> None:
        if isinstance(frame, LLMTextFrame):
            if self._on_token:
                self._on_token(frame.text)
        elif isinstance(frame, LLMFullResponseStartFrame):
            self._open_runs += 1
            self._run_expected = False
        elif isinstance(frame, FunctionCallsStartedFrame):
            self._tools += [call.function_name for call in frame.function_calls]
            self._run_expected = True  # with the results

    def on_run_ended(self, message: AssistantTurnStoppedMessage) -> None:
        self._open_runs -= 1
        if message.content:
            self._texts.append(message.content)
        self._cut |= message.interrupted
        if self._cut or not (self._open_runs or self._run_expected):
            self._end()

    def interrupt(self) -> None:
        """Interrupt the turn; an open run still adds its text so far."""
        self._cut = True
        if not self._open_runs:
            self._end()

    def fail(self, error: Exception) -> None:
        if not self.reply.done():
            self.reply.set_exception(error)

    def _end(self) -> None:
        if not self.reply.done():
            text, tools = " ".join(self._texts), tuple(self._tools)
            self.reply.set_result(Reply(text=text, interrupted=self._cut, tools=tools))


class _StayingLLM(OpenAILLMService):
    """An LLM service that follows no redirects: they would carry the memories elsewhere.

    Nor does it ask a server of this machine through the environment's proxies.
    """

    def create_client(self, *arguments: Any, **named: Any) -> Any:
        client = super().create_client(*arguments, **named)
        client._client.follow_redirects = False
        if not is_elsewhere(str(client.base_url)):
            client._client._mounts.clear()  # the proxies
        return client


class HeadlessConversation:
    """A conversation with an LLM server, played through a real pipeline.

    Example::

        async with HeadlessConversation(llm_url="http://127.0.0.1:1234/v1", memory=memory) as talk:
            reply = await talk.say("What is my dog called?")

    Attributes:
        context: The conversation as the LLM sees it, memories included.
        worker: The pipeline's worker, for your own frames and observers.
        aggregators: The pair of user and assistant aggregator.
        errors: Errors reported by processors, including the LLM service.
    """

    def __init__(
        self,
        *,
        llm_url: str,
        llm_model: str = "local-model",
        memory: FrameProcessor | None = None,
        system_instruction: str = SYSTEM_INSTRUCTION,
        speaker: str = "user",
        tools: Any = None,
    ) -> None:
        """Build the pipeline; it runs from the start of the `async with` block.

        Args:
            llm_url: The base URL of an OpenAI-compatible server, with its `/v1`.
            memory: The processor between the user aggregator and the LLM, if any.
            speaker: Default speaker of `say`.
        """
        self._llm_url = llm_url
        self._speaker = speaker
        self.context = LLMContext(**({"tools": tools} if tools else {}))
        # No model decides when a turn ends: the final transcription does.
        stop = SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=0.005)
        params = LLMUserAggregatorParams(user_turn_strategies=UserTurnStrategies(stop=[stop]))
        self.aggregators = LLMContextAggregatorPair(self.context, user_params=params)
        self.llm = _StayingLLM(
            api_key="none",
            base_url=llm_url,
            settings=OpenAILLMService.Settings(
                model=llm_model, system_instruction=system_instruction
            ),
        )
        user, assistant = self.aggregators.user(), self.aggregators.assistant()
        self.worker = PipelineWorker(
            Pipeline([user, *([memory] if memory else []), self.llm, assistant]),
            enable_rtvi=False,
            idle_timeout_secs=None,
        )
        self.errors: list[str] = []
        self._running: asyncio.Task[None] | None = None
        self._live: OpenTurn | None = None  # being answered
        # Being spoken: becomes live with the next interruption.
        self._coming: OpenTurn | None = None
        # The turns of the open LLM runs, oldest first.
        self._open_runs: deque[OpenTurn | None] = deque()
        assistant.add_event_handler("on_after_process_frame", self._on_assistant_frame)
        assistant.add_event_handler("on_assistant_turn_stopped", self._on_assistant_turn)
        self.llm.add_event_handler("on_before_process_frame", self._on_llm_frame)
        self.llm.add_event_handler("on_before_push_frame", self._on_llm_push)
        self.worker.add_event_handler("on_pipeline_error", self._on_error)

    async def __aenter__(self) -> Self:
        if hasattr(pipecat_worker, "warm_deferred_imports"):
            # Older versions download a sentence splitter that only TTS needs.
            pipecat_worker.warm_deferred_imports = lambda: None
        started = asyncio.Event()
        self.worker.add_event_handler("on_pipeline_started", lambda *_: started.set())
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(self.worker)
        self._running = asyncio.create_task(runner.run())
        await self._or_end_of_run(started.wait(), _START_TIMEOUT_S, "the pipeline did not start")
        return self

    async def __aexit__(self, *error: object) -> None:
        await (self.cancel() if error[0] else self.end())

    async def end(self) -> None:
        """Finish open turns and end; cancel if that takes too long."""
        if self._running and not self._running.done():
            await self.worker.queue_frame(EndFrame())
            await asyncio.wait([self._running], timeout=_END_TIMEOUT_S)
        await self.cancel()

    async def cancel(self) -> None:
        if self._running and not self._running.done():
            await self.worker.cancel()
            await asyncio.wait([self._running])

    async def interrupt(self) -> None:
        await self.worker.queue_frame(InterruptionFrame())

    async def say(
        self,
        text: str,
        *,
        speaker: str | None = None,
        on_token: Callable[[str], None] | None = None,
        interims: bool = False,
        word_s: float = 0.0,
        timeout_s: float = 60.0,
    ) -> Reply:
        """Speak one turn and wait for the answer.

        A turn spoken while an earlier one is being answered interrupts it: the earlier call then
        returns the answer so far.

        Args:
            speaker: The conversation's speaker if None.
            on_token: Called with each piece of the answer as it arrives.
            interims: Send an interim transcription after every second word, as streaming STT does.
            word_s: Seconds to say one word.
            timeout_s: Seconds to wait for the answer, tools included.

        Raises:
            ValueError: The text is blank.
            RuntimeError: An earlier turn is still being spoken.
            EndpointError: The LLM failed or timed out, or the pipeline ended.
        """
        self._check(text)
        turn = self._coming = OpenTurn(on_token)
        who = speaker or self._speaker
        try:
            await self.worker.queue_frame(VADUserStartedSpeakingFrame(start_secs=0.2))
            words = text.split()
            for end in range(2, len(words) + 2, 2):
                if interims:
                    part, now = " ".join(words[:end]), time_now_iso8601()
                    await self.worker.queue_frame(InterimTranscriptionFrame(part, who, now))
                await asyncio.sleep(2 * word_s)
            await self.worker.queue_frame(VADUserStoppedSpeakingFrame(stop_secs=0.2))
            final = TranscriptionFrame(text, who, time_now_iso8601(), finalized=True)
            await self.worker.queue_frame(final)
            return await self._or_end_of_run(turn.reply, timeout_s, "the assistant did not answer")
        finally:
            if self._coming is turn:
                self._coming = None

    async def type(
        self,
        text: str,
        *,
        on_token: Callable[[str], None] | None = None,
        timeout_s: float = 60.0,
    ) -> Reply:
        """Type one message and wait for the answer; arguments as in `say`. No speaker is sent.

        Raises:
            ValueError: The text is blank.
            RuntimeError: An earlier turn is being answered; typing does not interrupt.
            EndpointError: The LLM failed or timed out, or the pipeline ended.
        """
        self._check(text)
        if self._live and not self._live.reply.done():
            raise RuntimeError("an earlier turn is still being answered")
        turn = self._live = OpenTurn(on_token)
        message: Any = {"role": "user", "content": text}
        await self.worker.queue_frame(LLMMessagesAppendFrame(messages=[message], run_llm=True))
        return await self._or_end_of_run(turn.reply, timeout_s, "the assistant did not answer")

    def _check(self, text: str) -> None:
        if not text.strip():
            raise ValueError("a turn needs words")
        if self._coming:
            raise RuntimeError("an earlier turn is still being spoken")

    async def _or_end_of_run(self, what: Awaitable[T], timeout_s: float, otherwise: str) -> T:
        """Wait for ``what``; raise if the pipeline ends first, or after the timeout."""
        if self._running is None:
            raise RuntimeError("the conversation runs inside its `async with` block")
        task = asyncio.ensure_future(what)
        either = [task, self._running]
        await asyncio.wait(either, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        why = "the pipeline has ended" if self._running.done() else f"not within {timeout_s:g} s"
        hint = f"Last error: {self.errors[-1]}" if self.errors else ""
        raise EndpointError(f"{otherwise}: {why}", hint=hint)

    # An interruption stops the LLM first, so turns change there. Frames that it pushes from then on
    # are marked with the new turn, because older frames may still wait in front of the assistant
    # aggregator.

    async def _on_llm_frame(self, _: FrameProcessor, frame: Frame) -> None:
        if isinstance(frame, InterruptionFrame):  # also the first frame of every spoken turn
            if self._live:
                self._live.interrupt()
            self._live, self._coming = self._coming, None

    async def _on_llm_push(self, _: FrameProcessor, frame: Frame) -> None:
        if isinstance(frame, ErrorFrame) and frame.processor is self.llm:
            self.errors.append(frame.error)
            # A tool that raises is reported here too; the LLM continues.
            if self._live and frame.category is not ErrorCategory.APPLICATION:
                hint = f"Is a model server running at {self._llm_url}?"
                self._live.fail(EndpointError(frame.error, hint=hint))
        frame.metadata.setdefault(_TURN, self._live)

    async def _on_assistant_frame(self, _: FrameProcessor, frame: Frame) -> None:
        turn: OpenTurn | None = frame.metadata.get(_TURN)
        if isinstance(frame, LLMFullResponseStartFrame):
            self._open_runs.append(turn)
        if turn:
            turn.on_frame(frame)

    async def _on_assistant_turn(
        self, _: FrameProcessor, message: AssistantTurnStoppedMessage
    ) -> None:
        turn = self._open_runs.popleft() if self._open_runs else None
        if turn:
            turn.on_run_ended(message)

    async def _on_error(self, _: PipelineWorker, frame: ErrorFrame) -> None:
        if frame.processor is not self.llm:
            self.errors.append(frame.error)
