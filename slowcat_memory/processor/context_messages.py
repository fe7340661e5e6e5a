"""Which messages of the context are new turns, and which turns they became.

A turn is known by the identity of its message, never by its text: people repeat themselves, and a
repeated "yes" is a new turn. What an application brings together with its answers is history, and
an equal copy of a message that it replaced is not new.
"""

from collections.abc import Callable, Sequence
from typing import Any

from slowcat_memory.records import Turn
from slowcat_memory.runtime import injection

Message = dict[str, Any]


class Messages:
    """Remembers messages by their ids, and holds them, so that an id stays theirs."""

    def __init__(self, own: Callable[[], Sequence[Any]], was_spoken: Callable[[str], bool]) -> None:
        """Start with nothing known.

        Args:
            own: The messages of the aggregators' context, which a frame's may be a copy of.
            was_spoken: Tells whether words were heard since the last turn.
        """
        self._own, self._was_spoken = own, was_spoken
        self._handled: dict[int, Message] = {}  # no longer new: recalled for, or history
        self._turns: dict[int, tuple[Message, Turn | None]] = {}
        self._newest: Message | None = None  # the latest of those
        self._typed: dict[int, Message] = {}  # appended by themselves, and not yet logged

    def new(self, messages: Sequence[Any], *, predicted: bool = False) -> Message | None:
        """Find the last message of a person if nothing was done for it yet.

        Args:
            messages: The context's messages.
            predicted: Whether it is of a turn that is being spoken, and so no copy.

        Returns:
            The message itself, or None.
        """
        present = {id(message) for message in (*messages, *self._own())}
        self._handled = {key: held for key, held in self._handled.items() if key in present}
        self._turns = {key: held for key, held in self._turns.items() if key in present}
        message = injection.last_user_message(messages)
        if message is None or id(message) in self._handled or injection.block_of(message):
            return None
        return None if not predicted and self._is_copy(message, present) else message

    def _is_copy(self, message: Message, present: set[int]) -> bool:
        """Tell whether the application replaced the messages by equal copies."""
        newest = self._newest
        text = injection.message_text(message)
        if (
            self.is_typed(message)
            or newest is None
            or id(newest) in present
            or self._was_spoken(text)
        ):
            return False
        same = injection.without_block(injection.message_text(newest)) == text
        if same:
            self._handled[id(message)] = self._newest = message
        return same

    def typed(self, messages: Sequence[Any]) -> None:
        """Take messages that are appended for new ones, whatever they say.

        Args:
            messages: What an application appends.
        """
        waiting = messages[injection.answered(messages) :]
        people = (m for m in waiting if isinstance(m, dict) and m.get("role") == "user")
        self._typed |= {id(m): m for m in people if not injection.block_of(m)}

    def take_typed(self) -> list[Message]:
        """Hand over what was appended and is not logged yet.

        Returns:
            Messages of people, in order.
        """
        waiting, self._typed = self._typed, {}
        return [message for message in waiting.values() if not self.is_logged(message)]

    def is_typed(self, message: Message) -> bool:
        """Tell whether a message was appended by itself and is not logged yet.

        Args:
            message: The message.
        """
        return id(message) in self._typed

    def handle(self, message: Message) -> None:
        """Note that all is done for a message.

        Args:
            message: The message.
        """
        self._handled[id(message)] = message

    def is_handled(self, message: Message) -> bool:
        """Tell whether all is done for a message.

        Args:
            message: The message.
        """
        return id(message) in self._handled

    def became(self, message: Message, turn: Turn | None) -> None:
        """Note the turn that a message was logged as.

        Args:
            message: The message.
            turn: The turn, None when there was nothing to log.
        """
        self._turns[id(message)] = (message, turn)
        self._newest = message

    def is_logged(self, message: Message) -> bool:
        """Tell whether a message was logged.

        Args:
            message: The message.
        """
        return id(message) in self._turns

    def turn_of(self, message: Message) -> Turn | None:
        """Return the turn that a message was logged as, None when there is none.

        Args:
            message: The message.
        """
        return self._turns.get(id(message), (message, None))[1]

    def history(self, messages: Sequence[Any]) -> None:
        """Take what comes with its answers, or was there from the start, for known.

        Args:
            messages: What an application brings.
        """
        count = injection.answered(messages)
        self.known(messages[:count])
        if count and injection.last_user_message(messages[count:]) is None:
            self._newest = injection.last_user_message(messages)  # a copy of it

    def summarised(self, messages: Sequence[Any]) -> None:
        """Take a summary that stands where the conversation began for nobody's turn.

        Args:
            messages: The context's messages; the summary is the first that looks like a person's.
        """
        first = next((m for m in messages if isinstance(m, dict) and m.get("role") == "user"), None)
        self.known(messages[: injection.answered(messages)])
        if first is not None and not self.is_logged(first):
            self.handle(first)
            if injection.last_user_message(messages) is first:
                self._newest = first  # what comes next may be a copy of it

    def known(self, messages: Sequence[Any]) -> None:
        """Take messages for handled.

        Args:
            messages: Messages; what is no dict is passed over.
        """
        self._handled |= {id(m): m for m in messages if isinstance(m, dict)}
