"""The Pipecat door: one processor between the user aggregator and the LLM.

Theory of operation. Every turn of a person, spoken or typed, passes here as an ``LLMContextFrame``
going downstream, whose last user message is an object not seen before. (Greetings, re-runs and
empty-turn recovery bring no new one; the follow-up of a tool goes upstream, past us.) At that
moment, in this order:

1. the words are logged (no await: an interruption may cancel us at the first one);
2. memories are recalled, the only await, bounded by the deadline;
3. the block is written in front of the words, in the shared context (no await until the push).

So a turn that is interrupted during recall is kept, and nothing is half done. A turn whose frame
never comes here, because an interruption or the end overtook it, is logged when the user aggregator
tells of it. The agent's words are taken from the assistant aggregator, which knows what was really
spoken. What raises is reported once and costs the turn its memories, never its reply.
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from loguru import logger
from msgspec.structs import replace
from pipecat.frames import frames
from pipecat.frames.frames import (
    BotSpeakingFrame,
    EagerEndOfTurnCancelFrame,
    Frame,
    FunctionCallInProgressFrame,
    InputAudioRawFrame,
    InterruptionFrame,
    LLMContextAssistantTurnFrame,
    LLMContextFrame,
    LLMMessagesAppendFrame,
    LLMMessagesUpdateFrame,
    StartFrame,
    TranscriptionFrame,
    UserSpeakingFrame,
    UserStartedSpeakingFrame,
)
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    AssistantTurnStoppedMessage,
    LLMAssistantAggregator,
    LLMContextAggregatorPair,
    LLMUserAggregator,
    UserTurnMessageAddedMessage,
)
from pipecat.processors.frame_processor import (
    FrameDirection,
    FrameProcessor,
    FrameProcessorSetup,
)
from pipecat.services.llm_service import LLMService

from slowcat_memory.config import Config
from slowcat_memory.core.chunks import chunk_id
from slowcat_memory.core.commands import Command
from slowcat_memory.core.pack import INSTRUCTION, Packed
from slowcat_memory.core.text import clean
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import SlowcatError, StoreError
from slowcat_memory.processor.arguments import override, read
from slowcat_memory.processor.blocks import Blocks
from slowcat_memory.processor.commanding import Commanding
from slowcat_memory.processor.listening import Listening
from slowcat_memory.processor.locality import Locality, locate
from slowcat_memory.processor.messages import Messages
from slowcat_memory.processor.warming import Warming
from slowcat_memory.processor.withdrawing import withdraw
from slowcat_memory.records import Channel, Memory, Turn
from slowcat_memory.runtime import inject
from slowcat_memory.runtime.audience import Audience
from slowcat_memory.runtime.conversation import Conversation
from slowcat_memory.runtime.dialogue import Dialogue
from slowcat_memory.runtime.namespaces import check_scope
from slowcat_memory.runtime.orders import Outcome
from slowcat_memory.runtime.query import Recollection
from slowcat_memory.runtime.record import Record
from slowcat_memory.runtime.tracker import SessionTracker
from slowcat_memory.store import Ack
from slowcat_memory.tools import SEARCH, SEARCH_HINT, FunctionSchema, memory_tools

T = TypeVar("T")

# Newer than the oldest Pipecat that we support.
_USER_TURN = getattr(frames, "LLMContextUserTurnFrame", ())
_LLM_METADATA = getattr(frames, "LLMServiceMetadataFrame", ())
_LAST_WORDS_S = 0.2  # how long a closing pipeline is given to say what the agent spoke last
_LAST_EVENTS_S = 1.0  # and an application, to hear of it


class HybridContextualMemoryProcessor(FrameProcessor):
    """Gives a voice agent a long-term memory.

    Place it between the user aggregator and the LLM. It finds the two aggregators by itself in a
    flat pipeline; hand them over for a nested or parallel one.

    Event handlers:

    - on_memory_recalled(processor, recollection, packed): what came to mind for a turn, and what of
      it was put before the LLM.
    - on_exchange_stored(processor, user_turn, assistant_turn): both halves are durable. The user's
      is None when the agent spoke first.
    - on_record_changed(processor, off): what is said is no longer kept, or is kept again.
    - on_command(processor, command, outcome): an order to the memory was carried out, or refused.
    - on_memory_trouble(processor, error): memory cannot work, or cannot save; the agent goes on.

    Example::

        memory = HybridContextualMemoryProcessor(path="~/.slowcat", user_id="anna")
        pipeline = Pipeline([
            transport.input(), stt, user_aggregator, memory, llm, tts,
            transport.output(), assistant_aggregator,
        ])
    """

    def __init__(
        self,
        *,
        path: str | Path | None = None,
        user_id: str | None = None,
        config: Config | str | Path | None = None,
        engine: MemoryEngine | None = None,
        aggregators: LLMContextAggregatorPair | None = None,
        speaker_names: Mapping[str, str] | None = None,
        speakers: Mapping[str, str] | None = None,
        llm_is_local: bool | None = None,
        embedding_model: str | None = None,
        hot_cache_size: int | None = None,
        memory_token_budget: int | None = None,
        add_instruction: bool = True,
        **kwargs: Any,
    ) -> None:
        """Choose the store and whose memory it is. Nothing is opened before the pipeline starts.

        Args:
            path: The store's folder; overrides the configuration.
            user_id: The namespace: a person, or people who share one memory.
            config: A configuration, or a config.toml.
            engine: An engine to share; it stays open when the pipeline ends.
            aggregators: The context aggregators, when they are not in the same flat pipeline.
            speaker_names: Names by the recogniser's ids of speakers.
            speakers: Scopes by the recogniser's ids of speakers, with ``[people] scopes = "each"``;
                whoever is not among them is a guest.
            llm_is_local: Whether the LLM is on this machine, for what is local-only; None to look
                at its client's base URL.
            embedding_model: Name of a sentence-transformers model; overrides the configuration.
            hot_cache_size: Latest memories to keep in memory; overrides the configuration.
            memory_token_budget: Size of a turn's block; overrides the configuration.
            add_instruction: Add the one line that explains the block to the system instruction.
            **kwargs: For ``FrameProcessor``.

        Raises:
            ConfigError: The configuration is wrong, or a name cannot be a namespace.
        """
        super().__init__(**kwargs)
        base = engine.config if engine else read(config)
        self._config = override(base, path, embedding_model, hot_cache_size, memory_token_budget)
        self._scope = check_scope(user_id or self._config.memory.user_id)
        self._engine: MemoryEngine | None = engine
        self._given_engine = engine is not None
        self._pair = aggregators
        self._audience = Audience(self._config.people, self._scope, speakers)
        self._speaker_names = {**(speakers or {}), **(speaker_names or {})}
        self._person = ""  # who speaks, as the application says
        self._record = Record(self._config.sessions, self._record_changed)
        self._llm_is_local = llm_is_local
        self._locality = Locality(bool(llm_is_local))  # until the pipeline starts
        self._blocks = Blocks()
        self._stripped_for: tuple[str, ...] | None = None  # the scopes whose blocks may stand
        self._add_instruction, self._instruction = add_instruction, INSTRUCTION
        self._users: LLMUserAggregator | None = None
        self._llm: LLMService | None = None
        self._warming = Warming()
        self._dialogue: Conversation | None = None
        self._listening: Listening | None = None
        self._commanding: Commanding | None = None
        self._messages = Messages(self._own_messages, self._was_spoken)
        self._visible = inject.Visible()
        self._speculating: dict | None = None  # the message of a turn that may yet be withdrawn
        self._speculated: tuple[Recollection, Packed] | None = None  # what was put before it
        self._injects = True
        self._spoken = False  # the turn that is coming was spoken
        self._turns = 0  # of people: see `user_turn`
        self._has_assistant = False
        self._reply_done = asyncio.Event()
        self._reply_done.set()
        self._cut = False
        self._timer: asyncio.Task | None = None
        self._telling: set[asyncio.Task] = set()
        self._register_event_handler("on_memory_trouble")
        self._register_event_handler("on_record_changed")
        for event in ("on_memory_recalled", "on_exchange_stored", "on_command"):
            self._register_event_handler(event, sync=True)  # inside tasks of ours: see `_tell`

    # ---------------------------------------------------------------- what applications call

    def tools(self, *only: str) -> list[FunctionSchema]:
        """Make the tools by which the LLM asks the memory itself.

        Call it before the pipeline starts: ``LLMContext(tools=memory.tools())``.

        Args:
            *only: Names of some of ``slowcat_memory.tools.NAMES``; none for every one.

        Returns:
            Schemas with their handlers, which the LLM service registers by itself.

        Raises:
            ConfigError: There is no such tool.
        """
        made = memory_tools(self, only)
        if any(tool.name == SEARCH for tool in made):
            self._instruction = f"{INSTRUCTION} {SEARCH_HINT}"
        return made

    def scope_now(self) -> str:
        """Tell whose memory a tool works on, "" for nobody's: where guests speak, or several."""
        if self._dialogue is None:
            return self._scope
        asking = dict.fromkeys(self._dialogue.scopes)
        return next(iter(asking)) if len(asking) == 1 and self._audience.guest not in asking else ""

    def stays_local(self) -> bool:
        """Tell whether the LLM is on this machine."""
        return self._locality.local

    def keeps(self) -> bool:
        """Tell whether what is said is kept: it is not off the record."""
        return not self._record.off

    def user_turn(self) -> int:
        """Number the turn of a person that is being answered: two answers to one turn share it.

        A realtime service answers before the turn is known: there, a turn counts when somebody
        begins to speak.
        """
        return self._turns + (self._speculating is not None)

    def answering(self) -> int:
        """Tell the log id of the turn that is being answered; 0 where it is not known yet."""
        turn = self._dialogue.user_turn if self._dialogue and self._injects else None
        return turn.id if turn and self._speculating is None else 0

    def in_context(self) -> frozenset[str]:
        """Tell which memories are words of a person that the LLM reads in its context."""
        return self._visible.said

    @property
    def engine(self) -> MemoryEngine | None:
        """The engine, None before the pipeline starts, and when the store could not be opened."""
        return self._engine

    def can_generate_metrics(self) -> bool:
        """Say that recall is timed.

        Returns:
            True.
        """
        return True

    async def session_context(self, person: str = "") -> str:
        """Write what stays the same during a session, for the LLM's system instruction.

        Args:
            person: Who is there, where people have scopes of their own: see ``speaker``.

        Returns:
            A few lines, "" when there is nothing to say. Call it before the session starts: it
            takes an icebreaker from the queue, if one may be used.
        """
        scope = self._audience.greeted(person)
        if not scope:
            return ""
        try:
            engine = await self._opened()
            return await asyncio.to_thread(
                engine.session_context, scope, local=self._locality.local
            )
        except SlowcatError as error:
            logger.warning(f"{self}: no session context: {error}")
            return ""

    async def push_icebreaker(
        self,
        text: str,
        *,
        priority: float = 0.5,
        expires: datetime | None = None,
        quiet: bool = True,
    ) -> Memory | None:
        """Let the agent bring something up by itself, once, in a later session.

        It becomes part of that session's ``session_context``.

        Args:
            text: What, for the LLM to say in its own words.
            priority: 0 to 1; the highest is used first.
            expires: When it is no longer worth saying; None for as configured.
            quiet: Whether it keeps the quiet hours.

        Returns:
            The memory; None when it is not taken.

        Raises:
            ValueError: There is no text, the priority is none, or it has expired already.
        """
        try:
            engine = await self._opened()
            return await asyncio.to_thread(
                engine.push_icebreaker,
                self._scope,
                text,
                priority=priority,
                expires=expires,
                quiet=quiet,
            )
        except SlowcatError as error:
            logger.warning(f"{self}: the icebreaker is not taken: {error}")
            return None

    def speaker(self, user_id: str) -> None:
        """Say who speaks from now on, for applications that know it.

        Args:
            user_id: A recogniser's id, or the scope of somebody in ``speakers``; anybody else is a
                guest. "" to go by what the recogniser says.
        """
        self._person = user_id
        if self._dialogue:
            self._dialogue.speaker(user_id)

    def off_the_record(self) -> None:
        """Keep nothing of what is said from now on, by anybody; recall goes on.

        It lasts until ``back_on_the_record``, and no longer than the conversation.
        """
        self._record.go_off()

    def back_on_the_record(self) -> None:
        """Keep what is said again."""
        self._record.go_on()

    async def rewarm(self, *, again: bool = False) -> bool:
        """Make a local LLM read the conversation ahead, after something else has used it.

        Costs a request for one token. It is dropped the moment somebody speaks.

        Args:
            again: Send it for a conversation that was read ahead before and has not changed.

        Returns:
            Whether the LLM has read it; False also while somebody speaks, or when it failed.
        """
        if self._llm is None or self._users is None:
            return False
        return await self._warming.warm(self._llm, self._users.context, again=again)

    def disconnected(self) -> None:
        """Say that the client has gone: the session ends, and goes on if it comes back soon."""
        if self._dialogue:
            self._dialogue.disconnected()

    # ---------------------------------------------------------------- life

    async def setup(self, setup: FrameProcessorSetup) -> None:  # type: ignore[override]
        """Open the memory and find the aggregators; a memory that cannot open is left out.

        Args:
            setup: From the pipeline.
        """
        await super().setup(setup)
        self._wire()
        try:
            engine = await self._opened()
            for scope in self._audience.remembered:
                await asyncio.to_thread(engine.prepare, scope)
            llm = self._find(LLMService, "next")
            self._locality = await asyncio.to_thread(locate, llm, self._llm_is_local)
            self._locality.remind(engine.clock())
            self._commanding = self._command(engine)
            self._dialogue = self._begin(engine)
            self._listening = self._listen(engine, self._dialogue)
        except Exception as error:  # the agent must start without a memory
            logger.error(f"{self}: this agent runs without a memory: {error}")
            await self._call_event_handler("on_memory_trouble", error)
            return
        self._timer = self.create_task(self._watch_silence(), "silence")

    async def _opened(self) -> MemoryEngine:
        if self._engine is None:
            loop = asyncio.get_running_loop()

            def on_trouble(error: StoreError) -> None:
                loop.call_soon_threadsafe(self._cannot_save, error)

            self._engine = await asyncio.to_thread(MemoryEngine.acquire, self._config, on_trouble)
        return self._engine

    def _cannot_save(self, error: StoreError) -> None:
        logger.error(f"{self}: what is said waits to be saved: {error}")
        self._tell(self._call_event_handler("on_memory_trouble", error))

    def _begin(self, engine: MemoryEngine) -> Conversation:
        scopes = (*self._audience.people, self._audience.guest)
        dialogues = {scope: self._dialogue_of(scope, engine) for scope in scopes if scope}
        conversation = Conversation(self._audience, dialogues, self._record, engine.clock)
        conversation.speaker(self._person)
        return conversation

    def _dialogue_of(self, scope: str, engine: MemoryEngine) -> Dialogue:
        return Dialogue(
            SessionTracker(scope, _session_id, self._config.sessions, engine.latest_session(scope)),
            engine.append,
            engine.clock,
            user_name=self._config.memory.user_name,
            agent_name=self._config.memory.agent_name,
            speaker_names=self._speaker_names,
        )

    def _listen(self, engine: MemoryEngine, conversation: Conversation) -> Listening | None:
        if self._users is None or not self._config.prefetch.enabled:
            return None
        return Listening(
            engine,
            self._audience,
            self._users,
            self._visible,
            conversation,
            local=self._locality.local,
        )

    def _record_changed(self, off: bool) -> None:
        if self._engine and not off:
            self._guard(self._engine.forget_queries)
        if self._dialogue:
            self._tell(self._call_event_handler("on_record_changed", off))

    def _command(self, engine: MemoryEngine) -> Commanding:
        return Commanding(
            engine,
            self._messages,
            keep=lambda message, text: self._guard(self._keep, message, text),
            push=self.push_frame,
            told=self._ordered_and_done,
            record=self._record,
            shared=self._config.people.household,
            llm=lambda: "local" if self._locality.local else "remote",
        )

    def _ordered_and_done(self, order: Command, outcome: Outcome) -> None:
        if outcome.turns or outcome.memories:
            if self._dialogue:
                self._guard(self._dialogue.forget, outcome.turns)
            self._guard(
                withdraw,
                self._own_messages(),
                outcome.turns,
                outcome.memories,
                self._messages.turn_of,
                self._visible,
            )
        self._tell(self._call_event_handler("on_command", order, outcome))

    async def cleanup(self) -> None:
        """Take the agent's last words, end the session, save."""
        await super().cleanup()
        if self._listening:
            self._listening.prefetch.drop()
        self._warming.stop()
        if self._timer:
            await self.cancel_task(self._timer)
        if self._dialogue and not self._reply_done.is_set():
            try:
                await asyncio.wait_for(self._reply_done.wait(), _LAST_WORDS_S)
            except TimeoutError:
                logger.debug(f"{self}: the agent's last words did not come")
        if self._commanding:
            await self._commanding.finish(_LAST_EVENTS_S)
        try:
            if self._dialogue:
                self._dialogue.disconnected()
            self._record.go_on()  # nothing of it outlives the conversation
            if self._engine and self._given_engine:
                await asyncio.to_thread(self._engine.store.flush, 2.0)
            elif self._engine:
                await asyncio.to_thread(self._engine.release)
        except SlowcatError as error:
            logger.error(f"{self}: closing the memory failed: {error}")
        self._dialogue = None
        if self._telling:
            await asyncio.wait(self._telling, timeout=_LAST_EVENTS_S)

    async def _warm_at_start(self) -> None:
        wanted, llm = self._config.prefix.warm_at_start, self._llm
        if llm and (wanted == "always" or wanted == "local" and self._locality.local):
            await self.rewarm()

    async def _watch_silence(self) -> None:
        step = max(0.05, min(5.0, self._config.sessions.silence_s / 10))
        while True:
            await asyncio.sleep(step)
            if self._dialogue:
                self._guard(self._dialogue.tick)
                self._guard(self._locality.remind, self._now())

    # ---------------------------------------------------------------- wiring

    def _wire(self) -> None:
        users, assistants = tuple(self._pair) if self._pair else self._neighbours()
        if users:
            self._users = users
            self._messages.known(users.context.messages)
            users.add_event_handler("on_before_process_frame", self._on_user_frame)
            users.add_event_handler("on_after_process_frame", self._on_user_frame_done)
            users.add_event_handler("on_user_turn_message_added", self._on_user_message)
        if assistants:
            self._has_assistant = True
            assistants.add_event_handler("on_assistant_turn_started", self._on_assistant_began)
            assistants.add_event_handler("on_assistant_turn_stopped", self._on_assistant_turn)
            assistants.add_event_handler("on_summary_applied", self._on_summary)
        if not (users and assistants):
            logger.warning(
                f"{self}: found no context aggregators next to me; hand them over with "
                "aggregators=, or speakers and the agent's words may be missed"
            )
        self._llm = self._find(LLMService, "next")
        if self._add_instruction and self._llm:
            self._llm.append_system_instruction(self._instruction)

    def _neighbours(self) -> tuple[LLMUserAggregator | None, LLMAssistantAggregator | None]:
        return self._find(LLMUserAggregator, "previous"), self._find(LLMAssistantAggregator, "next")

    def _find(self, kind: type, way: str) -> Any:
        processor = getattr(self, way)
        while processor is not None and not isinstance(processor, kind):
            processor = getattr(processor, way)
        return processor

    # ---------------------------------------------------------------- frames

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Recall for a new user turn; pass everything on.

        Args:
            frame: Any frame.
            direction: Where it goes.
        """
        await super().process_frame(frame, direction)
        if isinstance(frame, InputAudioRawFrame):  # fifty a second: the shortest way
            await self.push_frame(frame, direction)
            return
        self._warming.see(frame)
        took = None
        if self._dialogue and isinstance(frame, LLMContextFrame):
            if direction is FrameDirection.DOWNSTREAM:
                if self._commanding and await self._commanding.take(frame):
                    return
                took = await self._before_reply(frame)
        elif self._dialogue:
            self._guard(self._observe, frame)
        await self.push_frame(frame, direction)
        if self._commanding and _USER_TURN and isinstance(frame, _USER_TURN):
            await self._commanding.confirmed(self._own_messages())
        if isinstance(frame, StartFrame):
            self._tell(self._warm_at_start())
        if took:
            await self.start_processing_metrics(start_time=took[0])
            await self.stop_processing_metrics(end_time=took[1])

    def _observe(self, frame: Frame) -> None:
        dialogue = self._dialogue
        assert dialogue is not None  # asked for by the caller
        if isinstance(frame, (UserSpeakingFrame, BotSpeakingFrame)):
            dialogue.touch(self._now())
        elif isinstance(frame, UserStartedSpeakingFrame):
            self._turns += not self._injects
        elif isinstance(frame, FunctionCallInProgressFrame):
            dialogue.tool_called(frame.function_name)
        elif isinstance(frame, InterruptionFrame):
            self._cut = not self._reply_done.is_set()
        elif isinstance(frame, EagerEndOfTurnCancelFrame):
            self._speculating = self._speculated = None
            if self._commanding:
                self._commanding.withdrawn()
        elif _USER_TURN and isinstance(frame, _USER_TURN):
            self._confirm()
            said = inject.last_user_message(self._own_messages())
            self._spoken = said is None or not self._messages.is_logged(said)
        elif _LLM_METADATA and isinstance(frame, _LLM_METADATA) and frame.is_realtime_service:
            if self._injects:
                logger.info(f"{self}: the LLM is a realtime service: turns are kept, not prefixed")
            self._injects = False
            if self._commanding:
                self._commanding.listens = False
        elif isinstance(frame, LLMContextAssistantTurnFrame) and not self._has_assistant:
            self._take_reply(frame.text, interrupted=self._cut)

    async def _before_reply(self, frame: LLMContextFrame) -> tuple[float, float] | None:
        """Log and recall for a context that carries a new user message.

        Returns:
            When the work began and ended, for the metrics; None when there was nothing to do.
        """
        started, self._cut = time.time(), False
        try:
            return (started, time.time()) if await self._recall_into(frame) else None
        except Exception as error:  # cancellation passes; nothing else may cost the reply
            if self._engine:
                self._engine.metrics.count("turns_without_memory")
            await self.push_error(f"memory skipped this turn: {type(error).__name__}", error)
            return None

    async def _recall_into(self, frame: LLMContextFrame) -> bool:
        context, speculation = frame.context, getattr(frame, "speculation", False)
        message = self._messages.new(context.messages, predicted=speculation)
        if message is None:
            return False
        text, turn = inject.message_text(message), None
        self._speculating, self._speculated = message if speculation else None, None
        if not speculation:
            self._messages.handle(message)
            typed = self._messages.is_typed(message)
            turn = self._guard(self._keep, message, text, "text" if typed else None)
            self._spoken = self._spoken and typed
        if not self._injects or not clean(text)[0]:
            return False
        found, packed = await self._recall(text, context, turn, self._who(text, speculation))
        # No await from here to the push: an interruption finds all of it done, or none.
        if not speculation:
            self._place(message, found, packed, turn)
            return True
        if packed.text:
            inject.prefix(message, packed.text)
        if self._speculating is message:  # not withdrawn meanwhile
            self._speculated = (found, packed)
        return True

    def _place(self, message: dict, found: Recollection, packed: Packed, turn: Turn | None) -> None:
        """Write the block in front of a message, and say so."""
        if packed.text:
            inject.prefix(message, packed.text)
            self._offered(message, packed)
            self._blocks.placed(found, packed)
        if turn and self._engine:
            self._guard(self._engine.note_recall, turn, found, packed)
        self._tell(self._call_event_handler("on_memory_recalled", found, packed))

    def _offered(self, message: dict, packed: Packed) -> None:
        self._visible.offered(message, packed.text, (hit.memory.id for hit in packed.hits))

    def _who(self, text: str, speculation: bool) -> tuple[str, ...]:
        """Tell whose memories may be read: to those who ask, whom a withdrawn turn may not name."""
        dialogue = self._dialogue
        assert dialogue is not None  # asked for by the caller
        channel: Channel | None = "voice" if self._spoken else None
        asking = dialogue.who_says(text, channel) if speculation else dialogue.scopes
        return self._audience.reads(asking)

    def _strip(self, messages: list[Any], scopes: tuple[str, ...]) -> None:
        """Take other people's memories out of the context when somebody else speaks."""
        wanted = self._audience.apart and self._config.people.strip_on_change
        if not wanted or scopes == self._stripped_for:
            return
        assert self._engine is not None  # there is a dialogue, so there is an engine
        standing = [*messages, *self._own_messages()]  # a withdrawn turn's are a copy
        for message, packed in self._blocks.strip(standing, scopes, self._engine.pack):
            self._offered(message, packed)
        self._stripped_for = scopes

    async def _recall(
        self, text: str, context: LLMContext, turn: Turn | None, scopes: tuple[str, ...]
    ) -> tuple[Recollection, Packed]:
        engine = self._engine
        assert engine is not None  # there is a dialogue, so there is an engine
        start = time.perf_counter()
        self._strip(context.messages, scopes)
        self._visible.refresh(context.messages)
        if not scopes:
            return Recollection(), Packed("", (), 0)
        for _ in range(2):  # a summary may take away, meanwhile, what was visible
            visible, standing = self._visible.memories, list(map(id, context.messages))
            found = await engine.recall(
                clean(text)[0],
                scopes[0],
                also=scopes[1:],
                local=self._locality.local,
                exclude=visible,
                exclude_words=self._visible.words,
                dialogue=self._dialogue.before(turn) if self._dialogue else (),
                prefetch=self._listening.prefetch if self._listening else None,
            )
            if standing == list(map(id, context.messages)):
                break
            self._visible.refresh(context.messages)
            if visible <= self._visible.memories:
                break
        packed = found.packed or engine.pack(found)
        waited = (time.perf_counter() - start) * 1e3
        found = replace(found, timings={**found.timings, "wait": round(waited, 4)})
        engine.metrics.observe("turn_wait", waited)
        if waited > self._config.recall.warn_ms:
            logger.warning(f"{self}: recall took {waited:.1f} ms (stage {found.stage})")
        return found, packed

    def _own_messages(self) -> list[Any]:
        return self._users.context.messages if self._users else []

    def _was_spoken(self, text: str) -> bool:
        return self._spoken or bool(self._dialogue and self._dialogue.was_heard(text))

    def _keep(self, message: dict, text: str, channel: Channel | None = None) -> Turn | None:
        """Log the user's half of an exchange, once for each message."""
        assert self._dialogue is not None  # asked for by the caller
        if self._messages.is_logged(message):
            return self._messages.turn_of(message)
        order = self._commanding.recognise(text) if self._commanding else None
        channel = channel or ("voice" if self._spoken else None)
        keep = order is None or order.kind != "off_record"
        turns = self._dialogue.user_said(text, channel, aside=order is not None, keep=keep)
        turn = turns[-1] if turns else None
        self._turns += self._injects
        self._messages.became(message, turn)
        self._visible.logged(message, (chunk_id(turn.id) for turn in turns))
        if channel != "text":
            self._spoken = False
        self._reply_done.clear()
        return turn

    def _confirm(self) -> None:
        """A speculated turn was confirmed: its words enter the real context without another frame.

        The same block goes in front of them there, so that the context stays what the LLM saw.
        """
        if self._speculated is None or self._users is None:
            return
        message = self._messages.new(self._users.context.messages)
        if message is None:
            return
        found, packed = self._speculated
        self._speculating = self._speculated = None
        self._messages.handle(message)
        turn = self._guard(self._keep, message, inject.message_text(message), "voice")
        self._place(message, found, packed, turn)

    # ---------------------------------------------------------------- events of the aggregators

    async def _on_user_frame(self, aggregator: LLMUserAggregator, frame: Frame) -> None:
        if self._listening and self._injects:
            self._guard(self._listening.hear, frame)
        if self._dialogue and isinstance(frame, TranscriptionFrame):
            self._dialogue.heard(frame.user_id or "", frame.text)
        elif isinstance(frame, (LLMMessagesUpdateFrame, LLMMessagesAppendFrame)):
            self._guard(self._messages.history, frame.messages)
            if self._dialogue and isinstance(frame, LLMMessagesAppendFrame):
                self._guard(self._messages.typed, frame.messages)

    async def _on_user_frame_done(self, aggregator: LLMUserAggregator, frame: Frame) -> None:
        """Log typed words that are in the context now, whether or not the LLM is to answer them."""
        if not self._dialogue or not isinstance(frame, LLMMessagesAppendFrame):
            return
        for message in self._messages.take_typed():
            if clean(text := inject.message_text(message))[0]:
                self._guard(self._keep, message, text, "text")

    async def _on_summary(self, aggregator: LLMAssistantAggregator, *_: Any) -> None:
        self._guard(self._messages.summarised, aggregator.context.messages)

    async def _on_user_message(
        self, aggregator: LLMUserAggregator, message: UserTurnMessageAddedMessage
    ) -> None:
        if not self._dialogue or not message.content:
            return
        if self._commanding:  # before Pipecat 1.13 nothing else tells of a turn that holds
            await self._commanding.confirmed(self._own_messages())
        self._guard(self._confirm)
        added = inject.message_saying(aggregator.context.messages, message.content)
        if added is not None and not self._messages.is_handled(added):
            self._guard(self._keep, added, message.content, "voice")

    async def _on_assistant_began(self, aggregator: LLMAssistantAggregator) -> None:
        # A realtime service answers before anybody knows what it was asked.
        if self._dialogue and self._injects:
            self._dialogue.agent_begins()

    async def _on_assistant_turn(
        self, aggregator: LLMAssistantAggregator, message: AssistantTurnStoppedMessage
    ) -> None:
        tools = bool(self._dialogue and self._dialogue.uses_tools)
        if message.content or not tools:  # a tool's round is not the end
            self._warming.answered()
        if self._dialogue and message.content:
            self._guard(self._take_reply, message.content, interrupted=message.interrupted)
        elif not tools:
            self._reply_done.set()  # cut off before a word

    def _take_reply(self, text: str, *, interrupted: bool) -> None:
        assert self._dialogue is not None  # asked for by the callers
        said = self._dialogue.agent_said(text, interrupted=interrupted)
        self._reply_done.set()
        if said is not None:
            self._tell(self._announce(*said))

    async def _announce(self, user_turn: Turn | None, ack: Ack) -> None:
        try:
            await asyncio.wrap_future(ack.future)
        except StoreError as error:
            await self._call_event_handler("on_memory_trouble", error)
        else:
            await self._call_event_handler("on_exchange_stored", user_turn, ack.event)

    # ---------------------------------------------------------------- small things

    def _now(self) -> datetime:
        assert self._engine is not None  # there is a dialogue, so there is an engine
        return self._engine.clock()

    def _guard(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T | None:
        """Do what must not cost the conversation anything when it fails."""
        try:
            return work(*arguments, **named)
        except Exception as error:
            if self._engine:
                self._engine.metrics.count("failures")
            logger.error(f"{self}: memory failed: {type(error).__name__}")
            return None

    def _tell(self, telling: Coroutine[Any, Any, None]) -> None:
        """Call an application's handlers without waiting for them."""
        task = self.create_task(telling)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)


def _session_id(now: datetime) -> str:
    return f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"
