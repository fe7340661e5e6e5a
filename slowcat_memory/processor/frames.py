"""What is observed of a conversation: frames that pass the memory, and events of the aggregators.

The user aggregator consumes transcripts and knows of turns whose frame never comes to the memory,
because an interruption or the end overtook it; the assistant aggregator knows what was really
spoken. Both tell their handlers in tasks of their own.
"""

from typing import Any

from pipecat.frames import frames
from pipecat.frames.frames import (
    BotSpeakingFrame,
    EagerEndOfTurnCancelFrame,
    Frame,
    FunctionCallInProgressFrame,
    InterruptionFrame,
    LLMContextAssistantTurnFrame,
    LLMMessagesAppendFrame,
    LLMMessagesUpdateFrame,
    TranscriptionFrame,
    UserSpeakingFrame,
    UserStartedSpeakingFrame,
)
from pipecat.processors.aggregators.llm_response_universal import (
    AssistantTurnStoppedMessage,
    LLMAssistantAggregator,
    LLMUserAggregator,
    UserTurnMessageAddedMessage,
)

from slowcat_memory.core.text.normalize import clean
from slowcat_memory.processor.aggregators import Neighbours
from slowcat_memory.processor.context_messages import Messages
from slowcat_memory.processor.conversation import Conversing
from slowcat_memory.processor.guard import Harmless
from slowcat_memory.processor.warming import Warming
from slowcat_memory.runtime import injection

# Newer than the oldest Pipecat that we support.
USER_TURN = getattr(frames, "LLMContextUserTurnFrame", ())
_LLM_METADATA = getattr(frames, "LLMServiceMetadataFrame", ())


class Observing:
    """Tells the parts of a conversation what goes on. To be used on the event loop.

    Attributes:
        talk: The conversation; None before the memory is open, and after it is closed. What an
            application brings along is noted even then.
    """

    def __init__(
        self, around: Neighbours, messages: Messages, warming: Warming, harmless: Harmless
    ) -> None:
        """Hear from the aggregators from now on.

        Args:
            around: The aggregators.
            messages: Which messages are new turns.
            warming: Told when an answer is over.
            harmless: Does what must not cost the conversation anything.
        """
        self.talk: Conversing | None = None
        self._around, self._messages = around, messages
        self._warming, self._guard = warming, harmless.guard
        if users := around.users:
            messages.known(users.context.messages)
            users.add_event_handler("on_before_process_frame", self._on_user_frame)
            users.add_event_handler("on_after_process_frame", self._on_user_frame_done)
            users.add_event_handler("on_user_turn_message_added", self._on_user_message)
        if assistants := around.assistants:
            assistants.add_event_handler("on_assistant_turn_started", self._on_assistant_began)
            assistants.add_event_handler("on_assistant_turn_stopped", self._on_assistant_turn)
            assistants.add_event_handler("on_summary_applied", self._on_summary)

    def see(self, talk: Conversing, frame: Frame) -> None:
        """Look at a frame that passes the memory.

        Args:
            talk: The conversation.
            frame: Any frame but a context.
        """
        if isinstance(frame, (UserSpeakingFrame, BotSpeakingFrame)):
            talk.touch()
        elif isinstance(frame, UserStartedSpeakingFrame):
            talk.keeping.begins()
        elif isinstance(frame, FunctionCallInProgressFrame):
            talk.dialogue.tool_called(frame.function_name)
        elif isinstance(frame, InterruptionFrame):
            talk.replies.interrupted()
        elif isinstance(frame, EagerEndOfTurnCancelFrame):
            talk.withdrawn()
        elif USER_TURN and isinstance(frame, USER_TURN):
            talk.turns.confirm()
            said = injection.last_user_message(self._around.messages)
            talk.keeping.spoken = said is None or not self._messages.is_logged(said)
        elif _LLM_METADATA and isinstance(frame, _LLM_METADATA) and frame.is_realtime_service:
            talk.answers_first()
        elif isinstance(frame, LLMContextAssistantTurnFrame) and not self._around.assistants:
            talk.replies.take(frame.text)

    # ---------------------------------------------------------------- the user aggregator

    async def _on_user_frame(self, aggregator: LLMUserAggregator, frame: Frame) -> None:
        talk = self.talk
        if talk and talk.listening and not talk.keeping.realtime:
            self._guard(talk.listening.hear, frame)
        if talk and isinstance(frame, TranscriptionFrame):
            talk.dialogue.heard(frame.user_id or "", frame.text)
        elif isinstance(frame, (LLMMessagesUpdateFrame, LLMMessagesAppendFrame)):
            self._guard(self._messages.history, frame.messages)
            if talk and isinstance(frame, LLMMessagesAppendFrame):
                self._guard(self._messages.typed, frame.messages)

    async def _on_user_frame_done(self, aggregator: LLMUserAggregator, frame: Frame) -> None:
        """Log typed words that are in the context now, whether or not the LLM is to answer them."""
        if not self.talk or not isinstance(frame, LLMMessagesAppendFrame):
            return
        for message in self._messages.take_typed():
            if clean(text := injection.message_text(message))[0]:
                self.talk.keeping.keep(message, text, "text")

    async def _on_user_message(
        self, aggregator: LLMUserAggregator, message: UserTurnMessageAddedMessage
    ) -> None:
        talk = self.talk
        if not talk or not message.content:
            return
        # Before Pipecat 1.13 nothing else tells of a turn that holds.
        await talk.commanding.confirmed(self._around.messages)
        self._guard(talk.turns.confirm)
        added = injection.message_saying(aggregator.context.messages, message.content)
        if added is not None and not self._messages.is_handled(added):
            talk.keeping.keep(added, message.content, "voice")

    # ---------------------------------------------------------------- the assistant aggregator

    async def _on_summary(self, aggregator: LLMAssistantAggregator, *_: Any) -> None:
        self._guard(self._messages.summarised, aggregator.context.messages)

    async def _on_assistant_began(self, aggregator: LLMAssistantAggregator) -> None:
        # A realtime service answers before anybody knows what it was asked.
        if self.talk and not self.talk.keeping.realtime:
            self.talk.dialogue.agent_begins()

    async def _on_assistant_turn(
        self, aggregator: LLMAssistantAggregator, message: AssistantTurnStoppedMessage
    ) -> None:
        talk = self.talk
        tools = bool(talk and talk.dialogue.uses_tools)
        if message.content or not tools:  # a tool's round is not the end
            self._warming.answered()
            if talk:
                self._guard(talk.activity.answered, message.content)
        if talk and message.content:
            self._guard(talk.replies.take, message.content, interrupted=message.interrupted)
        elif talk and not tools:
            talk.replies.silent()
