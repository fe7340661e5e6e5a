"""The person's half of an exchange: logged once for each message, spoken or typed."""

from collections.abc import Callable

from slowcat_memory.core.commands.grammar import Command
from slowcat_memory.core.memory.chunk import chunk_id
from slowcat_memory.processor.deps import Setting
from slowcat_memory.processor.reply import Replies
from slowcat_memory.records import Channel, Turn
from slowcat_memory.runtime.conversation.conversation import Conversation


class Keeping:
    """Logs what people say. To be used on the event loop.

    Attributes:
        spoken: The turn that is coming was spoken.
        count: Turns of people so far.
        realtime: The LLM answers a turn before it is known; then a turn counts when somebody begins
            to speak, else when it is logged.
    """

    def __init__(
        self,
        setting: Setting,
        dialogue: Conversation,
        replies: Replies,
        recognise: Callable[[str], Command | None],
    ) -> None:
        """Begin with nothing said.

        Args:
            setting: What the conversation takes place in.
            dialogue: Logs, to each person what they said.
            replies: Told that a reply is due.
            recognise: Tells whether words are an order to the memory.
        """
        self.spoken, self.count, self.realtime = False, 0, False
        self._messages, self._visible = setting.messages, setting.visible
        self._harmless, self._recognise = setting.harmless, recognise
        self._dialogue, self._replies = dialogue, replies

    def was_spoken(self, text: str) -> bool:
        """Tell whether words were heard since the last turn.

        Args:
            text: The words.
        """
        return self.spoken or self._dialogue.was_heard(text)

    def begins(self) -> None:
        """Note that somebody begins to speak."""
        self.count += self.realtime

    def keep(self, message: dict, text: str, channel: Channel | None = None) -> Turn | None:
        """Log a message, once; never raises.

        Args:
            message: The message.
            text: Its words.
            channel: How it came; None to go by what was heard.

        Returns:
            Its turn; None when there is none, or it could not be logged.
        """
        return self._harmless.guard(self._keep, message, text, channel)

    def _keep(self, message: dict, text: str, channel: Channel | None) -> Turn | None:
        if self._messages.is_logged(message):
            return self._messages.turn_of(message)
        order = self._recognise(text)
        channel = channel or ("voice" if self.spoken else None)
        keep = order is None or order.kind != "off_record"
        turns = self._dialogue.user_said(text, channel, aside=order is not None, keep=keep)
        turn = turns[-1] if turns else None
        self.count += not self.realtime
        self._messages.became(message, turn)
        self._visible.logged(message, (chunk_id(turn.id) for turn in turns))
        if channel != "text":
            self.spoken = False
        self._replies.owed()
        return turn
