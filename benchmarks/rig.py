"""A conversation through a real pipeline whose memory is timed from outside."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

from pipecat.frames.frames import Frame, LLMContextFrame
from pipecat.processors.frame_processor import FrameProcessor

from benchmarks.budget import Cost, Meter
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

    def __init__(self, url: str, memory: FrameProcessor, meter: Meter | None = None) -> None:
        """Build the pipeline.

        Args:
            url: Of the LLM server.
            memory: What is timed.
            meter: Times it; one that sees no engine if None.
        """
        self.talk = HeadlessConversation(llm_url=url, memory=memory, speaker=PERSON)
        self._meter, self._costs = meter or Meter(), list[Cost]()
        self._answered = asyncio.Event()
        memory.add_event_handler("on_before_process_frame", self._comes)
        memory.add_event_handler("on_before_push_frame", self._goes)
        assistant = self.talk.aggregators.assistant()
        assistant.add_event_handler("on_assistant_turn_stopped", self._on_answer)

    async def say(
        self, texts: Sequence[str], recogniser: Recogniser, chance: random.Random
    ) -> list[float]:
        """Say turns, each after the answer to the one before.

        Returns:
            How long each waited for its memories, in milliseconds.
        """
        return [cost.wait for cost in await self.spend(texts, recogniser, chance)]

    async def spend(
        self,
        texts: Sequence[str],
        recogniser: Recogniser,
        chance: random.Random,
        cores: Cores | None = None,
        pause_s: tuple[float, float] | None = None,
    ) -> list[Cost]:
        """Say turns, each some time after the answer to the one before.

        Args:
            texts: The turns.
            recogniser: Hears them.
            chance: Of its pauses and mistakes.
            cores: What the recogniser keeps busy until its final transcript.
            pause_s: The shortest and the longest pause before a turn, all scales alike; None for
                no pause.

        Returns:
            What each cost.
        """
        self._costs.clear()
        for text in texts:
            if pause_s:
                await asyncio.sleep(pause(chance, *pause_s))
            self._answered.clear()
            await speak(self.talk.worker.queue_frame, text, PERSON, recogniser, chance, cores)
            await asyncio.wait_for(self._answered.wait(), ANSWERED_S)
        if len(self._costs) != len(texts):
            raise RuntimeError(f"{len(self._costs)} waits of {len(texts)} turns")
        return list(self._costs)

    async def _comes(self, _: FrameProcessor, frame: Frame) -> None:
        if isinstance(frame, LLMContextFrame) and frame.context.messages[-1]["role"] == "user":
            self._meter.begin()

    async def _goes(self, _: FrameProcessor, frame: Frame) -> None:
        if isinstance(frame, LLMContextFrame) and (cost := self._meter.end()):
            self._costs.append(cost)

    async def _on_answer(self, *_: Any) -> None:
        self._answered.set()


def pause(chance: random.Random, shortest: float, longest: float) -> float:
    """Draw a pause whose logarithm is evenly spread: as many of 0.3 to 0.6 s as of 2.5 to 5."""
    return shortest * (longest / shortest) ** chance.random()
