"""Voice commands inside a conversation: recognised before recall, executed, and answered.

When a whole user turn is a command, the LLM is not called. The answer is pushed downstream like LLM
output, so it is spoken and enters the context like any reply. The work runs beside the event loop,
and the turn waits for it for a bounded time; a failure is reported to the user.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from loguru import logger
from pipecat.frames import frames

from slowcat_memory.core.commands.grammar import Command, Heard, prepare
from slowcat_memory.core.commands.replies import quote, say
from slowcat_memory.core.language import language_of
from slowcat_memory.errors import describe_error
from slowcat_memory.processor.context_messages import Scopes
from slowcat_memory.processor.keywords import ConversationDeps
from slowcat_memory.records import Turn
from slowcat_memory.runtime.commands.undo_log import CommandContext, Outcome

ASKED_S = 120.0  # how long a confirmation question waits for its "yes"


class VoiceCommands:
    """Recognises, executes and answers the commands of one conversation. Use it on the event loop.

    Attributes:
        enabled: False where turns are answered before their words are known.
        left_to_llm: The LLM must answer what the last command left.
    """

    def __init__(
        self,
        deps: ConversationDeps,
        push: Callable[[frames.Frame], Awaitable[None]],
        on_done: Callable[[Command, Outcome], None],
    ) -> None:
        """Start with no command; ``on_done`` is called with every command and its outcome."""
        config = deps.engine.config
        self._options, self._language = config.commands, config.memory.language
        self._names = (config.memory.agent_name,)
        self._deps, self._push, self._on_done = deps, push, on_done
        self._guest = deps.audience.guest  # whose commands are refused; "" for none
        self._asked: tuple[str, float] | None = None  # who was asked, and until when it counts
        self._question = 0  # id of the command that asked it
        self._meant: Command | None = None  # what the next turn confirms or not
        self._heard: Heard | None = None  # the latest utterance
        self._read: tuple[str, bool] | None = None  # its text, and whether it may answer a question
        self._command: Command | None = None  # that was read in it
        self._running: set[asyncio.Task[Outcome]] = set()
        self.enabled, self.left_to_llm = self._options.enabled, False
        if self.enabled:
            prepare(self._language, self._names)

    def recognise(self, text: str, scopes: Scopes) -> Command | None:
        """Return the command in a turn, None for conversation. Takes less than a millisecond.

        What several people say in one turn is the command of none of them; only "off the record"
        counts, because nothing is kept while anybody wants that.

        Args:
            scopes: Of the turn's speakers.
        """
        if not self.enabled:
            return None
        asked = self._is_asked(scopes)
        if self._read != (text, asked):  # a turn is recognised several times
            self._read, self._command = (text, asked), None
            try:
                if self._heard is None or self._heard.text != text:
                    self._heard = Heard(text, self._language, self._names)
                self._command = self._heard.command(asked=asked)
            except Exception as error:  # the words must be logged anyway
                logger.error(f"a voice command could not be recognised: {describe_error(error)}")
        command, alone = self._command, len(scopes) == 1 or self.refuses(scopes)
        return command if alone or (command and command.kind == "off_record") else None

    def is_unserved(self, text: str) -> bool:
        """Return whether a turn that is no command asks for a change of the memory.

        The LLM that answers it could promise the change.
        """
        heard = self._heard
        if heard is None or heard.text != text or self._command is not None:
            return False
        return heard.asks_change()

    def _is_asked(self, scopes: Scopes) -> bool:
        """Return whether a question of the memory waits for the answer of this speaker."""
        scope, until = self._asked or ("", 0.0)
        return scopes == (scope,) and time.monotonic() <= until

    def refuses(self, scopes: Scopes) -> bool:
        """Return whether a guest is among the speakers of a turn."""
        return bool(self._guest) and self._guest in scopes

    async def answer(self, command: Command, turn: Turn | None, scopes: Scopes) -> bool:
        """Execute a command and speak the answer.

        Args:
            turn: The logged turn; None if it was not logged.
            scopes: Of its speakers.

        Returns:
            False if the LLM must answer the rest of the turn.
        """
        self.left_to_llm = False
        command, meant = self._confirmed(command), command.meant
        outcome = self._at_once(command, scopes)
        if outcome is None and turn is not None:
            outcome = await self._execute(command, turn)
        else:
            outcome = outcome or self._outcome(command, "failed")
            self._on_done(command, outcome)
        self.left_to_llm = bool(outcome.rest)
        self.drop_question(scopes)
        until = time.monotonic() + ASKED_S
        if turn and command.kind in ("forget_about", "forget_span") and outcome.entry:
            self._asked, self._question = (turn.scope, until), outcome.entry
        if meant and not self.refuses(scopes):
            self._asked, self._meant = (scopes[-1], until), meant
        if outcome.rest:
            return False
        if not self.refuses(scopes):
            self._deps.messages.add_answer(outcome.said, scopes)
        await self._push(frames.LLMFullResponseStartFrame())
        await self._push(frames.LLMTextFrame(outcome.said))
        await self._push(frames.LLMFullResponseEndFrame())
        return True

    def _confirmed(self, command: Command) -> Command:
        """Return the command that a "yes" confirms; any other is returned as it is."""
        meant, self._meant = self._meant, None
        if meant and command.kind == "yes":
            return meant
        return Command(kind="confirm") if meant and command.kind == "no" else command

    def drop_question(self, scopes: Scopes) -> None:
        """Forget what was to be confirmed: who was asked, or anybody, has spoken of something else.

        What another says between leaves a question open that says how much is to be forgotten.
        """
        if self._meant or self._is_asked(scopes):
            self._asked = self._meant = None

    def _at_once(self, command: Command, scopes: Scopes) -> Outcome | None:
        """Return the outcome of a command that the memory has no part in; None for any other."""
        if self.refuses(scopes):
            return self._outcome(command, "guest")
        if command.kind == "confirm":  # ask whether a near miss means a command
            if command.meant is None:
                return self._outcome(command, "unchanged")
            about = quote(command.meant.argument)
            return self._outcome(command, f"sure_{command.meant.kind}", about=about)
        if command.kind == "off_record":  # now, so that no later word is kept
            for scope in scopes:
                self._deps.off_record.begin(scope)
            return self._outcome(command, "off", done=True, rest=command.rest)
        if command.kind == "on_record":
            if self._deps.off_record.end(scopes[-1]):
                return self._outcome(command, "on", done=True, rest=command.rest)
            return self._outcome(command, "still_off")
        return None

    async def _execute(self, command: Command, turn: Turn) -> Outcome:
        context = CommandContext(
            scope=turn.scope,
            speaker=turn.speaker,
            session=turn.session,
            turn=turn.id,
            asked=self._question,
            shared=self._deps.config.people.household,
            llm="local" if self._deps.llm_is_local else "remote",
        )
        # If interrupted or late, it still runs to its end: a command is never half done.
        task = asyncio.create_task(self._run(command, context))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.wait_for(asyncio.shield(task), self._options.wait_s)
        except TimeoutError:
            return self._outcome(command, "late")

    async def _run(self, command: Command, context: CommandContext) -> Outcome:
        try:
            outcome = await asyncio.to_thread(self._deps.engine.carry_out, command, context)
        except Exception as error:  # nothing a user says may end the conversation
            logger.error(f"a voice command failed: {describe_error(error)}")
            outcome = self._outcome(command, "failed")
        self._on_done(command, outcome)
        return outcome

    def _outcome(
        self, command: Command, reply: str, *, done: bool = False, rest: str = "", about: str = ""
    ) -> Outcome:
        words = say(language_of(self._language), reply, about=about)
        return Outcome(kind=command.kind, said=words, rest=rest, done=done)

    async def finish(self, timeout_s: float) -> None:
        if self._running:
            await asyncio.wait(self._running, timeout=timeout_s)
