"""One live conversation: its parts, wired once the memory is open, and which frame matters to whom."""

import asyncio
import copy
import uuid
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

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

from slowcat_memory.core.commands.grammar import Command
from slowcat_memory.core.text.normalize import clean, fingerprint
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.search import build_query, latest_session
from slowcat_memory.errors import StoreError
from slowcat_memory.processor.activity import Activity, by_kind
from slowcat_memory.processor.commands import VoiceCommands
from slowcat_memory.processor.engine_handle import ConversationDeps
from slowcat_memory.processor.turn import Turns
from slowcat_memory.runtime import injection
from slowcat_memory.runtime.commands.executor import Outcome
from slowcat_memory.runtime.conversation import session_tracker
from slowcat_memory.runtime.conversation.conversation import Conversation, Names
from slowcat_memory.runtime.conversation.session_tracker import ClockReading, SessionTracker
from slowcat_memory.runtime.namespaces.registry import ANONYMOUS, default_name, learned_name
from slowcat_memory.runtime.recall.prefetch import Prefetch
from slowcat_memory.runtime.recall.query import Query
from slowcat_memory.tools.functions import NAMES, TOO_LATE, Call

# By engine: the sessions that conversations of this process have open.
_open_sessions = WeakKeyDictionary[MemoryEngine, set[str]]()
_LAST_REPLY_S = 0.2  # wait at the pipeline's end for the agent's last words


class LiveConversation:
    """The parts of one conversation. Use it on the event loop.

    ``prefetch`` is the recall for the turn that is being spoken; None without a user aggregator.
    """

    def __init__(
        self, deps: ConversationDeps, name: str, push: Callable[[Frame], Awaitable[None]]
    ) -> None:
        """Start a conversation with a unique name. May read the store for sessions to resume."""
        self.deps = deps
        self.activity = Activity(deps.engine.set_activity, name)
        self.commands = VoiceCommands(deps, push, self._command_done)
        self.log = _open_log(deps)
        self._heard = ""  # STT speaker id of the latest transcript
        hears = deps.neighbours.user_aggregator is not None
        self.prefetch = deps.engine.prefetch(self._query) if hears else None
        self.turns = Turns(deps, self.log, self.commands, self.prefetch)
        self.activity.on_voice = self._voice

    def tool_call(self) -> Call:
        """Return the state for a tool call.

        It has no scope for guests and for several speakers, and no turn while the current turn
        is not known yet.
        """
        deps, scopes, turns = self.deps, self.log.scopes, self.turns
        known = len(scopes) == 1 and scopes[0] != deps.audience.guest
        predicted = turns.speculating is not None
        turn = None if turns.realtime or predicted else self.log.user_turn
        return Call(
            memory=deps.engine,
            scope=scopes[0] if known else "",
            turn=turns.count + predicted,
            said=turn,
            hidden=deps.visible.said,
            local=deps.llm_is_local,
            keeps=not deps.off_record.off,
            shown=self.log.shown,
            private=self.log.is_private,
        )

    def _voice(self, speaks: bool) -> None:
        if self.prefetch and not self.turns.realtime:
            warmup = self.prefetch.warmup
            self.deps.guard.run(warmup.speaks if speaks else warmup.falls_silent)

    def hear(self, prefetch: Prefetch, aggregator: LLMUserAggregator, frame: Any) -> None:
        """Recall ahead for a transcript, before the aggregator has it. Neither blocks nor waits."""
        # A final transcript does not change; an eager one predicts that the turn ends with it.
        whole = isinstance(frame, (frames.TranscriptionFrame, frames.EagerTranscriptionFrame))
        if whole or isinstance(frame, frames.InterimTranscriptionFrame):
            self._heard = frame.user_id or ""
            text = f"{aggregator.aggregation_string()} {frame.text}"
            prefetch.hear(clean(text)[0], whole=whole)

    def _query(self, text: str) -> Query | None:
        """Build the query of the turn as it is now, excluding other speakers' words.

        The turn's own words will be in the context by then.
        """
        deps, own = self.deps, self.log.scope_of(self._heard)
        scopes = deps.audience.readable((own,))
        if not scopes:
            return None
        visible = copy.copy(deps.visible)  # the turn itself may see another context
        visible.refresh(deps.neighbours.messages)
        return build_query(
            deps.engine.clock,
            text,
            scopes[0],
            also=scopes[1:],
            local=deps.llm_is_local,
            exclude=visible.memories,
            exclude_words=visible.words | {fingerprint(text)},
            dialogue=self.log.before_next(own),
        )

    async def watch_silence(self) -> None:
        """End sessions that fall silent, until cancelled."""
        deps = self.deps
        step = max(0.05, min(5.0, deps.config.sessions.silence_s / 10))
        while True:
            await asyncio.sleep(step)
            deps.guard.run(self.log.tick)

    async def finish(self, timeout_s: float) -> None:
        """End what runs ahead; wait for the agent's last words, and for running commands."""
        self.activity.end()
        if self.prefetch:
            self.prefetch.warmup.stop()
            self.prefetch.drop()
        try:
            await asyncio.wait_for(self.turns.replied.wait(), _LAST_REPLY_S)
        except TimeoutError:
            logger.debug(f"{self.deps.guard}: the agent's last words did not come")
        await self.commands.finish(timeout_s)

    def _command_done(self, command: Command, outcome: Outcome) -> None:
        deps = self.deps
        if outcome.turns or outcome.memories:
            deps.guard.run(self.log.forget, outcome.turns)
            deps.guard.run(deps.messages.remove, outcome.turns, outcome.memories, deps.visible)
        deps.guard.notify("on_command", command, outcome)


