"""A whole voice pipeline for tests: real aggregators, real LLM service over HTTP, audible replies.

Unlike `slowcat_memory.testing.headless` it has a voice: a tone TTS and an output that discards
audio, so that what was spoken and what was generated differ as they do in a real call::

    user aggregator → (memory) → OpenAILLMService → ToneTTS → HeadlessOutput → assistant aggregator

Waiting is by events with a time limit; the only sleeps are the sounds themselves.
"""

import asyncio
import inspect
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
import pipecat.utils.string
from pipecat.frames import frames
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    AssistantTurnStoppedMessage,
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.services.settings import TTSSettings
from pipecat.services.tts_service import TTSService
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import TransportParams
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.utils.time import time_now_iso8601
from pipecat.workers.runner import WorkerRunner

from slowcat_memory.testing.server import Replier, ScriptedServer

try:
    from pipecat.adapters.llm.schemas.function_schema import FunctionSchema as FunctionSchema
except ImportError:  # before Pipecat 1.14
    from pipecat.adapters.schemas.function_schema import FunctionSchema as FunctionSchema

T = TypeVar("T")
RATE = 16000
MS_PER_WORD = 60
TIMEOUT_S = 120.0  # beside busy processes


def _cut_sentences_offline() -> None:
    """Replace NLTK, used by older Pipecat to split sentences, which downloads its data."""
    loader = getattr(pipecat.utils.string, "_sent_tokenizer", None)
    if loader and not inspect.signature(loader).parameters:  # sentencex takes a language
        pipecat.utils.string._sent_tokenizer = lambda: partial(re.split, r"(?<=[.!?])\s+")


_cut_sentences_offline()


def run(scenario: Awaitable[T], timeout_s: float = 120.0) -> T:
    """Run one scenario in an event loop of its own."""

    async def limited() -> T:
        async with asyncio.timeout(timeout_s):
            return await scenario

    return asyncio.run(limited())


def aggregators(
    context: LLMContext, speech_timeout_s: float = 0.02, assistant: Any = None, **params: Any
) -> LLMContextAggregatorPair:
    """Return aggregators that end a turn soon; ``params`` are the user aggregator's."""
    stop = SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=speech_timeout_s)
    params.setdefault("user_turn_strategies", UserTurnStrategies(stop=[stop]))
    user = LLMUserAggregatorParams(**params)
    return LLMContextAggregatorPair(context, user_params=user, assistant_params=assistant)


