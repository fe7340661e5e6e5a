"""The Pipecat processor: the application's API and its lifecycle: setup, frames, cleanup.

``turn`` handles user turns; ``conversation`` logs turns whose frame never arrives here, when the user
aggregator reports them.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from loguru import logger
from msgspec.structs import replace
from pipecat.frames.frames import Frame, InputAudioRawFrame, LLMContextFrame, StartFrame
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor, FrameProcessorSetup

from slowcat_memory.config import Config
from slowcat_memory.core.render.memory_block import instruction
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.background import BackgroundEngine
from slowcat_memory.errors import SlowcatError, StoreError, describe_error
from slowcat_memory.processor import keywords, neighbours
from slowcat_memory.processor.context_messages import ContextMessages
from slowcat_memory.processor.conversation import USER_TURN, FrameDispatcher
from slowcat_memory.processor.keywords import ConversationDeps, Overrides
from slowcat_memory.processor.neighbours import find_neighbours
from slowcat_memory.processor.reports import Content, FrameGuard, Reports
from slowcat_memory.processor.turn import LiveConversation, TurnResult
from slowcat_memory.providers.llm.base import AUTO
from slowcat_memory.providers.loopback import same_server
from slowcat_memory.records import Memory as MemoryRecord
from slowcat_memory.records import MemoryEvent
from slowcat_memory.runtime.conversation.conversation import Audience
from slowcat_memory.runtime.conversation.session_tracker import OffRecord
from slowcat_memory.runtime.namespaces.registry import scope_of_user
from slowcat_memory.tools.functions import SEARCH, Call, FunctionSchema, memory_tools

if TYPE_CHECKING:
    from slowcat_memory.fleet import Fleet

T = TypeVar("T")
START_S = 10.0  # how long a pipeline's start waits for the store
_FLUSH_S = 2.0
_LAST_EVENTS_S = 1.0  # how long event handlers and commands may take at the end


class HybridContextualMemoryProcessor(FrameProcessor):
    """Gives a voice agent a long-term memory.

    Place it between the user aggregator and the LLM. It finds the two aggregators by itself;
    pass them where several branches of a parallel pipeline have their own.

    Event handlers:

    - on_memory_recalled(processor, recollection, packed): what was recalled for a turn, and which
      of it was put before the LLM.
    - on_exchange_stored(processor, user_turn, assistant_turn): both halves are durable. The user's
      is None when the agent spoke first.
    - on_record_changed(processor, off): the conversation went off the record, or back on it.
    - on_command(processor, command, outcome): a voice command was executed, or refused.
    - on_memory_created, on_memory_updated, on_memory_retired(processor, event): idle work made,
      changed or superseded a memory. The event has its id, kind, scope and job, and no text.
    - on_memory_trouble(processor, error): memory cannot be opened or saved, or was damaged. The
      error's text names a remedy; the agent goes on, and what is said is kept meanwhile.
    - on_memory_back(processor): that is over, and what waited is saved.

    Example::

        memory = HybridContextualMemoryProcessor(path="~/.slowcat", user_id="anna")
        pipeline = Pipeline([
            transport.input(), stt, user_aggregator, memory, llm, tts,
            transport.output(), assistant_aggregator,
        ])
    """

    _EVENTS = (
        "on_memory_created", "on_memory_updated", "on_memory_retired", "on_memory_trouble",
        "on_memory_back", "on_record_changed",
    )  # fmt: skip

    def __init__(
        self,
        *,
        user_id: str | None = None,
        config: Config | str | Path | None = None,
        engine: MemoryEngine | None = None,
        fleet: "Fleet | None" = None,
        aggregators: LLMContextAggregatorPair | None = None,
        speaker_names: Mapping[str, str] | None = None,
        speakers: Mapping[str, str] | None = None,
        llm_is_local: bool | None = None,
        add_instruction: bool = True,
        rtvi: Content = "",
        spans: Content = "",
        **overrides: Unpack[Overrides],
    ) -> None:
        """Set the store and the user. Nothing is opened before the pipeline starts.

        Args:
            user_id: The namespace: a person, or people who share one memory; letters (of any
                case), digits, "_" and "-". It names the user until they introduce themselves.
            config: A configuration, or the path of a config.toml.
            engine: A shared engine; it stays open when the pipeline ends.
            fleet: The fleet that has this user's memory, instead of a store on this machine. The
                pipeline starts at once, and the memory joins when it is ready.
            aggregators: The context aggregators, if it cannot find them by itself.
            speakers: Scopes by STT speaker id, with ``[people] scopes = "each"``; any other
                speaker is a guest.
            llm_is_local: Whether the LLM runs on this machine, for local-only memories; None to
                use the base URLs of the clients of all LLM services in the pipeline.
            add_instruction: Add the one line that explains the block to the system instruction.
            rtvi: What Pipecat's clients hear of stored, recalled and changed memories, as RTVI
                server messages: "" nothing, "ids" ids and times, "texts" the texts as well, of
                those that may leave this machine.
            spans: What OpenTelemetry spans of memory operations have, likewise; "texts" includes
                the user's words and what was recalled for them, without what is local-only.
            **overrides: ``path``, ``embedding_model``, ``hot_cache_size``, ``memory_token_budget``,
                ``max_context_tokens``, ``context_llm_endpoint`` and ``use_contextual`` override the
                configuration, see ``Overrides``; others are for ``FrameProcessor``.

        Raises:
            ConfigError: The configuration is wrong, a name cannot be a namespace, or ``engine`` or
                ``fleet`` is given with values that it does not use.
            TypeError: There is no such keyword.
        """
        own = inspect.signature(HybridContextualMemoryProcessor).parameters
        super().__init__(**keywords.frame_processor_arguments(overrides, own))
        self._config = keywords.conversation_config(engine, fleet, config, overrides)
        self._config_file = keywords.config_source(config, engine or fleet)
        self._scope = scope_of_user(user_id or self._config.memory.user_id)
        self._memory, self._fleet, self._opening = engine, fleet, asyncio.Lock()
        self._own: BackgroundEngine | None = None  # opened here, and no shared engine
        self._aggregators = aggregators
        self._speaker = ""  # the current speaker, as set by the application
        self._llm_is_local = llm_is_local
        self._add_instruction = add_instruction
        self._instruction = instruction(self._config.memory.language)
        self._guard = FrameGuard(self, self._call_event_handler)
        self._deps = ConversationDeps(
            config=self._config,
            audience=Audience(self._config.people, self._scope, speakers),
            speaker_names={**(speakers or {}), **(speaker_names or {})},
            off_record=OffRecord(self._config.sessions, self._on_record_changed),
            llm_is_local=bool(llm_is_local),
            messages=ContextMessages(lambda: self._deps.neighbours.messages, self._was_spoken),
            guard=self._guard,
            reports=Reports(self._guard, self.push_frame, rtvi, spans),
        )
        self._dispatcher = FrameDispatcher(self._deps)
        self._requested = self._head_is_stale = False
        self._idle_tokens = 0
        self._subscriptions = ExitStack()  # ends them
        for event in self._EVENTS:
            self._register_event_handler(event)
        for event in ("on_memory_recalled", "on_exchange_stored", "on_command"):
            self._register_event_handler(event, sync=True)  # in tasks of ours: see ``Guard``

    # ---------------------------------------------------------------- what applications call

    def tools(self, *only: str) -> list[FunctionSchema]:
        """Return the tools by which the LLM queries the memory; the LLM service registers them.

        Call it before the pipeline starts: ``LLMContext(tools=memory.tools())``.

        Args:
            *only: Some of ``slowcat_memory.tools.functions.NAMES``; none for all.

        Raises:
            ConfigError: There is no such tool.
        """
        tools = memory_tools(self.tool_call, only)
        if any(tool.name == SEARCH for tool in tools):
            self._instruction = instruction(self._config.memory.language, SEARCH)
        return tools

    def tool_call(self) -> Call | None:
        return self._live.tool_call() if self._live else None

    @property
    def engine(self) -> MemoryEngine | None:
        """The engine; None before the start, and while there is no store."""
        return self._own.engine if self._own else self._memory

    def can_generate_metrics(self) -> bool:
        """Return True: recall is timed."""
        return True

    async def session_context(self, person: str = "") -> str:
        """Return what stays the same during a session, for the LLM's system instruction.

        With ``head.mode = "auto"`` the memory completes the instruction itself, unless you called
        this before the pipeline started: then you place the text. Needed for ``head.mode = "off"``,
        and where people have scopes of their own. It takes an icebreaker from the queue, if one may
        be used.

        Args:
            person: The user, if people have scopes of their own; see ``speaker``.

        Returns:
            A few lines, "" if there is nothing to include, or the instruction has it already.
        """
        scope = self._deps.audience.greeted_scope(person)
        if (
            not scope
            or not self._config.memory.use_contextual
            or scope == self._deps.messages.head_of
        ):
            return ""
        local = self._deps.llm_is_local
        head = await self._ask(
            lambda engine: engine.session_context(scope, local=local), "no session context"
        )
        self._deps.messages.add_head(head or "", scope)
        return head or ""

    async def push_icebreaker(
        self,
        text: str,
        *,
        priority: float = 0.5,
        expires: datetime | None = None,
        quiet: bool = True,
    ) -> MemoryRecord | None:
        """Queue something for the agent to bring up once, in a later ``session_context``.

        Args:
            text: The subject; the LLM words it.
            priority: 0 to 1; the highest is used first.
            expires: When it is no longer worth saying; None for as configured.
            quiet: Hold it back during the quiet hours.

        Returns:
            The memory; None when it is not queued.

        Raises:
            ValueError: The text is empty, the priority out of range, or it has expired already.
        """
        if not self._config.memory.use_contextual:
            return None
        how: dict[str, Any] = {"priority": priority, "expires": expires, "quiet": quiet}
        return await self._ask(
            lambda engine: engine.icebreakers.push(self._scope, text, **how),
            "the icebreaker is not taken",
        )

    async def _ask(self, work: Callable[[MemoryEngine], T], failure: str) -> T | None:
        """Do what blocks on a thread; log a warning, and return None, where there is no memory."""
        try:
            return await asyncio.to_thread(work, await self._open())
        except SlowcatError as error:
            logger.warning(f"{self}: {failure}: {error}")
            return None

    def speaker(self, user_id: str) -> None:
        """Set the current speaker, for applications that know it.

        Args:
            user_id: An STT speaker id, or a scope in ``speakers``; anything else is a guest. "" to
                use the transcripts' speaker.
        """
        self._speaker = user_id
        if self._live:
            self._live.log.set_speaker(user_id)

    def off_the_record(self) -> None:
        """Stop keeping what is said, until ``back_on_the_record`` or the conversation's end."""
        self._deps.off_record.begin()

    def back_on_the_record(self) -> None:
        """Resume keeping what is said, whoever asked for the contrary."""
        self._deps.off_record.end()

    async def rewarm(self) -> bool:
        """Make a local LLM process the conversation ahead of time, by a request for one token.

        The request is cancelled the moment somebody speaks.

        Returns:
            Whether the LLM has processed it; False also while somebody speaks, or when it failed.
        """
        llm, users = self._deps.neighbours.llm, self._deps.neighbours.user_aggregator
        if llm is None or users is None or self._live is None:
            return False
        return await self._live.activity.warm(llm, users.context)

    def disconnected(self) -> None:
        """End the session because the client disconnected; resumed if it returns soon."""
        if self._live:
            self._live.log.disconnected()

    # ---------------------------------------------------------------- life

    async def setup(self, setup: FrameProcessorSetup) -> None:  # type: ignore[override]
        """Open the memory and find the aggregators; the agent does not wait for a store."""
        await super().setup(setup)
        pipeline = getattr(setup.pipeline_worker, "pipeline", None)
        if not self._config.memory.use_contextual or neighbours.is_second(self, pipeline):
            return
        near = self._deps.neighbours = find_neighbours(self, self._aggregators, pipeline)
        self._dispatcher.subscribe()
        if self._add_instruction:
            self._deps.messages.add_instruction(self._instruction, near.llm, near.messages)
        # Idle work looks for an LLM at the conversation's server first.
        thinking = replace(self._config.thinking, first_url=neighbours.base_url(near.llm))
        self._config = replace(self._config, thinking=thinking)
        try:
            live = await self._begin()
        except Exception as error:  # of an engine that was given: the agent must start without
            logger.error(f"{self}: this agent runs without a memory: {describe_error(error)}")
            await self._call_event_handler("on_memory_trouble", error)
            return
        self._dispatcher.live = live
        await self._place_head()
        self._subscriptions.callback(self.create_task(live.watch_silence(), "silence").cancel)
        self._guard.run(setup.pipeline_worker.add_observer, live.activity)

    @property
    def remembers(self) -> tuple[str, str]:
        """The store and the namespace."""
        return str(self._config.folder), self._scope

    async def _open(self) -> MemoryEngine:
        """Return the memory. One that is opened here never fails: it waits for its store.

        Waits ``START_S`` at most; not at all for a fleet's, which joins the conversation when it
        is ready.
        """
        async with self._opening:
            if self._memory is None:  # acquired on a thread: its last user may be closing it
                self._memory = self._own = await asyncio.to_thread(self._acquire)
        if self._own is not None:
            await asyncio.to_thread(self._own.start, 0.0 if self._fleet else START_S)
        return self._memory

    def _acquire(self) -> BackgroundEngine:
        if self._fleet is not None:
            return self._fleet.member(self._scope, self._config)
        return BackgroundEngine.acquire(self._config)

    async def _close(self) -> None:
        """Save, and release the memory if it was opened here."""
        if self._own is not None:
            own, self._own, self._memory = self._own, None, None
            await asyncio.to_thread(own.close)
        elif self._memory is not None:
            await asyncio.to_thread(self._memory.flush, _FLUSH_S)

    async def _begin(self) -> LiveConversation:
        deps = self._deps
        engine = deps.engine = await self._open()
        self._guard.metrics = engine.metrics
        posted = self._guard.posted
        self._subscriptions.callback(
            engine.availability.subscribe(posted(self._on_trouble), posted(self._on_back))
        )
        for scope in deps.audience.recallable:
            await asyncio.to_thread(engine.prepare, scope)
        locate, known = partial(self._guard.run, neighbours.are_local), self._llm_is_local
        deps.llm_is_local = bool(await asyncio.to_thread(locate, deps.neighbours.llms, known))
        live = LiveConversation(deps, f"{self.name}:{self.id}", self.push_frame)
        live.log.set_speaker(self._speaker)
        try:
            await self._subscribe(engine)
        except Exception as error:  # it costs the events of idle work, not the memory
            self._guard.log_failure(error)
        return live

    async def _subscribe(self, engine: MemoryEngine) -> None:
        thinking, url = engine.config.thinking, neighbours.base_url(self._deps.neighbours.llm)
        other = thinking.first_url if thinking.url == AUTO else thinking.url
        shared, posted = await asyncio.to_thread(same_server, url, other), self._guard.posted
        self._idle_tokens = _idle_tokens(engine)
        self._subscriptions.callback(
            engine.subscribe(
                on_event=posted(self._on_event),
                on_pause=posted(self._on_burst_end) if shared else None,
            )
        )
        self._deps.reports.begin(engine, self._config, self._scope, self._config_file)

    async def cleanup(self) -> None:
        """Log the agent's last words, end the session, save."""
        await super().cleanup()
        live = self._live
        self._guard.ended = True
        self._subscriptions.close()
        if live:
            await live.finish(_LAST_EVENTS_S)
        try:
            if live:
                live.log.disconnected()
            self._deps.off_record.end()  # it must not outlive the conversation
            await self._close()
        except SlowcatError as error:
            logger.error(f"{self}: closing the memory failed: {error}")
        self._dispatcher.live = None
        await self._guard.join(_LAST_EVENTS_S)

    async def _place_head(self) -> None:
        """Place the session's head, or what is left of it."""
        self._head_is_stale = False
        deps, engine = self._deps, self._memory
        scope = deps.audience.greeted_scope("")
        auto = self._config.head.mode == "auto" or deps.messages.knows_head(scope)
        if engine is None or not scope or not auto:
            return
        near = deps.neighbours
        try:
            head = await asyncio.to_thread(engine.session_context, scope, local=deps.llm_is_local)
            late = self._requested
            deps.messages.place_head(head, scope, near.llm, near.messages, late=late)
        except Exception as error:  # the agent goes on without
            self._guard.log_failure(error)

    def _on_event(self, event: MemoryEvent) -> None:
        """Report an event; take what a person forgot, changed or muted out of the head."""
        if event.scope not in self._deps.audience.recallable:
            return
        self._deps.reports.happened(event)
        by_person = event.what == "forgotten" or event.job in ("person", "command")
        if event.job and not by_person:
            self._guard.notify(f"on_memory_{event.what}", event)
        elif by_person and not self._head_is_stale:
            self._head_is_stale = True
            self._guard.spawn(self._place_head())

    def _on_burst_end(self) -> None:
        """Warm up the conversation again after idle work that used the LLM.

        A burst may evict the cache many times; the conversation is processed once, when it is over.
        """
        before, self._idle_tokens = self._idle_tokens, _idle_tokens(self._deps.engine)
        if self._idle_tokens != before:
            self._guard.spawn(self.rewarm())

    def _on_trouble(self, error: SlowcatError) -> None:
        logger.error(f"{self}: {error}")
        self._guard.notify("on_memory_trouble", error)

    def _on_back(self) -> None:
        logger.info(f"{self}: the memory is back")
        if not self._deps.messages.knows_head(self._scope):
            self._guard.spawn(self._place_head())
        self._guard.notify("on_memory_back")

    def _on_record_changed(self, off: bool) -> None:
        engine = self._memory
        if engine and not off:
            with suppress(StoreError, RuntimeError):  # nothing is open, or it is being closed
                engine.upkeep.drop_queries()
        if self._live:
            self._guard.notify("on_record_changed", off)

    @property
    def _live(self) -> LiveConversation | None:
        """The conversation, while the memory is open."""
        return self._dispatcher.live

    def _was_spoken(self, text: str) -> bool:
        return self._live is not None and self._live.was_spoken(text)

    # ---------------------------------------------------------------- frames

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Recall for a new user turn; pass everything on except the context of a voice command."""
        await super().process_frame(frame, direction)
        if isinstance(frame, InputAudioRawFrame):  # fifty a second: the shortest way
            await self.push_frame(frame, direction)
            return
        live, result = self._live, TurnResult()
        if live and isinstance(frame, LLMContextFrame):
            self._requested = True
            if direction is FrameDirection.DOWNSTREAM:
                result = await live.before_reply(frame)
        else:
            self._dispatcher.see(frame)
        if result.answered:
            return
        await self.push_frame(frame, direction)
        if isinstance(frame, USER_TURN):
            await self._dispatcher.turn_confirmed()
        if isinstance(frame, StartFrame):
            self._warm_at_start()
        if result.timing:
            await self.start_processing_metrics(start_time=result.timing[0])
            await self.stop_processing_metrics(end_time=result.timing[1])

    def _warm_at_start(self) -> None:
        """Warm up a local LLM's system prompt: 280 to 510 ms off the first reply."""
        if self._deps.llm_is_local:
            self._guard.spawn(self.rewarm())


def _idle_tokens(engine: MemoryEngine) -> int:
    """Return the prompt tokens of idle work so far; upkeep uses none."""
    return engine.metrics.counts().get("idle_tokens_in", 0)