def _open_log(deps: ConversationDeps) -> Conversation:
    engine, memory = deps.engine, deps.config.memory
    scopes = [scope for scope in (*deps.audience.people, deps.audience.guest) if scope]
    held = _open_sessions.setdefault(engine, set())
    now = ClockReading(engine.clock(), session_tracker.monotonic())
    own = deps.audience.scope_of("")
    try:
        with engine.snapshot() as snapshot:
            previous = {scope: latest_session(snapshot, scope, now.at) for scope in scopes}
            learned = learned_name(snapshot, own, memory.user_name)
    except StoreError:  # it is not there yet: no session is resumed
        previous, learned = {}, ""
    trackers = [
        SessionTracker(scope, _session_id, deps.config.sessions, previous.get(scope), now, held)
        for scope in scopes
    ]
    user = learned or default_name(own, memory.user_name)
    changes = memory.user_name == ANONYMOUS
    names = Names(user, memory.agent_name, deps.speaker_names, may_change=changes)
    return Conversation(
        deps.audience, trackers, engine.append, names, deps.off_record, engine.clock
    )


def _session_id(now: datetime) -> str:
    return f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"


# ------------------------------------------------------------------- frames and events
# The user aggregator consumes transcripts, and sees turns whose frame never reaches the memory because
# of an interruption or the pipeline's end; the assistant aggregator knows what was really spoken. Both
# call their handlers in tasks of their own.

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
            await live.turns.confirm()
            message = injection.last_user_message(self._deps.neighbours.messages)
            live.turns.spoken = message is None or not self._messages.is_logged(message)

    def _llm_described(self, live: LiveConversation, frame: Any) -> None:
        if frame.is_realtime_service and not live.turns.realtime:
            logger.info(
                f"{self._guard}: the LLM is a realtime service: turns are kept, not prefixed"
            )
            live.turns.realtime, live.commands.enabled = True, False

    def _reply_passed(
        self, live: LiveConversation, frame: frames.LLMContextAssistantTurnFrame
    ) -> None:
        if not self._deps.neighbours.assistant_aggregator:  # else its event brings the reply
            live.turns.log_reply(frame.text)

    async def _before_user_frame(self, aggregator: LLMUserAggregator, frame: Frame) -> None:
        live = self.live
        # What is muted is in no turn. There is no public way to know: the events and frames about it
        # come after later frames.
        if live and not getattr(aggregator, "_user_is_muted", False):
            if live.prefetch and not live.turns.realtime:
                self._guard.run(live.hear, live.prefetch, aggregator, frame)
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
                self._guard.run(self.live.turns.log, message, text, "text")

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
            self._guard.run(live.turns.log, added, message.content, "voice")

    async def _before_agent_frame(self, aggregator: LLMAssistantAggregator, frame: Frame) -> None:
        """Keep a late result of the memory's tools from another person's context."""
        if isinstance(frame, frames.FunctionCallResultFrame) and frame.function_name in NAMES:
            if not self._deps.owned.may_enter(frame.tool_call_id):
                frame.result = TOO_LATE

    async def _before_agent_push(self, aggregator: LLMAssistantAggregator, frame: Frame) -> None:
        """Let a summary be made of what was said: it stays in the context whoever speaks."""
        live = self.live
        if live and self._deps.strips and isinstance(frame, frames.LLMContextSummaryRequestFrame):
            messages = self._guard.run(self._deps.owned.without_memories, frame.context.messages)
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
        if live and message.content:
            self._guard.run(live.turns.log_reply, message.content, interrupted=message.interrupted)
        elif live and not live.log.uses_tools:  # a tool's round is not the end
            live.turns.replied.set()


Handler = Callable[[FrameDispatcher, LiveConversation, Any], object]
TABLE: dict[type[Frame], Handler] = {
    frames.UserSpeakingFrame: lambda _, live, frame: live.log.touch(),
    frames.BotSpeakingFrame: lambda _, live, frame: live.log.touch(),
    frames.UserStartedSpeakingFrame: lambda _, live, frame: live.turns.user_starts_speaking(),
    frames.FunctionCallInProgressFrame: lambda _, live, frame: live.log.tool_called(
        frame.function_name
    ),
    frames.EagerEndOfTurnCancelFrame: lambda _, live, frame: live.turns.withdraw(),
    frames.LLMContextAssistantTurnFrame: FrameDispatcher._reply_passed,
    frames.LLMServiceMetadataFrame: FrameDispatcher._llm_described,
}
_handler = by_kind(TABLE)
