"""Orders to the memory inside a conversation: noticed before recall, carried out, and answered.

When the whole of a person's turn is an order, the language model is not asked. The sentence that
answers it goes downstream as if the model had written it, so it is spoken and enters the context
like any reply. The work runs beside the event loop, and the turn waits for it a bounded time; what
fails is said to have failed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from loguru import logger
from pipecat.frames.frames import (
    Frame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
)

from slowcat_memory.core.commands.grammar import Command, recognise
from slowcat_memory.core.commands.replies import say
from slowcat_memory.core.language import phrases
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.processor.context_messages import Messages
from slowcat_memory.records import Turn
from slowcat_memory.runtime.commands.types import ASKED_S, Circumstances, Outcome, Whereabouts
from slowcat_memory.runtime.injection import message_text

Keep = Callable[[dict, str], Turn | None]
Push = Callable[[Frame], Awaitable[None]]
Told = Callable[[Command, Outcome], None]


class OnRecord(Protocol):
    """The conversation's state of being on or off the record."""

    def go_off(self) -> Any:
        """Keep nothing from now on."""
        ...

    def go_on(self) -> Any:
        """Keep what is said again."""
        ...


class Commanding:
    """Takes the turns of a conversation that are orders. To be used on the event loop."""

    def __init__(
        self,
        engine: MemoryEngine,
        messages: Messages,
        *,
        keep: Keep,
        push: Push,
        told: Told,
        record: OnRecord | None = None,
        shared: str = "",
        llm: Callable[[], Whereabouts] = lambda: "unknown",
    ) -> None:
        """Begin with nothing ordered.

        Args:
            engine: The memory.
            messages: Which messages are new turns.
            keep: Logs a message, once, and returns its turn.
            push: Sends a frame downstream.
            told: Told of every order and what came of it.
            record: Goes off the record and back; None where nothing can.
            shared: The namespace that people share, "" for none.
            llm: Tells where the language model runs.
        """
        config = engine.config
        self._options, self._language = config.commands, config.index.language
        self._names = (config.memory.agent_name,)
        self._clock, self._messages = engine.clock, messages
        self._keep, self._push, self._told = keep, push, told
        self._record, self._shared, self._llm = record, shared, llm
        self._engine = engine
        self._asked_until: datetime | None = None
        self._read: tuple[str, bool, Command | None] = ("", False, None)
        self._working: set[asyncio.Task[Outcome]] = set()
        self._eager = False  # a turn that may yet be withdrawn is an order
        self.listens = True  # False where turns are answered before they are known

    def recognise(self, text: str) -> Command | None:
        """Tell whether a turn is an order. Takes a fraction of a millisecond.

        Args:
            text: The turn's words.

        Returns:
            The order, None for conversation.
        """
        if not (self._options.enabled and self.listens):
            return None
        asked = self._asked_until is not None and self._clock() <= self._asked_until
        if self._read[:2] != (text, asked):  # a turn is asked about twice
            self._read = (text, asked, self._recognised(text, asked))
        return self._read[2]

    def _recognised(self, text: str, asked: bool) -> Command | None:
        try:
            return recognise(text, self._language, names=self._names, asked=asked)
        except Exception as error:  # the words must be logged all the same
            logger.error(f"an order to the memory was not read: {type(error).__name__}")
            return None

    async def take(self, frame: LLMContextFrame) -> bool:
        """Carry out a turn that is an order; never raises.

        Args:
            frame: A context on its way to the language model.

        Returns:
            Whether the frame has nothing left to ask the model.
        """
        self._eager = False
        try:
            message = self._messages.new(frame.context.messages)
            if message is None:
                return False
            if getattr(frame, "speculation", False):
                self._eager = self.recognise(message_text(message)) is not None
                return self._eager
            return await self._obey(message)
        except Exception as error:  # nothing that a person says may end the conversation
            logger.error(f"an order to the memory was lost: {type(error).__name__}")
            return False

    def withdrawn(self) -> None:
        """Note that the turn that was taken last goes on."""
        self._eager = False

    async def confirmed(self, messages: Sequence[Any]) -> None:
        """Carry out an order that was taken before its turn had ended: no other frame brings it.

        Args:
            messages: The messages of the aggregators' context.
        """
        if self._eager:
            self._eager = False
            message = self._messages.new(messages)
            if message is not None:
                await self._obey(message)

    async def _obey(self, message: dict) -> bool:
        text = message_text(message)
        command, turn = self.recognise(text), None
        if command is None:
            return False
        if not command.rest:
            self._messages.handle(message)
            turn = self._keep(message, text)
        return await self._answer(command, turn)

    async def _answer(self, command: Command, turn: Turn | None) -> bool:
        """Carry an order out and speak the answer; False leaves a rest for the language model."""
        outcome = await self._outcome(command, turn)
        self._asked_until = None
        if command.kind == "forget_about" and outcome.entry:
            self._asked_until = self._clock() + timedelta(seconds=ASKED_S)
        if outcome.rest:
            return False
        await self._push(LLMFullResponseStartFrame())
        await self._push(LLMTextFrame(outcome.said))
        await self._push(LLMFullResponseEndFrame())
        return True

    async def _outcome(self, command: Command, turn: Turn | None) -> Outcome:
        if command.kind in ("off_record", "on_record"):
            return self._move(command)
        if turn is None:
            return self._sorry(command, "failed")
        where = Circumstances(
            scope=turn.scope,
            speaker=turn.speaker,
            session=turn.session,
            turn=turn.id,
            shared=self._shared,
            llm=self._llm(),
        )
        # Interrupted or late, it is carried out all the same: half an order is none.
        task = asyncio.create_task(self._carry_out(command, where))
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        try:
            return await asyncio.wait_for(asyncio.shield(task), self._options.wait_s)
        except TimeoutError:
            return self._sorry(command, "late")

    async def _carry_out(self, command: Command, where: Circumstances) -> Outcome:
        try:
            outcome = await asyncio.to_thread(self._engine.carry_out, command, where)
        except Exception as error:  # nothing that a person says may end the conversation
            logger.error(f"an order to the memory failed: {type(error).__name__}")
            outcome = self._sorry(command, "failed")
        self._told(command, outcome)
        return outcome

    def _move(self, command: Command) -> Outcome:
        """Go off the record, or back: at once, so that not a word more is kept."""
        if self._record is None:
            outcome = self._sorry(command, "failed")
        else:
            (self._record.go_off if command.kind == "off_record" else self._record.go_on)()
            name = "off" if command.kind == "off_record" else "on"
            said = say(phrases(self._language), name)
            outcome = Outcome(kind=command.kind, said=said, rest=command.rest)
        self._told(command, outcome)
        return outcome

    def _sorry(self, command: Command, name: str) -> Outcome:
        said = say(phrases(self._language), name)
        return Outcome(kind=command.kind, said=said, done=False)

    async def finish(self, timeout_s: float) -> None:
        """Wait for what is still being carried out.

        Args:
            timeout_s: Seconds, at most.
        """
        if self._working:
            await asyncio.wait(self._working, timeout=timeout_s)
