"""Dispatches frames that pass the memory, and aggregator events, to a conversation's parts.

The user aggregator consumes transcripts, and sees turns whose frame never reaches the memory
because of an interruption or the pipeline's end; the assistant aggregator knows what was really
spoken. Both call their handlers in tasks of their own.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from pipecat.frames import frames
from pipecat.frames.frames import (
    BotSpeakingFrame,
    EagerEndOfTurnCancelFrame,
    EagerTranscriptionFrame,
    Frame,
    FunctionCallInProgressFrame,
    FunctionCallResultFrame,
    InterruptionFrame,
    LLMContextAssistantTurnFrame,
    LLMContextSummaryRequestFrame,
    LLMMessagesAppendFrame,
    LLMMessagesUpdateFrame,
    LLMServiceMetadataFrame,
    TranscriptionFrame,
    UserSpeakingFrame,
    UserStartedSpeakingFrame,
)
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    AssistantTurnStoppedMessage,
    LLMAssistantAggregator,
    LLMUserAggregator,
    UserTurnMessageAddedMessage,
)

from slowcat_memory.core.text.normalize import clean
from slowcat_memory.processor.activity import Warming
from slowcat_memory.processor.context_messages import ContextMessages
from slowcat_memory.processor.conversation import LiveConversation
from slowcat_memory.processor.neighbours import PipelineNeighbours
from slowcat_memory.processor.owned_messages import OwnedMessages
from slowcat_memory.processor.reports import FrameGuard
from slowcat_memory.runtime import injection
from slowcat_memory.tools.functions import NAMES, TOO_LATE

# Newer than the oldest Pipecat that we support.
USER_TURN: Any = getattr(frames, "LLMContextUserTurnFrame", ())


class FrameDispatcher:
    """Dispatches frames and aggregator events. Use it on the event loop.

    Attributes:
        live: The conversation; None before the memory is open, and after it is closed. Messages
            that an application adds are tracked even then.
    """

    def __init__(
        self,
        neighbours: PipelineNeighbours,
        messages: ContextMessages,
        owned: OwnedMessages,
        warming: Warming,
        guard: FrameGuard,
    ) -> None:
        """Subscribe to the aggregators' events; ``warming`` is notified when an answer is over."""
        self.live: LiveConversation | None = None
        self._neighbours, self._messages, self._owned = neighbours, messages, owned
        self._warming, self._guard = warming, guard
        if users := neighbours.user_aggregator:
            messages.mark_known(users.context.messages)
            users.add_event_handler("on_before_process_frame", self._before_user_frame)
            users.add_event_handler("on_after_process_frame", self._after_user_frame)
            users.add_event_handler("on_user_turn_message_added", self._on_user_message)
        if assistants := neighbours.assistant_aggregator:
            assistants.add_event_handler("on_before_process_frame", self._before_agent_frame)
            assistants.add_event_handler("on_before_push_frame", self._before_agent_push)
            assistants.add_event_handler("on_assistant_turn_started", self._on_reply_started)
            assistants.add_event_handler("on_assistant_turn_stopped", self._on_reply_stopped)
            assistants.add_event_handler("on_summary_applied", self._on_summary)

    def see(self, frame: Frame) -> None:
        """Process a passing frame other than a context; see ``TABLE``."""
        kind: Any = type(frame)
        handle = _handler(kind)
        if self.live and handle:
            self._guard.run(handle, self, self.live, frame)

    async def turn_confirmed(self) -> None:
        """Process that a turn is not withdrawn any more, after the frame that says so was pushed."""
        if live := self.live:
            await live.turns.confirm()
            message = injection.last_user_message(self._neighbours.messages)
            live.turns.spoken = message is None or not self._messages.is_logged(message)

    def _llm_described(self, live: LiveConversation, frame: Any) -> None:
        if frame.is_realtime_service:
            live.set_realtime()

    def _reply_passed(self, live: LiveConversation, frame: LLMContextAssistantTurnFrame) -> None:
        if not self._neighbours.assistant_aggregator:  # else its event brings the reply
            live.replies.log(frame.text)

    async def _before_user_frame(self, aggregator: LLMUserAggregator, frame: Frame) -> None:
        live = self.live
        if live and not _is_muted(aggregator):  # what is muted is in no turn
            if live.interim and not live.turns.realtime:
                self._guard.run(live.interim.see, frame)
            if isinstance(frame, TranscriptionFrame):
                begins = not aggregator.aggregation_string()
                live.log.heard(frame.user_id or "", frame.text, begins=begins)
            elif isinstance(frame, EagerTranscriptionFrame):
                live.log.expected(frame.user_id or "", frame.text)
        if isinstance(frame, (LLMMessagesUpdateFrame, LLMMessagesAppendFrame)):
            self._guard.run(self._messages.mark_history, frame.messages)
            if live and isinstance(frame, LLMMessagesAppendFrame):
                self._guard.run(self._messages.mark_typed, frame.messages)

    async def _after_user_frame(self, aggregator: LLMUserAggregator, frame: Frame) -> None:
        """Log typed words that are in the context now, whether or not the LLM will answer them."""
        if not self.live or not isinstance(frame, LLMMessagesAppendFrame):
            return
        for message in self._messages.take_typed():
            if clean(text := injection.words_of(message))[0]:
                self.live.turns.log(message, text, "text")

    async def _on_user_message(
        self, aggregator: LLMUserAggregator, message: UserTurnMessageAddedMessage
    ) -> None:
        live = self.live
        if not live or not message.content:
            return
        # Before Pipecat 1.13 nothing else confirms a speculated turn.
        await live.turns.confirm()
        added = injection.message_saying(aggregator.context.messages, message.content)
        if added is not None and not self._messages.is_handled(added):
            live.turns.log(added, message.content, "voice")

    async def _before_agent_frame(self, aggregator: LLMAssistantAggregator, frame: Frame) -> None:
        """Keep a late result of the memory's tools from another person's context."""
        if isinstance(frame, FunctionCallResultFrame) and frame.function_name in NAMES:
            if not self._owned.may_enter(frame.tool_call_id):
                frame.result = TOO_LATE

    async def _before_agent_push(self, aggregator: LLMAssistantAggregator, frame: Frame) -> None:
        """Let a summary be made of what was said: it stays in the context whoever speaks."""
        live = self.live
        if live and live.strips and isinstance(frame, LLMContextSummaryRequestFrame):
            messages = self._guard.run(self._owned.without_memories, frame.context.messages)
            if messages is not None:
                frame.context = LLMContext(messages=messages)

    async def _on_summary(self, aggregator: LLMAssistantAggregator, *_: Any) -> None:
        self._guard.run(self._messages.mark_summary, aggregator.context.messages)

    async def _on_reply_started(self, aggregator: LLMAssistantAggregator) -> None:
        # A realtime service answers before the transcript of the turn is known.
        if self.live and not self.live.turns.realtime:
            self.live.log.agent_begins()

    async def _on_reply_stopped(
        self, aggregator: LLMAssistantAggregator, message: AssistantTurnStoppedMessage
    ) -> None:
        live = self.live
        tools = bool(live and live.log.uses_tools)
        if message.content or not tools:  # a tool's round is not the end
            self._warming.answer_ended()
            if live:
                self._guard.run(live.activity.answer_ended, message.content)
        if live and message.content:
            self._guard.run(live.replies.log, message.content, interrupted=message.interrupted)
        elif live and not tools:
            live.replies.end_silent()


Handler = Callable[[FrameDispatcher, LiveConversation, Any], object]
TABLE: dict[type[Frame], Handler] = {
    UserSpeakingFrame: lambda _, live, frame: live.touch(),
    BotSpeakingFrame: lambda _, live, frame: live.touch(),
    UserStartedSpeakingFrame: lambda _, live, frame: live.turns.user_starts_speaking(),
    FunctionCallInProgressFrame: lambda _, live, frame: live.log.tool_called(frame.function_name),
    InterruptionFrame: lambda _, live, frame: live.replies.interrupt(),
    EagerEndOfTurnCancelFrame: lambda _, live, frame: live.turns.withdraw(),
    LLMContextAssistantTurnFrame: FrameDispatcher._reply_passed,
    LLMServiceMetadataFrame: FrameDispatcher._llm_described,
}


def _is_muted(aggregator: LLMUserAggregator) -> bool:
    """Return whether the aggregator drops the words of its next frame.

    There is no public way to know: the events and frames about it come after later frames.
    """
    return bool(getattr(aggregator, "_user_is_muted", False))


@cache
def _handler(kind: type) -> Handler | None:
    return next((TABLE[base] for base in kind.__mro__ if base in TABLE), None)
