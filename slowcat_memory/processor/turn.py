"""The turn itself: logged, recalled for, and given its block, before the LLM is asked.

Theory of operation. Every turn of a person, spoken or typed, passes here as an ``LLMContextFrame``
going downstream, whose last user message is an object not seen before. (Greetings, re-runs and
empty-turn recovery bring no new one; the follow-up of a tool goes upstream, past us.) At that
moment, in this order:

1. the words are logged (no await: an interruption may cancel us at the first one);
2. memories are recalled, the only await, bounded by the deadline;
3. the block is written in front of the words, in the shared context (no await until the push).

So a turn that is interrupted during recall is kept, and nothing is half done. What raises is
reported once and costs the turn its memories, never its reply.

A turn that may yet be withdrawn (*speculated*) is recalled for and not logged; when it is confirmed,
its words are in the real context, and its block goes there.
"""

import time

from pipecat.frames.frames import LLMContextFrame

from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.processor.deps import Setting
from slowcat_memory.processor.keeping import Keeping
from slowcat_memory.processor.recalling import Recalling
from slowcat_memory.processor.reply import Replies
from slowcat_memory.records import Channel, Turn
from slowcat_memory.runtime import injection
from slowcat_memory.runtime.conversation.conversation import Conversation
from slowcat_memory.runtime.recall.query import Recollection


class Turns:
    """Takes one conversation's turns. To be used on the event loop."""

    def __init__(
        self,
        setting: Setting,
        dialogue: Conversation,
        keeping: Keeping,
        recalling: Recalling,
        replies: Replies,
    ) -> None:
        """Begin with no turn.

        Args:
            setting: What the conversation takes place in.
            dialogue: Who speaks.
            keeping: Logs.
            recalling: Recalls.
            replies: Told that the LLM is asked.
        """
        self._setting, self._messages = setting, setting.messages
        self._dialogue, self._keeping = dialogue, keeping
        self._recalling, self._replies = recalling, replies
        self._speculating: dict | None = None  # the message of a turn that may yet be withdrawn
        self._speculated: tuple[Recollection, Packed] | None = None  # what was put before it

    @property
    def speculates(self) -> bool:
        """Whether the turn that is being answered may yet be withdrawn."""
        return self._speculating is not None

    async def before_reply(self, frame: LLMContextFrame) -> tuple[float, float] | None:
        """Log and recall for a context that carries a new user message; never raises.

        Args:
            frame: A context on its way to the LLM.

        Returns:
            When the work began and ended, for the metrics; None when there was nothing to do.
        """
        started = time.time()
        self._replies.asked()
        try:
            return (started, time.time()) if await self._recall_into(frame) else None
        except Exception as error:  # cancellation passes; nothing else may cost the reply
            self._setting.harmless.count("turns_without_memory")
            await self._setting.harmless.report("memory skipped this turn", error)
            return None

    async def _recall_into(self, frame: LLMContextFrame) -> bool:
        context, speculation = frame.context, getattr(frame, "speculation", False)
        message = self._messages.new(context.messages, predicted=speculation)
        if message is None:
            return False
        text, turn = injection.message_text(message), None
        self._speculating, self._speculated = message if speculation else None, None
        if not speculation:
            turn = self._log(message, text)
        if self._keeping.realtime or not clean(text)[0]:
            return False
        scopes = self._who(text, speculation)
        found, packed = await self._recalling.recall(text, context, turn, scopes)
        # No await from here to the push: an interruption finds all of it done, or none.
        if not speculation:
            self._place(message, found, packed, turn)
            return True
        if packed.text:
            injection.prefix(message, packed.text)
        if self._speculating is message:  # not withdrawn meanwhile
            self._speculated = (found, packed)
        return True

    def _log(self, message: dict, text: str) -> Turn | None:
        self._messages.handle(message)
        typed = self._messages.is_typed(message)
        turn = self._keeping.keep(message, text, "text" if typed else None)
        self._keeping.spoken = self._keeping.spoken and typed
        return turn

    def _who(self, text: str, speculation: bool) -> tuple[str, ...]:
        """Tell whose memories may be read: to those who ask, whom a withdrawn turn may not name."""
        channel: Channel | None = "voice" if self._keeping.spoken else None
        dialogue = self._dialogue
        asking = dialogue.who_says(text, channel) if speculation else dialogue.scopes
        return self._setting.audience.reads(asking)

    def _place(self, message: dict, found: Recollection, packed: Packed, turn: Turn | None) -> None:
        """Write the block in front of a message, and say so."""
        self._recalling.place(message, found, packed)
        harmless = self._setting.harmless
        if turn:
            harmless.guard(self._setting.engine.note_recall, turn, found, packed)
        harmless.tell("on_memory_recalled", found, packed)

    def confirm(self) -> None:
        """Note that a speculated turn holds: its words enter the real context without a frame.

        The same block goes in front of them there, so that the context stays what the LLM saw.
        """
        if self._speculated is None or self._setting.around.users is None:
            return
        message = self._messages.new(self._setting.around.messages)
        if message is None:
            return
        found, packed = self._speculated
        self.withdraw()
        self._messages.handle(message)
        turn = self._keeping.keep(message, injection.message_text(message), "voice")
        self._place(message, found, packed, turn)

    def withdraw(self) -> None:
        """Note that a speculated turn goes on: what was recalled for it is of no use."""
        self._speculating = self._speculated = None
