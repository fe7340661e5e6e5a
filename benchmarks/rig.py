"""A conversation through a real pipeline whose memory is timed from outside."""

import asyncio
import random
import time
from collections.abc import Sequence
from typing import Any

from pipecat.frames.frames import Frame, LLMContextFrame
from pipecat.processors.frame_processor import FrameProcessor

from benchmarks.cores import Cores
from benchmarks.recognisers import Recogniser, speak
from slowcat_memory.testing.headless import HeadlessConversation

PERSON = "Anna"
ANSWERED_S = 20.0


class Rig:
    """A conversation.

    Attributes:
        talk: The pipeline.
    """

    def __init__(self, url: str, memory: FrameProcessor) -> None:
        """Build the pipeline.

        Args:
            url: Of the LLM server.
            memory: What is timed.
        """
        self.talk = HeadlessConversation(llm_url=url, memory=memory, speaker=PERSON)
        self._came: float | None = None
        self._waits: list[float] = []
        self._answered = asyncio.Event()
        memory.add_event_handler("on_before_process_frame", self._comes)
        memory.add_event_handler("on_before_push_frame", self._goes)
        assistant = self.talk.aggregators.assistant()
        assistant.add_event_handler("on_assistant_turn_stopped", self._on_answer)

    async def say(
        self,
        texts: Sequence[str],
        recogniser: Recogniser,
        chance: random.Random,
        cores: Cores | None = None,
        pause_s: tuple[float, float] | None = None,
    ) -> list[float]:
        """Say turns, each some time after the answer to the one before.

        Args:
            texts: The turns.
            recogniser: Hears them.
            chance: Of its pauses and mistakes.
            cores: What the recogniser keeps busy until its final transcript.
            pause_s: The shortest and the longest pause before a turn, all scales alike; None for
                no pause.

        Returns:
            How long each waited for its memories, in milliseconds.
        """
        self._waits.clear()
        for text in texts:
            if pause_s:
                await asyncio.sleep(pause(chance, *pause_s))
            self._answered.clear()
            await speak(self.talk.worker.queue_frame, text, PERSON, recogniser, chance, cores)
            await asyncio.wait_for(self._answered.wait(), ANSWERED_S)
        if len(self._waits) != len(texts):
            raise RuntimeError(f"{len(self._waits)} waits of {len(texts)} turns")
        return list(self._waits)

    async def _comes(self, _: FrameProcessor, frame: Frame) -> None:
        if isinstance(frame, LLMContextFrame) and frame.context.messages[-1]["role"] == "user":
            self._came = time.perf_counter()

    async def _goes(self, _: FrameProcessor, frame: Frame) -> None:
        if isinstance(frame, LLMContextFrame) and self._came is not None:
            self._waits.append((time.perf_counter() - self._came) * 1e3)
            self._came = None

    async def _on_answer(self, *_: Any) -> None:
        self._answered.set()


def pause(chance: random.Random, shortest: float, longest: float) -> float:
    """Draw a pause whose logarithm is evenly spread: as many of 0.3 to 0.6 s as of 2.5 to 5."""
    return shortest * (longest / shortest) ** chance.random()
