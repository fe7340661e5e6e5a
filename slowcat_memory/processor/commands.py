"""Voice commands inside a conversation: recognised before recall, executed, and answered.

When a whole user turn is a command, the LLM is not called. The answer is pushed downstream like LLM
output, so it is spoken and enters the context like any reply. The work runs beside the event loop,
and the turn waits for it for a bounded time; a failure is reported to the user.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from loguru import logger
from pipecat.frames.frames import (
    Frame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
)

from slowcat_memory.core.commands.grammar import Command, recognise
from slowcat_memory.core.commands.replies import say
from slowcat_memory.core.language import language_of
from slowcat_memory.engine import Memory
from slowcat_memory.records import Turn
from slowcat_memory.runtime.commands.executor import ASKED_S, CommandContext, LLMPlace, Outcome
from slowcat_memory.runtime.conversation.session_tracker import OffRecord

Push = Callable[[Frame], Awaitable[None]]
OnDone = Callable[[Command, Outcome], None]


class VoiceCommands:
    """Recognises, executes and answers the commands of one conversation. Use it on the event loop.

    ``enabled`` is False where turns are answered before their words are known.
    """

    def __init__(
        self,
        engine: Memory,
        off_record: OffRecord,
        *,
        push: Push,
        on_done: OnDone,
        shared: str = "",
        llm: Callable[[], LLMPlace] = lambda: "unknown",
    ) -> None:
        """Start with no command; ``on_done`` is called with every command and its outcome."""
        config = engine.config
        self._options, self._language = config.commands, config.memory.language
        self._names, self._clock = (config.memory.agent_name,), engine.clock
        self._off_record, self._push, self._on_done = off_record, push, on_done
        self._shared, self._llm = shared, llm
        self._engine = engine
        self._asked_until: datetime | None = None
        self._latest: tuple[str, bool, Command | None] = ("", False, None)
        self._running: set[asyncio.Task[Outcome]] = set()
        self.enabled = self._options.enabled

    def recognise(self, text: str) -> Command | None:
        """Return the command in a turn, None for conversation. Takes less than a millisecond."""
        if not self.enabled:
            return None
        asked = self._asked_until is not None and self._clock() <= self._asked_until
        if self._latest[:2] != (
            text,
            asked,
        ):  # each turn is recognised before it is logged, and then
            self._latest = (text, asked, self._recognise(text, asked))
        return self._latest[2]

    def _recognise(self, text: str, asked: bool) -> Command | None:
        try:
            return recognise(text, self._language, names=self._names, asked=asked)
        except Exception as error:  # the words must be logged anyway
            logger.error(f"a voice command could not be recognised: {type(error).__name__}")
            return None

    async def answer(self, command: Command, turn: Turn | None) -> bool:
        """Execute a command and speak the answer.

        Args:
            turn: The logged turn; None if it was not logged.

        Returns:
            False if the LLM must answer the rest of the turn.
        """
        outcome = await self._execute(command, turn)
        self._asked_until = None
        if command.kind == "forget_about" and outcome.entry:
            self._asked_until = self._clock() + timedelta(seconds=ASKED_S)
        if outcome.rest:
            return False
        await self._push(LLMFullResponseStartFrame())
        await self._push(LLMTextFrame(outcome.said))
        await self._push(LLMFullResponseEndFrame())
        return True

    async def _execute(self, command: Command, turn: Turn | None) -> Outcome:
        if command.kind in ("off_record", "on_record"):
            return self._switch_record(command)
        if turn is None:
            return self._apologise(command, "failed")
        context = CommandContext(
            scope=turn.scope,
            speaker=turn.speaker,
            session=turn.session,
            turn=turn.id,
            shared=self._shared,
            llm=self._llm(),
        )
        # If interrupted or late, it still runs to its end: a command is never half done.
        task = asyncio.create_task(self._run(command, context))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.wait_for(asyncio.shield(task), self._options.wait_s)
        except TimeoutError:
            return self._apologise(command, "late")

    async def _run(self, command: Command, context: CommandContext) -> Outcome:
        try:
            outcome = await asyncio.to_thread(self._engine.carry_out, command, context)
        except Exception as error:  # nothing a user says may end the conversation
            logger.error(f"a voice command failed: {type(error).__name__}")
            outcome = self._apologise(command, "failed")
        self._on_done(command, outcome)
        return outcome

    def _switch_record(self, command: Command) -> Outcome:
        """Switch off or on the record at once, so that no later word is kept."""
        off = command.kind == "off_record"
        self._off_record.set(off)
        said = say(language_of(self._language), "off" if off else "on")
        outcome = Outcome(kind=command.kind, said=said, rest=command.rest)
        self._on_done(command, outcome)
        return outcome

    def _apologise(self, command: Command, name: str) -> Outcome:
        said = say(language_of(self._language), name)
        return Outcome(kind=command.kind, said=said, done=False)

    async def finish(self, timeout_s: float) -> None:
        if self._running:
            await asyncio.wait(self._running, timeout=timeout_s)