class HeadlessOutput(BaseOutputTransport):
    """An output that discards audio, `speed` times faster than real time."""

    def __init__(self, speed: float = 1.0) -> None:
        super().__init__(TransportParams(audio_out_enabled=True, audio_out_end_silence_secs=0))
        self._speed = speed
        self._played_until = 0.0

    async def start(self, frame: frames.StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def write_audio_frame(self, frame: frames.OutputAudioRawFrame) -> bool:
        now = time.monotonic()
        length = len(frame.audio) / 2 / frame.sample_rate / self._speed
        self._played_until = max(self._played_until, now) + length
        await asyncio.sleep(self._played_until - now)
        return True


class ToneTTS(TTSService):
    """A TTS that plays one tone per word, sentence by sentence, without word timestamps."""

    def __init__(self) -> None:
        super().__init__(
            push_start_frame=True,
            push_stop_frames=True,
            stop_frame_timeout_s=0.1,
            sample_rate=RATE,
            settings=TTSSettings(model=None, voice="tone", language=None),
        )
        wave = np.sin(np.arange(RATE * MS_PER_WORD // 1000) * 0.17) * 8000
        self._word = wave.astype("<i2").tobytes()

    async def run_tts(
        self, text: str, context_id: str
    ) -> AsyncGenerator[frames.Frame | None, None]:
        for _ in text.split():
            yield frames.TTSAudioRawFrame(self._word, RATE, 1, context_id=context_id)


async def speak(
    worker: PipelineWorker,
    text: str,
    *,
    user_id: str = "user",
    interims: bool = True,
    finalized: bool = True,
) -> None:
    """Send the frames of a VAD and an STT for one utterance."""
    await worker.queue_frame(frames.VADUserStartedSpeakingFrame(start_secs=0.2))
    words = text.split()
    for count in range(2, len(words), 2) if interims else ():
        heard = " ".join(words[:count])
        await worker.queue_frame(
            frames.InterimTranscriptionFrame(heard, user_id, time_now_iso8601())
        )
        await asyncio.sleep(0.005)
    await worker.queue_frame(frames.VADUserStoppedSpeakingFrame(stop_secs=0.2))
    final = frames.TranscriptionFrame(text, user_id, time_now_iso8601(), finalized=finalized)
    await worker.queue_frame(final)


class VoicePipeline:
    """A running voice pipeline in front of a scripted LLM server.

    Attributes:
        server: The LLM server, with the requests that it received.
        context: The conversation as the LLM sees it.
        turns: The assistant's finished turns, those of tool rounds included (empty).
        spoken: The sentences that were played, as they were.
        bot_speaks: Whether the TTS is playing.
        errors: Reported by processors.
    """

    def __init__(
        self,
        reply: Replier | None = None,
        *,
        memory: FrameProcessor | None = None,
        tools: Any = None,
        system_instruction: str = "You are a cat.",
        token_delay_s: float = 0.0,
        speed: float = 4.0,
        speech_timeout_s: float = 0.02,
        params: PipelineParams | None = None,
    ) -> None:
        self.server = ScriptedServer(reply, token_delay_s=token_delay_s)
        self.context = LLMContext(**({"tools": tools} if tools else {}))
        self.aggregators = aggregators(self.context, speech_timeout_s)
        self._ear: list[FrameProcessor] = []
        self._memory = [memory] if memory else []
        self._voice = [ToneTTS(), HeadlessOutput(speed)]
        self._system_instruction = system_instruction
        self._params = params or PipelineParams()
        self._news = asyncio.Condition()
        self.turns: list[AssistantTurnStoppedMessage] = []
        self.spoken: list[str] = []
        self.bot_speaks = False
        self.errors: list[str] = []

    async def __aenter__(self) -> Self:
        await self.server.__aenter__()
        told = {"model": "scripted", "system_instruction": self._system_instruction}
        settings = OpenAILLMService.Settings(**told)
        self.llm = OpenAILLMService(api_key="none", base_url=self.server.url, settings=settings)
        user, assistant = self.aggregators.user(), self.aggregators.assistant()
        assistant.add_event_handler("on_assistant_turn_stopped", self._on_turn)
        assistant.add_event_handler("on_after_process_frame", self._on_frame)
        pipeline = Pipeline([*self._ear, user, *self._memory, self.llm, *self._voice, assistant])
        self.worker = PipelineWorker(
            pipeline, params=self._params, enable_rtvi=False, idle_timeout_secs=None
        )
        self.worker.add_event_handler("on_pipeline_error", self._on_error)
        started = asyncio.Event()
        self.worker.add_event_handler("on_pipeline_started", lambda *_: started.set())
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(self.worker)
        self.finished = asyncio.create_task(runner.run())
        await asyncio.wait_for(started.wait(), TIMEOUT_S)
        return self

    async def __aexit__(self, exc_type: type[BaseException] | None, *_: object) -> None:
        await (self.cancel() if exc_type else self.end())
        await self.server.__aexit__(None, None, None)

    async def speak(self, text: str, **how: Any) -> None:
        """Speak one utterance; see `speak`."""
        await speak(self.worker, text, **how)

    async def interrupt(self) -> None:
        """Interrupt the bot without words."""
        await self.worker.queue_frame(frames.InterruptionFrame())

    async def exchange(self, text: str, **how: Any) -> AssistantTurnStoppedMessage:
        """Speak, and wait for the end of the answer, tool rounds included."""
        before = len(self.turns)
        await self.speak(text, **how)
        return await self.answer(before)

    async def answer(self, after: int = 0) -> AssistantTurnStoppedMessage:
        """Wait for the first turn with words, or interrupted, after the first `after` turns."""
        await self.until(lambda: any(t.content or t.interrupted for t in self.turns[after:]))
        return next(t for t in self.turns[after:] if t.content or t.interrupted)

    async def until(self, condition: Callable[[], bool], timeout_s: float = TIMEOUT_S) -> None:
        """Wait until a condition holds; checked after every frame at the pipeline's end."""
        async with asyncio.timeout(timeout_s), self._news:
            await self._news.wait_for(condition)

    async def until_spoken(self, sentences: int = 1) -> None:
        """Wait until so many sentences have been played since the start."""
        await self.until(lambda: len(self.spoken) >= sentences)

    async def end(self) -> None:
        """End gracefully: the bot finishes speaking."""
        if not self.finished.done():
            await self.worker.queue_frame(frames.EndFrame())
        await asyncio.wait_for(self.finished, TIMEOUT_S)

    async def cancel(self) -> None:
        if not self.finished.done():
            await self.worker.cancel()
        await asyncio.wait_for(self.finished, TIMEOUT_S)

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def _on_turn(self, _: FrameProcessor, message: AssistantTurnStoppedMessage) -> None:
        self.turns.append(message)
        await self._tell()

    async def _on_error(self, _: PipelineWorker, frame: Any) -> None:
        self.errors.append(frame.error)
        await self._tell()

    async def _on_frame(self, _: FrameProcessor, frame: frames.Frame) -> None:
        if isinstance(frame, frames.BotStartedSpeakingFrame | frames.BotStoppedSpeakingFrame):
            self.bot_speaks = isinstance(frame, frames.BotStartedSpeakingFrame)
        elif isinstance(frame, frames.TTSTextFrame):
            self.spoken.append(frame.text)
        await self._tell()
