"""One conversation, put together: everything that exists once the memory is open.

The parts know each other by what they are given here; the processor and what it observes call them.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import datetime

from loguru import logger
from pipecat.frames.frames import Frame

from slowcat_memory.core.commands.grammar import Command
from slowcat_memory.engine.inspect import latest_session
from slowcat_memory.processor.activity import Activity
from slowcat_memory.processor.commands import Commanding
from slowcat_memory.processor.deps import Setting
from slowcat_memory.processor.interim import Listening
from slowcat_memory.processor.keeping import Keeping
from slowcat_memory.processor.recalling import Recalling
from slowcat_memory.processor.reply import Replies
from slowcat_memory.processor.turn import Turns
from slowcat_memory.processor.withdrawing import withdraw
from slowcat_memory.runtime.commands.types import Outcome
from slowcat_memory.runtime.conversation.conversation import Conversation
from slowcat_memory.runtime.conversation.dialogue import Dialogue
from slowcat_memory.runtime.conversation.session_tracker import SessionTracker

_LAST_WORDS_S = 0.2  # how long a closing pipeline is given to say what the agent spoke last


class Conversing:
    """The parts of one conversation. To be used on the event loop.

    Attributes:
        dialogue: What is said, and by whom.
        replies: The agent's half.
        keeping: The person's half.
        listening: What is heard before a turn comes; None where nothing is recalled ahead.
        commanding: Orders to the memory.
        turns: Each turn, before the LLM is asked.
        activity: What goes on, for the idle gate.
    """

    def __init__(
        self, setting: Setting, name: str, push: Callable[[Frame], Awaitable[None]]
    ) -> None:
        """Begin a conversation. May read the store: where each session was left.

        Args:
            setting: What it takes place in.
            name: Its name at the idle gate, which no other conversation has.
            push: Sends a frame downstream.
        """
        self._setting = setting
        self.activity = Activity(setting.engine.set_activity, name)
        self.commanding = Commanding(
            setting.engine,
            setting.messages,
            keep=lambda message, text: self.keeping.keep(message, text),
            push=push,
            told=self._ordered,
            record=setting.record,
            shared=setting.config.people.household,
            llm=lambda: "local" if setting.locality.local else "remote",
        )
        self.dialogue = _begin(setting)
        self.replies = Replies(self.dialogue, setting.harmless)
        self.keeping = Keeping(setting, self.dialogue, self.replies, self.commanding.recognise)
        self.listening = _listen(setting, self.dialogue)
        recalling = Recalling(setting, self.dialogue, self.listening)
        self.turns = Turns(setting, self.dialogue, self.keeping, recalling, self.replies)

    def touch(self) -> None:
        """Note that somebody, or the agent, is speaking."""
        self.dialogue.touch(self._setting.engine.clock())

    def answers_first(self) -> None:
        """Note that the LLM is a realtime service: it answers a turn before anybody knows it."""
        if not self.keeping.realtime:
            name = self._setting.harmless
            logger.info(f"{name}: the LLM is a realtime service: turns are kept, not prefixed")
        self.keeping.realtime = True
        self.commanding.listens = False

    def withdrawn(self) -> None:
        """Note that a turn that was taken for ended goes on."""
        self.turns.withdraw()
        self.commanding.withdrawn()

    async def watch_silence(self) -> None:
        """End sessions that fall silent, for as long as this runs."""
        setting = self._setting
        step = max(0.05, min(5.0, setting.config.sessions.silence_s / 10))
        while True:
            await asyncio.sleep(step)
            setting.harmless.guard(self.dialogue.tick)
            setting.harmless.guard(setting.locality.remind, setting.engine.clock())

    async def finish(self, timeout_s: float) -> None:
        """Take the agent's last words, and wait for orders that are being carried out.

        Args:
            timeout_s: Seconds that orders are given.
        """
        if not await self.replies.last(_LAST_WORDS_S):
            logger.debug(f"{self._setting.harmless}: the agent's last words did not come")
        await self.commanding.finish(timeout_s)

    def _ordered(self, order: Command, outcome: Outcome) -> None:
        """Take what was forgotten out of the context, and tell the application."""
        setting = self._setting
        if outcome.turns or outcome.memories:
            setting.harmless.guard(self.dialogue.forget, outcome.turns)
            setting.harmless.guard(
                withdraw,
                setting.around.messages,
                outcome.turns,
                outcome.memories,
                setting.messages.turn_of,
                setting.visible,
            )
        setting.harmless.tell("on_command", order, outcome)


def _begin(setting: Setting) -> Conversation:
    scopes = (*setting.audience.people, setting.audience.guest)
    dialogues = {scope: _dialogue(scope, setting) for scope in scopes if scope}
    return Conversation(setting.audience, dialogues, setting.record, setting.engine.clock)


def _dialogue(scope: str, setting: Setting) -> Dialogue:
    engine, config = setting.engine, setting.config
    with engine.snapshot() as snapshot:
        latest = latest_session(snapshot, scope)
    return Dialogue(
        SessionTracker(scope, _session_id, config.sessions, latest),
        engine.append,
        engine.clock,
        user_name=config.memory.user_name,
        agent_name=config.memory.agent_name,
        speaker_names=setting.speaker_names,
    )


def _listen(setting: Setting, dialogue: Conversation) -> Listening | None:
    users = setting.around.users
    if users is None or not setting.config.prefetch.enabled:
        return None
    return Listening(
        setting.engine,
        setting.audience,
        users,
        setting.visible,
        dialogue,
        local=setting.locality.local,
    )


def _session_id(now: datetime) -> str:
    return f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"
