"""The pipeline in which a script is played: real aggregators, real HTTP, an agent without a voice.

The agent's replies name the request that they answer. Whatever a script waits for is an event here:
a turn's beginning and end, a frame that has passed, a request, a summary.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from pipecat.frames.frames import Frame, InterruptionFrame, LLMTextFrame
from pipecat.processors.aggregators import llm_response_universal as universal
from pipecat.processors.aggregators.llm_response_universal import (
    LLMAssistantAggregatorParams,
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import EagerUserTurnStrategies, UserTurnStrategies
from pipecat.utils.context.llm_context_summarization import (
    LLMAutoContextSummarizationConfig,
    LLMContextSummaryConfig,
)

from slowcat_memory.testing.server import Reply, ToolCall
from tests.support.voice_pipeline import FunctionSchema, VoicePipeline

PATIENCE_S = 30.0
SHORT_PATIENCE_S = 4.0  # where a fault is planted: what it took away is waited for in vain
STORY = "There was a cat. " * 12
SUMMARY = "They talked."
_EMPTY = {"empty_user_turn": None} if hasattr(universal, "EmptyUserTurnConfig") else {}
_NEVER = LLMAutoContextSummarizationConfig(
    max_context_tokens=10**6,
    max_unsummarized_messages=None,
    summary_config=LLMContextSummaryConfig(min_messages_after_summary=0),
)


class Stage(VoicePipeline):
    """The pipeline, and what has happened in it.

    Attributes:
        seen: Frames that reached the pipeline's end, by type; ``"began"``, ``"ended"`` and
            ``"summarised"`` count the events of those names.
        asked: The streamed requests: those of the conversation.
        next_reply: "story", "tool", or "" for a short one; used up by one request.
        summary_may_come: Cleared to hold a summary back.
    """

    def __init__(
        self, eager: bool, between: list[FrameProcessor], patience_s: float = PATIENCE_S
    ) -> None:
        async def look_up(params: Any) -> None:
            await params.result_callback({"found": "nothing"})

        tool = FunctionSchema("look_up", "Looks something up.", {}, [], handler=look_up)
        super().__init__(self._reply, tools=[tool], token_delay_s=0.001)
        stop = SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=0.03)
        turns = EagerUserTurnStrategies() if eager else UserTurnStrategies(stop=[stop])
        self.aggregators = LLMContextAggregatorPair(
            self.context,
            user_params=LLMUserAggregatorParams(
                user_turn_strategies=turns, user_turn_stop_timeout=0.15, **_EMPTY
            ),
            assistant_params=LLMAssistantAggregatorParams(auto_context_summarization_config=_NEVER),
        )
        self._memory, self._voice, self.patience_s = between, [], patience_s
        self.seen: Counter[Any] = Counter()
        self.asked: list[dict[str, Any]] = []
        self.next_reply = ""
        self.summary_may_come = asyncio.Event()
        self.summary_may_come.set()
        user, assistant = self.aggregators
        user.add_event_handler("on_user_turn_started", self._count("began"))
        user.add_event_handler("on_user_turn_stopped", self._count("ended"))
        user.add_event_handler("on_after_process_frame", self._on_frame)
        assistant.add_event_handler("on_summary_applied", self._count("summarised"))

    async def _reply(self, request: dict[str, Any]) -> Reply:
        if not request.get("stream"):
            self.seen["summary asked"] += 1
            await self._tell()
            await self.summary_may_come.wait()
            return SUMMARY
        self.asked.append(request)
        kind, self.next_reply = self.next_reply, ""
        await self._tell()
        if kind == "tool":
            return ToolCall("look_up", {})
        return STORY if kind == "story" else f"Noted {len(self.asked)}."

    async def until(self, condition: Callable[[], bool], timeout_s: float | None = None) -> None:
        """Wait until a condition holds, even on a busy machine."""
        await super().until(condition, self.patience_s if timeout_s is None else timeout_s)

    async def answered(self, request: int) -> None:
        """Wait until the agent has said its reply to a request, counted from one."""
        await self.until(lambda: any(t.content == f"Noted {request}." for t in self.turns))

    async def until_asked(self, request: int) -> None:
        """Wait until a request has arrived, counted from one."""
        await self.until(lambda: len(self.asked) >= request)

    async def until_interrupted(self, before: int) -> None:
        """Wait until an interruption, after so many, has passed the pipeline."""
        await self.until(lambda: self.seen[InterruptionFrame] > before)

    def words(self) -> int:
        """How many pieces of replies have reached the assistant aggregator."""
        return self.seen[LLMTextFrame]

    def _count(self, name: str) -> Any:
        async def count(*_: object) -> None:
            self.seen[name] += 1
            await self._tell()

        return count

    async def _on_frame(self, processor: FrameProcessor, frame: Frame) -> None:
        if processor is self.aggregators.assistant():
            self.seen[type(frame)] += 1
        await super()._on_frame(processor, frame)
