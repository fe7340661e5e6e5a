"""Messages of the LLM's context: finds the new turns, and removes forgotten content.

A turn is identified by its message object, never by its text: people repeat themselves, and a
repeated "yes" is a new turn. Messages that an application adds together with their answers are
history, and an equal copy of a message that it replaced is not new.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from slowcat_memory.records import Turn
from slowcat_memory.runtime import injection

Message = dict[str, Any]
Scopes = tuple[str, ...]  # of the speakers of a turn, or those that may be read for it


class ContextMessages:
    """Tracks messages by ``id()``, and keeps them alive, so that an id is not reused."""

    def __init__(
        self,
        own: Callable[[], Sequence[Any]],
        was_spoken: Callable[[str], bool],
        is_placed: Callable[[Message], bool],
    ) -> None:
        """Start empty.

        Args:
            is_placed: Returns whether the memory placed the block of a message. A user may copy
                one, and write behind it.
            own: Returns the messages of the aggregators' context; a frame may carry a copy.
            was_spoken: Returns whether these words were heard since the last turn.
        """
        self._own, self._was_spoken, self._is_placed = own, was_spoken, is_placed
        self._handled: dict[int, Message] = {}  # no longer new: recalled for, or history
        self._turns: dict[int, tuple[Message, Turn | None, Scopes]] = {}
        self._newest: Message | None = None  # the latest handled one
        self._typed: dict[int, Message] = {}  # appended alone, and not yet logged

    def find_new(self, messages: Sequence[Any], *, predicted: bool = False) -> Message | None:
        """Return the last user message if it was not handled yet.

        ``predicted``: the turn is still being spoken, so it cannot be a copy.
        """
        present = {*map(id, messages), *map(id, self._own())}
        if not self._handled.keys() <= present:
            self._handled = {key: held for key, held in self._handled.items() if key in present}
        if not self._turns.keys() <= present:
            self._turns = {key: held for key, held in self._turns.items() if key in present}
        message = injection.last_user_message(messages)
        if message is None or id(message) in self._handled:
            return None
        if injection.block_of(message) and (self._is_placed(message) or not self.is_typed(message)):
            return None
        return None if not predicted and self._is_copy(message, present) else message

    def _is_copy(self, message: Message, present: set[int]) -> bool:
        """Return whether the application replaced the messages by equal copies."""
        newest = self._newest
        text = injection.message_text(message)
        if (
            self.is_typed(message)
            or newest is None
            or id(newest) in present
            or self._was_spoken(text)
        ):
            return False
        same = injection.words_of(newest) == text
        if same:
            self._handled[id(message)] = self._newest = message
        return same

    def mark_typed(self, messages: Sequence[Any]) -> None:
        """Treat unanswered user messages that an application appends as new, whatever they say."""
        waiting = messages[injection.answered(messages) :]
        users = (m for m in waiting if isinstance(m, dict) and m.get("role") == "user")
        self._typed |= {id(m): m for m in users if not self._is_placed(m)}

    def take_typed(self) -> list[Message]:
        """Return the appended messages that are not logged yet, once, in order."""
        waiting, self._typed = self._typed, {}
        return [message for message in waiting.values() if not self.is_logged(message)]

    def is_typed(self, message: Message) -> bool:
        """Return whether a message was appended alone and is not logged yet."""
        return id(message) in self._typed

    def mark_handled(self, message: Message) -> None:
        self._handled[id(message)] = message

    def is_handled(self, message: Message) -> bool:
        return id(message) in self._handled

    def set_turn(self, message: Message, turn: Turn | None, scopes: Scopes) -> None:
        """Set what a message was logged as (None if it is not kept), and its speakers' scopes."""
        self._turns[id(message)] = (message, turn, scopes)
        self._newest = message

    def is_logged(self, message: Message) -> bool:
        return id(message) in self._turns

    def turn_of(self, message: Message) -> Turn | None:
        return self._turns.get(id(message), (message, None, ()))[1]

    def scopes_of(self, message: Message) -> Scopes:
        """Return the scopes of a logged message's speakers."""
        return self._turns[id(message)][2]

    def mark_history(self, messages: Sequence[Any]) -> None:
        """Treat those of an application's messages that are answered already as handled."""
        count = injection.answered(messages)
        self.mark_known(messages[:count])
        if count and injection.last_user_message(messages[count:]) is None:
            self._newest = injection.last_user_message(messages)  # a copy of it

    def mark_summary(self, messages: Sequence[Any]) -> None:
        """Treat a summary as no turn: it is the first message with the user role."""
        first = next((m for m in messages if isinstance(m, dict) and m.get("role") == "user"), None)
        self.mark_known(messages[: injection.answered(messages)])
        if first is not None and not self.is_logged(first):
            self.mark_handled(first)
            if injection.last_user_message(messages) is first:
                self._newest = first  # what comes next may be a copy of it

    def mark_known(self, messages: Sequence[Any]) -> None:
        """Treat messages as handled; anything but a dict is skipped."""
        self._handled |= {id(m): m for m in messages if isinstance(m, dict)}

    def remove(
        self, turns: Collection[int], memories: Collection[str], visible: injection.Visible
    ) -> None:
        """Remove forgotten exchanges, and blocks that hold forgotten memories, from the context.

        The messages keep their places, because Pipecat's summariser counts them; only their content
        is removed. That invalidates the LLM's prefix cache once, as "forget that" requires.

        Args:
            turns: Log ids of forgotten turns; a user's message goes with its answers.
            visible: What the LLM can read; updated.
        """
        removing = False
        for message in self._own():
            if not isinstance(message, dict):
                continue
            if message.get("role") == "user":
                turn = self.turn_of(message)
                removing = turn is not None and turn.id in turns
            if removing and message.get("content"):
                message["content"] = injection.FORGOTTEN
                visible.discard(message)
            elif visible.holds(message, memories):
                message["content"] = injection.strip_memories([message])[0]["content"]
                visible.discard(message)
