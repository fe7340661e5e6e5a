"""Which frame, and which event of the aggregators, matters to whom in a conversation.

The user aggregator consumes transcripts, and sees turns whose frame never reaches the memory because
of an interruption or the pipeline's end; the assistant aggregator knows what was really spoken. Both
call their handlers in tasks of their own.
"""

from collections.abc import Callable
from typing import Any

from loguru import logger
from pipecat.frames import frames
from pipecat.frames.frames import Frame
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    AssistantTurnStoppedMessage,
    LLMAssistantAggregator,
    LLMUserAggregator,
    UserTurnMessageAddedMessage,
)

from slowcat_memory.core.text.normalize import clean
from slowcat_memory.processor.activity import by_kind
from slowcat_memory.processor.keywords import ConversationDeps
from slowcat_memory.processor.turn import LiveConversation
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

    def __init__(self, deps: ConversationDeps) -> None:
        self.live: LiveConversation | None = None
        self._deps, self._messages, self._guard = deps, deps.messages, deps.guard

    def subscribe(self) -> None:
        """Subscribe to the aggregators' events."""
        neighbours = self._deps.neighbours
        if users := neighbours.user_aggregator:
            self._messages.mark_known(users.context.messages)
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
        if self.live and (handle := _handler(type(frame))):
            self._guard.run(handle, self, self.live, frame)

    async def turn_confirmed(self) -> None:
        """Process that a turn is not withdrawn any more, after the frame that says so was pushed."""
        if live := self.live:
            await live.confirm()
            message = injection.last_user_message(self._deps.neighbours.messages)
            live.spoken = message is None or not self._messages.is_logged(message)

    def _llm_described(self, live: LiveConversation, frame: Any) -> None:
        if frame.is_realtime_service and not live.realtime:
            logger.info(
                f"{self._guard}: the LLM is a realtime service: turns are kept, not prefixed"
            )
            live.realtime, live.commands.enabled = True, False

    def _reply_passed(
        self, live: LiveConversation, frame: frames.LLMContextAssistantTurnFrame
    ) -> None:
        if not self._deps.neighbours.assistant_aggregator:  # else its event brings the reply
            live.log_reply(frame.text)

    async def _before_user_frame(self, aggregator: LLMUserAggregator, frame: Frame) -> None:
        live = self.live
        # What is muted is in no turn. There is no public way to know: the events and frames about it
        # come after later frames.
        if live and not getattr(aggregator, "_user_is_muted", False):
            self._guard.run(live.hear, aggregator, frame)
            if isinstance(frame, frames.TranscriptionFrame):
                begins = not aggregator.aggregation_string()
                live.log.heard(frame.user_id or "", frame.text, begins=begins)
            elif isinstance(frame, frames.EagerTranscriptionFrame):
                live.log.expected(frame.user_id or "", frame.text)
        if isinstance(frame, (frames.LLMMessagesUpdateFrame, frames.LLMMessagesAppendFrame)):
            self._guard.run(self._messages.mark_history, frame.messages)
            if live and isinstance(frame, frames.LLMMessagesAppendFrame):
                self._guard.run(self._messages.mark_typed, frame.messages)

    async def _after_user_frame(self, aggregator: LLMUserAggregator, frame: Frame) -> None:
        """Log typed words that are in the context now, whether or not the LLM will answer them."""
        if not self.live or not isinstance(frame, frames.LLMMessagesAppendFrame):
            return
        for message in self._messages.take_typed():
            if clean(text := injection.words_of(message))[0]:
                self._guard.run(self.live.log_turn, message, text, "text")

    async def _on_user_message(
        self, aggregator: LLMUserAggregator, message: UserTurnMessageAddedMessage
    ) -> None:
        live = self.live
        if not live or not message.content:
            return
        # Before Pipecat 1.13 nothing else confirms a speculated turn.
        await live.confirm()
        added = injection.message_saying(aggregator.context.messages, message.content)
        if added is not None and not self._messages.is_handled(added):
            self._guard.run(live.log_turn, added, message.content, "voice")

    async def _before_agent_frame(self, aggregator: LLMAssistantAggregator, frame: Frame) -> None:
        """Keep a late result of the memory's tools from another person's context."""
        if isinstance(frame, frames.FunctionCallResultFrame) and frame.function_name in NAMES:
            if not self._deps.messages.may_enter(frame.tool_call_id):
                frame.result = TOO_LATE

    async def _before_agent_push(self, aggregator: LLMAssistantAggregator, frame: Frame) -> None:
        """Let a summary be made of what was said: it stays in the context whoever speaks."""
        live = self.live
        if live and self._deps.strips and isinstance(frame, frames.LLMContextSummaryRequestFrame):
            messages = self._guard.run(self._deps.messages.without_memories, frame.context.messages)
            if messages is not None:
                frame.context = LLMContext(messages=messages)

    async def _on_summary(self, aggregator: LLMAssistantAggregator, *_: Any) -> None:
        self._guard.run(self._messages.mark_summary, aggregator.context.messages)

    async def _on_reply_started(self, aggregator: LLMAssistantAggregator) -> None:
        # A realtime service answers before the transcript of the turn is known.
        if self.live and not self.live.realtime:
            self.live.log.agent_begins()

    async def _on_reply_stopped(
        self, aggregator: LLMAssistantAggregator, message: AssistantTurnStoppedMessage
    ) -> None:
        live = self.live
        if live and message.content:
            self._guard.run(live.log_reply, message.content, interrupted=message.interrupted)
        elif live and not live.log.uses_tools:  # a tool's round is not the end
            live.replied.set()


Handler = Callable[[FrameDispatcher, LiveConversation, Any], object]
TABLE: dict[type[Frame], Handler] = {
    frames.UserSpeakingFrame: lambda _, live, frame: live.log.touch(),
    frames.BotSpeakingFrame: lambda _, live, frame: live.log.touch(),
    frames.UserStartedSpeakingFrame: lambda _, live, frame: live.user_starts_speaking(),
    frames.FunctionCallInProgressFrame: lambda _, live, frame: live.log.tool_called(
        frame.function_name
    ),
    frames.EagerEndOfTurnCancelFrame: lambda _, live, frame: live.withdraw(),
    frames.LLMContextAssistantTurnFrame: FrameDispatcher._reply_passed,
    frames.LLMServiceMetadataFrame: FrameDispatcher._llm_described,
}
_handler = by_kind(TABLE)
