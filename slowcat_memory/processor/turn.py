"""One live conversation: each user turn is logged, recalled for, and gets its block before the LLM.

Every user turn, spoken or typed, comes here as an ``LLMContextFrame`` going downstream whose last
user message is an object not seen before. (Greetings, re-runs and empty-turn recovery bring no new
one; the follow-up of a tool goes upstream, past the memory.) Then, in this order:

1. a voice command is executed and answered, and the LLM is not called; else
2. the words are logged (no await: an interruption may cancel this task at the first one);
3. memories are recalled, the only await, bounded by the deadline;
4. the block is written in front of the words, in the shared context (no await until the push);
5. the ledger is written and the application notified after the frame was pushed.

So a turn that is interrupted during recall is kept, and nothing is half done. An exception is
reported once and costs the turn its memories, never its reply.

A turn that may yet be withdrawn (*speculated*) is recalled for and not logged; once confirmed, its
words are in the real context, and its block is placed there.
"""

import asyncio
import copy
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace
from pipecat.frames import frames
from pipecat.frames.frames import Frame, LLMContextFrame
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregator

from slowcat_memory.core.commands.grammar import Command
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.core.text.normalize import clean, fingerprint
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.search import QueryArguments, build_query, latest_session
from slowcat_memory.errors import StoreError, describe_error
from slowcat_memory.processor.activity import Activity
from slowcat_memory.processor.commands import VoiceCommands
from slowcat_memory.processor.context_messages import Scopes
from slowcat_memory.processor.keywords import ConversationDeps
from slowcat_memory.records import Channel, Turn
from slowcat_memory.runtime import injection
from slowcat_memory.runtime.commands.executor import Outcome
from slowcat_memory.runtime.conversation import session_tracker
from slowcat_memory.runtime.conversation.conversation import Conversation, Names
from slowcat_memory.runtime.conversation.session_tracker import ClockReading, SessionTracker
from slowcat_memory.runtime.namespaces.registry import ANONYMOUS, default_name, learned_name
from slowcat_memory.runtime.recall.query import Query, Recollection
from slowcat_memory.store import Ack
from slowcat_memory.tools.functions import Call

EVERY_S = 60.0  # between two warnings of slow turns


class TurnResult(Struct, frozen=True):
    """Whether a context was an answered command (do not call the LLM), and the recall's times."""

    answered: bool = False
    timing: tuple[float, float] | None = None


# By engine: the sessions that conversations of this process have open.
_open_sessions = WeakKeyDictionary[MemoryEngine, set[str]]()
_LAST_REPLY_S = 0.2  # wait at the pipeline's end for the agent's last words


