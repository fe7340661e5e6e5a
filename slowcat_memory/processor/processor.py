"""The Pipecat door: one processor between the user aggregator and the LLM.

What applications call, and the life of it: open, pass frames on, close. What happens to a turn is
told in ``turns``; a turn whose frame never comes here is logged when the user aggregator tells of it
(``observing``), and the agent's words are taken from the assistant aggregator (``replies``).
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from loguru import logger
from pipecat.frames.frames import (
    Frame,
    InputAudioRawFrame,
    LLMContextFrame,
    StartFrame,
)
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.processors.frame_processor import (
    FrameDirection,
    FrameProcessor,
    FrameProcessorSetup,
)

from slowcat_memory.config import Config
from slowcat_memory.core.render.memory_block import INSTRUCTION
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import SlowcatError, StoreError
from slowcat_memory.processor.activity import observe
from slowcat_memory.processor.aggregators import Neighbours, neighbours
from slowcat_memory.processor.arguments import override, read
from slowcat_memory.processor.context_messages import Messages
from slowcat_memory.processor.conversation import Conversing
from slowcat_memory.processor.deps import Setting
from slowcat_memory.processor.engine_handle import Opening
from slowcat_memory.processor.frames import USER_TURN, Observing
from slowcat_memory.processor.guard import Harmless
from slowcat_memory.processor.locality import Locality, base_url, locate, same_server
from slowcat_memory.processor.memory_events import MEMORY_EVENTS, hear
from slowcat_memory.processor.rereading import reread_after
from slowcat_memory.processor.warming import Warming
from slowcat_memory.records import Memory
from slowcat_memory.runtime.conversation.audience import Audience
from slowcat_memory.runtime.conversation.off_record import Record
from slowcat_memory.runtime.injection import Visible
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.tools.functions import SEARCH, SEARCH_HINT, FunctionSchema, memory_tools

_LAST_EVENTS_S = 1.0  # how long an application is given to hear of what was stored last


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
    - on_memory_created, on_memory_updated, on_memory_retired(processor, event): idle work made,
      changed or superseded a memory. The event has its id, kind, scope and job, and no text.
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
        context_llm_endpoint: str | None = None,
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
            context_llm_endpoint: Base URL of the LLM that thinks while nobody speaks, "" for none;
                overrides the configuration.
            add_instruction: Add the one line that explains the block to the system instruction.
            **kwargs: For ``FrameProcessor``.

        Raises:
            ConfigError: The configuration is wrong, or a name cannot be a namespace.
        """
        super().__init__(**kwargs)
        base = engine.config if engine else read(config)
        self._config = override(
            base,
            path,
            embedding_model,
            hot_cache_size,
            memory_token_budget,
            context_llm_endpoint,
        )
        self._scope = check_scope(user_id or self._config.memory.user_id)
        self._opening = Opening(self._config, engine, self._cannot_save)
        self._pair, self._around = aggregators, Neighbours()
        self._audience = Audience(self._config.people, self._scope, speakers)
        self._speaker_names = {**(speakers or {}), **(speaker_names or {})}
        self._person = ""  # who speaks, as the application says
        self._record = Record(self._config.sessions, self._record_changed)
        self._llm_is_local = llm_is_local
        self._locality = Locality(bool(llm_is_local))  # until the pipeline starts
        self._add_instruction, self._instruction = add_instruction, INSTRUCTION
        self._warming, self._visible = Warming(), Visible()
        self._messages = Messages(lambda: self._around.messages, self._was_spoken)
        self._harmless = Harmless(self, self._call_event_handler)
        self._observing: Observing | None = None
        self._talk: Conversing | None = None  # while the memory is open
        self._timer: asyncio.Task | None = None
        self._alone: Callable[[], None] | None = None  # ends what `_share` began
        self._deaf: Callable[[], None] | None = None  # ends what `hear` began
        self._register_event_handler("on_memory_trouble")
        self._register_event_handler("on_record_changed")
        for event in MEMORY_EVENTS:
            self._register_event_handler(event)
        for event in ("on_memory_recalled", "on_exchange_stored", "on_command"):
            self._register_event_handler(event, sync=True)  # inside tasks of ours: see `Harmless`

    # ---------------------------------------------------------------- what applications call

    def tools(self, *only: str) -> list[FunctionSchema]:
        """Make the tools by which the LLM asks the memory itself.

        Call it before the pipeline starts: ``LLMContext(tools=memory.tools())``.

        Args:
            *only: Names of some of ``slowcat_memory.tools.functions.NAMES``; none for every one.

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
        if self._talk is None:
            return self._scope
        asking = dict.fromkeys(self._talk.dialogue.scopes)
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
        talk = self._talk
        return talk.keeping.count + talk.turns.speculates if talk else 0

    def answering(self) -> int:
        """Tell the log id of the turn that is being answered; 0 where it is not known yet."""
        talk = self._talk
        if talk is None or talk.keeping.realtime or talk.turns.speculates:
            return 0
        turn = talk.dialogue.user_turn
        return turn.id if turn else 0

    def in_context(self) -> frozenset[str]:
        """Tell which memories are words of a person that the LLM reads in its context."""
        return self._visible.said

    @property
    def engine(self) -> MemoryEngine | None:
        """The engine, None before the pipeline starts, and when the store could not be opened."""
        return self._opening.engine

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
            engine = await self._opening.opened()
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
            engine = await self._opening.opened()
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
        if self._talk:
            self._talk.dialogue.speaker(user_id)

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
        llm, users = self._around.llm, self._around.users
        if llm is None or users is None:
            return False
        reading = self._talk.activity.reading if self._talk else nullcontext
        return await self._warming.warm(llm, users.context, again=again, reading=reading)

    def disconnected(self) -> None:
        """Say that the client has gone: the session ends, and goes on if it comes back soon."""
        if self._talk:
            self._talk.dialogue.disconnected()

    # ---------------------------------------------------------------- life

    async def setup(self, setup: FrameProcessorSetup) -> None:  # type: ignore[override]
        """Open the memory and find the aggregators; a memory that cannot open is left out.

        Args:
            setup: From the pipeline.
        """
        await super().setup(setup)
        self._around = neighbours(self, self._pair)
        self._observing = Observing(self._around, self._messages, self._warming, self._harmless)
        if self._add_instruction and self._around.llm:
            self._around.llm.append_system_instruction(self._instruction)
        try:
            talk = await self._begin()
        except Exception as error:  # the agent must start without a memory
            logger.error(f"{self}: this agent runs without a memory: {error}")
            await self._call_event_handler("on_memory_trouble", error)
            return
        self._talk = self._observing.talk = talk
        self._timer = self.create_task(talk.watch_silence(), "silence")
        self._harmless.guard(observe, setup.pipeline_worker, talk.activity)

    async def _begin(self) -> Conversing:
        engine = await self._opening.opened()
        self._harmless.metrics = engine.metrics
        for scope in self._audience.remembered:
            await asyncio.to_thread(engine.prepare, scope)
        self._locality = await asyncio.to_thread(locate, self._around.llm, self._llm_is_local)
        self._locality.remind(engine.clock())
        setting = Setting(
            engine=engine,
            config=self._config,
            audience=self._audience,
            speaker_names=self._speaker_names,
            record=self._record,
            locality=self._locality,
            around=self._around,
            messages=self._messages,
            visible=self._visible,
            harmless=self._harmless,
        )
        talk = Conversing(setting, f"{self.name}:{self.id}", self.push_frame)
        talk.dialogue.speaker(self._person)
        await self._share(engine)
        self._deaf = hear(engine, self._audience.remembered, self._harmless.tell)
        return talk

    async def _share(self, engine: MemoryEngine) -> None:
        """Read the conversation again after idle work, where both ask one server."""
        url, other = base_url(self._around.llm), engine.config.thinking.url
        if await asyncio.to_thread(same_server, url, other):
            reread = partial(self.rewarm, again=True)
            self._alone = reread_after(engine, reread, self._harmless.begin)

    async def cleanup(self) -> None:
        """Take the agent's last words, end the session, save."""
        await super().cleanup()
        talk = self._talk
        if talk and talk.listening:
            talk.listening.prefetch.drop()
        for end in filter(None, (self._alone, self._deaf)):
            end()
        self._warming.stop()
        if self._timer:
            await self.cancel_task(self._timer)
        if talk:
            talk.activity.end()
            await talk.finish(_LAST_EVENTS_S)
        try:
            if talk:
                talk.dialogue.disconnected()
            self._record.go_on()  # nothing of it outlives the conversation
            await self._opening.close()
        except SlowcatError as error:
            logger.error(f"{self}: closing the memory failed: {error}")
        self._talk = None
        if self._observing:
            self._observing.talk = None
        await self._harmless.settle(_LAST_EVENTS_S)

    def _cannot_save(self, error: StoreError) -> None:
        logger.error(f"{self}: what is said waits to be saved: {error}")
        self._harmless.tell("on_memory_trouble", error)

    def _record_changed(self, off: bool) -> None:
        engine = self._opening.engine
        if engine and not off:
            self._harmless.guard(engine.maintain, "drop queries")
        if self._talk:
            self._harmless.tell("on_record_changed", off)

    def _was_spoken(self, text: str) -> bool:
        return self._talk is not None and self._talk.keeping.was_spoken(text)

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
        talk, took = self._talk, None
        if talk and not talk.activity.observed:
            self._harmless.guard(talk.activity.see, frame, direction)
        if talk and isinstance(frame, LLMContextFrame):
            if direction is FrameDirection.DOWNSTREAM:
                if await talk.commanding.take(frame):
                    return
                took = await talk.turns.before_reply(frame)
        elif talk and self._observing:
            self._harmless.guard(self._observing.see, talk, frame)
        await self.push_frame(frame, direction)
        if talk and USER_TURN and isinstance(frame, USER_TURN):
            await talk.commanding.confirmed(self._around.messages)
        if isinstance(frame, StartFrame):
            self._harmless.begin(self._warm_at_start())
        if took:
            await self.start_processing_metrics(start_time=took[0])
            await self.stop_processing_metrics(end_time=took[1])

    async def _warm_at_start(self) -> None:
        wanted = self._config.prefix.warm_at_start
        if wanted == "always" or wanted == "local" and self._locality.local:
            await self.rewarm()