class LiveConversation:
    """One conversation, from when the memory is open; handles its turns. Use it on the event loop.

    Attributes:
        log: What is said, and in which sessions.
        prefetch: The recall for the turn that is being spoken; None without a user aggregator.
        spoken: The coming turn was spoken.
        realtime: The LLM answers before a turn's words are known; a turn then counts when the user
            starts to speak, else when it is logged.
        speculating: The message of a turn that may yet be withdrawn; None without one.
        replied: Cleared while a reply is pending; one of which nothing was spoken sets it, too.
    """

    def __init__(
        self, deps: ConversationDeps, name: str, push: Callable[[Frame], Awaitable[None]]
    ) -> None:
        """Start a conversation with a unique name. May read the store for sessions to resume."""
        self.deps, self._messages, self._run = deps, deps.messages, deps.guard.run
        self.activity = Activity(deps.engine.set_activity, name)
        self.activity.on_voice = self._voice
        self.commands = VoiceCommands(deps, push, self._command_done)
        self.log = _open_log(deps)
        self._heard = ""  # STT speaker id of the latest transcript
        hears = deps.neighbours.user_aggregator is not None
        self.prefetch = deps.engine.prefetch(self._query) if hears else None
        self.spoken, self.count, self.realtime = False, 0, False
        self.replied = asyncio.Event()
        self.replied.set()
        self.speculating: dict | None = None
        self._slow = 0  # turns since the last warning of slow ones
        self._quiet_until = 0.0
        # What was recalled for it, and for which scopes.
        self._speculated: tuple[Recollection, Packed, Scopes] | None = None
        self._command_held = False  # it is a command, to be executed when the turn is confirmed

    def was_spoken(self, text: str) -> bool:
        return self.spoken or self.log.was_heard(text)

    def user_starts_speaking(self) -> None:
        """Count a turn that a realtime service answers before its transcript is known."""
        self.count += self.realtime

    async def before_reply(self, frame: LLMContextFrame) -> TurnResult:
        """Log a context's new user message; execute it if it is a command, else recall for it.

        Never raises, except for a cancellation.
        """
        started = time.time()
        if self.prefetch:
            self.prefetch.warmup.stop()
        self._command_held = False
        context, speculation = frame.context, getattr(frame, "speculation", False)
        try:
            message = self._messages.find_new(context.messages, predicted=speculation)
            if message is None:
                return TurnResult()
            text = injection.words_of(message)
            scopes = self._speakers(message, text, speculation)
            command = self.commands.recognise(text, scopes)
            if command is None or not self.commands.refuses(scopes):
                self._strip_others(context, self.deps.audience.readable(scopes))
            if command is not None and speculation:
                self._command_held = True
                return TurnResult(answered=True)
            if command is not None and await self._obey(command, message, text, scopes):
                return TurnResult(answered=True)
            if self._messages.is_handled(message) and not self.commands.left_to_llm:
                return TurnResult()  # the reply to a command failed
            recalled = await self._recall_into(message, text, context, speculation, scopes)
            return TurnResult(timing=(started, time.time()) if recalled else None)
        except Exception as error:
            self.deps.guard.count("turns_without_memory")
            await self.deps.guard.report("memory skipped this turn", error)
            return TurnResult()

    def _speakers(self, message: dict, text: str, predicted: bool) -> Scopes:
        if self._messages.is_logged(message):  # its transcripts are taken
            return self._messages.scopes_of(message)
        return self.log.scopes_of(text, self._channel(message), predicted=predicted)

    def _channel(self, message: dict) -> Channel | None:
        if self._messages.is_typed(message):
            return "text"
        return "voice" if self.spoken else None

    async def _obey(self, command: Command, message: dict, text: str, scopes: Scopes) -> bool:
        turn = None
        if not command.rest or self.commands.refuses(scopes):
            self._messages.mark_known([message])
            turn = self._run(self.log_turn, message, text, speakers=scopes)
        try:
            return await self.commands.answer(command, turn, scopes)
        except Exception as error:
            logger.error(f"a voice command was lost: {describe_error(error)}")
            return False

    async def _recall_into(
        self, message: dict, text: str, context: LLMContext, speculation: bool, speakers: Scopes
    ) -> bool:
        turn = None
        self.speculating, self._speculated = message if speculation else None, None
        if not speculation:
            self._messages.mark_known([message])
            typed = self._messages.is_typed(message)
            turn = self._run(self.log_turn, message, text, speakers=speakers)
            self.spoken = self.spoken and typed
            config = self.deps.config
            stay = injection.trimmed(
                context.messages, config.context, config.pack.memory_token_budget
            )
            if stay is not None:
                context.set_messages(stay)
        if self.realtime or not clean(text)[0]:
            return False
        scopes = self.deps.audience.readable(speakers)
        recall, packed = await self._recall(text, context, turn, scopes)
        if scopes and self.commands.is_unserved(text):
            recall = replace(recall, unchanged=True, packed=None)
            packed = self.deps.pack(recall)
        packed = self.deps.messages.with_late_head(packed)
        # No await from here to the push: an interruption finds all of it done, or none.
        if not speculation:
            self._place(message, recall, packed, turn)
            return True
        if packed.text:
            injection.prefix(message, packed.text)
        if self.speculating is message:  # not withdrawn meanwhile
            self._speculated = (recall, packed, scopes)
        return True

    def log_turn(
        self, message: dict, text: str, channel: Channel | None = None, speakers: Scopes = ()
    ) -> Turn | None:
        """Log a message, once.

        Args:
            channel: Spoken or typed; None to derive it from the message and what was heard.
            speakers: The scopes of its speakers; () if they are not known yet.

        Returns:
            Its turn; None if it is empty, or off the record.
        """
        if self._messages.is_logged(message):
            return self._messages.turn_of(message)
        channel = channel or self._channel(message)
        scopes = speakers or self.log.scopes_of(text, channel)
        command = self.commands.recognise(text, scopes)
        if command is None:
            self.commands.drop_question(scopes)
        unkept = command and (command.kind == "off_record" or self.commands.refuses(scopes))
        turns = self.log.user_said(text, channel, aside=command is not None, keep=not unkept)
        turn = turns[-1] if turns else None
        self.count += not self.realtime
        self._messages.set_turn(message, turn, self.log.scopes)
        self.deps.messages.visible.add_logged(message, (chunk_id(turn.id) for turn in turns))
        if channel != "text":
            self.spoken = False
        self.replied.clear()
        return turn

    def log_reply(self, text: str, *, interrupted: bool = False) -> None:
        """Log what the agent spoke."""
        words = injection.without_blocks(text)  # what it reads aloud of a block is not its own
        logged = self.log.agent_said(words, interrupted=interrupted)
        self.replied.set()
        if logged is not None:
            self.deps.guard.spawn(self._announce(*logged))

    async def _announce(self, user_turn: Turn | None, ack: Ack) -> None:
        call = self.deps.guard.call
        try:
            await asyncio.wrap_future(ack.future)
        except StoreError as error:
            if self.deps.engine.availability.trouble is None:  # else it is reported, once for all
                await call("on_memory_trouble", error)
            return
        await call("on_exchange_stored", user_turn, ack.event)

    def _place(self, message: dict, found: Recollection, packed: Packed, turn: Turn | None) -> None:
        """Write the block, if any, in front of a message of the aggregators' context."""
        self.log.shown(hit.memory for hit in packed.hits)
        if packed.text:
            self.deps.messages.place_block(message, packed)
        asyncio.get_running_loop().call_soon(self._run, self._report, turn, found, packed)

    def _report(self, turn: Turn | None, recall: Recollection, packed: Packed) -> None:
        """Write the ledger row and notify the application, after the frame was pushed."""
        if turn:
            self._run(self.deps.engine.note_recall, turn, recall, packed)
        self.deps.reports.recalled(turn, recall, packed)
        self.deps.guard.notify("on_memory_recalled", recall, packed)

    async def confirm(self) -> None:
        """Log a confirmed speculated turn, or execute its command: no other frame follows.

        Its words entered the real context, and its block is placed there too, so that the context
        stays what the LLM saw. Never raises, except for a cancellation.
        """
        speculated, held = self._speculated, self._command_held
        if not (speculated or held):
            return
        if (message := self._messages.find_new(self.deps.neighbours.messages)) is None:
            return
        self.withdraw()
        text = injection.words_of(message)
        try:
            if held:
                scopes = self._speakers(message, text, predicted=False)
                if command := self.commands.recognise(text, scopes):
                    await self._obey(command, message, text, scopes)
            elif speculated:
                recall, packed, scopes = speculated
                self._messages.mark_known([message])
                turn = self._run(self.log_turn, message, text, "voice")
                if scopes == self.deps.audience.readable(self.log.scopes):
                    self._place(message, recall, packed, turn)
        except Exception as error:
            self.deps.guard.log_failure(error)

    def withdraw(self) -> None:
        """Drop what was recalled for a withdrawn turn: the user continues speaking."""
        self.speculating = self._speculated = None
        self._command_held = False

    # ---------------------------------------------------------------- recall

    async def _recall(
        self, text: str, context: LLMContext, turn: Turn | None, scopes: Scopes
    ) -> tuple[Recollection, Packed]:
        """Recall, within the deadline, and pack the block.

        Args:
            context: The LLM's context.
            turn: None if it was not logged.
            scopes: Readable scopes, the speaker's first; empty to recall nothing.
        """
        start, engine, visible = time.perf_counter(), self.deps.engine, self.deps.messages.visible
        visible.refresh(context.messages)
        if not scopes:
            return Recollection(), Packed("", (), 0)
        for _ in range(2):  # once more if a summary meanwhile removed what was visible
            known = self._known(scopes, visible, self.log.before(turn))
            words = clean(text)[0]
            recall = await engine.recall(words, scopes[0], prefetch=self.prefetch, **known)
            visible.refresh(context.messages)
            if known["exclude"] <= visible.memories:
                break
        packed = recall.packed or self.deps.pack(recall)
        waited = (time.perf_counter() - start) * 1e3
        engine.metrics.observe("recall", sum(recall.timings.values()))
        engine.metrics.observe("turn_wait", waited)
        limit = self.deps.config.recall.warn_ms
        self._slow += waited > limit
        if waited > limit and time.monotonic() >= self._quiet_until:
            logger.warning(
                f"{self.deps.guard}: {self._slow} turns waited longer than {limit:g} ms for their "
                f"memories, the latest {waited:.1f} ms (stage {recall.stage})"
            )
            self._slow, self._quiet_until = 0, time.monotonic() + EVERY_S
        return replace(recall, timings=recall.timings | {"wait": round(waited, 4)}), packed

    def _strip_others(self, context: LLMContext, scopes: Scopes) -> None:
        """Remove from the context what may not be read for a turn, if others were read before."""
        deps, allowed = self.deps, frozenset(scopes)
        if not deps.strips or (allowed == deps.messages.readable and not deps.messages.is_stale):
            return
        contexts = [context.messages, deps.neighbours.messages]  # a withdrawn turn has a copy
        deps.messages.strip(contexts, allowed, deps.neighbours.llm)

    # ---------------------------------------------------------------- while it goes on

    def tool_call(self) -> Call:
        """Return the state for a tool call.

        It has no scope for guests and for several speakers, and no turn while the current turn
        is not known yet.
        """
        deps, scopes = self.deps, self.log.scopes
        known = len(scopes) == 1 and scopes[0] != deps.audience.guest
        predicted = self.speculating is not None
        turn = None if self.realtime or predicted else self.log.user_turn
        return Call(
            memory=deps.engine,
            scope=scopes[0] if known else "",
            turn=self.count + predicted,
            said=turn,
            hidden=deps.messages.visible.said,
            local=deps.llm_is_local,
            keeps=not deps.off_record.off,
            shown=self.log.shown,
            private=self.log.is_private,
        )

    def _voice(self, speaks: bool) -> None:
        if self.prefetch and not self.realtime:
            warmup = self.prefetch.warmup
            self.deps.guard.run(warmup.speaks if speaks else warmup.falls_silent)

    def hear(self, aggregator: LLMUserAggregator, frame: Any) -> None:
        """Recall ahead for a transcript, before the aggregator has it. Neither blocks nor waits."""
        if not self.prefetch or self.realtime:
            return
        # A final transcript does not change; an eager one predicts that the turn ends with it.
        whole = isinstance(frame, (frames.TranscriptionFrame, frames.EagerTranscriptionFrame))
        if whole or isinstance(frame, frames.InterimTranscriptionFrame):
            self._heard = frame.user_id or ""
            text = f"{aggregator.aggregation_string()} {frame.text}"
            self.prefetch.hear(clean(text)[0], whole=whole)

    def _query(self, text: str) -> Query | None:
        """Build the query of the turn as it is now, excluding other speakers' words.

        The turn's own words will be in the context by then.
        """
        deps, own = self.deps, self.log.scope_of(self._heard)
        scopes = deps.audience.readable((own,))
        if not scopes:
            return None
        visible = copy.copy(deps.messages.visible)  # the turn itself may see another context
        visible.refresh(deps.neighbours.messages)
        known = self._known(scopes, visible, self.log.before_next(own))
        known["exclude_words"] |= {fingerprint(text)}
        return build_query(deps.engine.clock, text, scopes[0], **known)

    def _known(
        self, scopes: Scopes, visible: injection.Visible, dialogue: Sequence[DialogueTurn]
    ) -> QueryArguments:
        return {
            "also": scopes[1:],
            "local": self.deps.llm_is_local,
            "exclude": visible.memories,
            "exclude_words": visible.words,
            "dialogue": dialogue,
        }

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
            await asyncio.wait_for(self.replied.wait(), _LAST_REPLY_S)
        except TimeoutError:
            logger.debug(f"{self.deps.guard}: the agent's last words did not come")
        await self.commands.finish(timeout_s)

    def _command_done(self, command: Command, outcome: Outcome) -> None:
        deps = self.deps
        if outcome.turns or outcome.memories:
            deps.guard.run(self.log.forget, outcome.turns)
            deps.guard.run(deps.messages.remove, outcome.turns, outcome.memories)
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
