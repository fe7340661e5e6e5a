"""Messages of the LLM's context: finds the new turns, and removes forgotten content.

A turn is identified by its message object, never by its text: people repeat themselves, and a
repeated "yes" is a new turn. Messages that an application adds together with their answers are
history, and an equal copy of a message that it replaced is not new.

What the memory put into the LLM's context, by whose memories it is made of.

All users in the room share one context. Before another user's turn is answered, everything of the
memory's that this user may not read leaves the context: blocks, session heads, spoken answers to
commands, and what the LLM never said aloud (calls of the memory's tools with arguments and results,
thoughts, calls of other tools that repeat a memory). The spoken words of users and agent stay.

A block and a session head are known by their text, a tool's call by its id: so they are known in an
equal copy of the context, too. What the LLM wrote without saying it belongs to whoever could be
read when it was written.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from copy import deepcopy
from typing import Any

from loguru import logger
from msgspec.structs import replace
from pipecat.processors.aggregators.llm_context import LLMSpecificMessage

from slowcat_memory.core.render.memory_block import CLOSE, OPEN, Packed
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.records import Turn
from slowcat_memory.runtime import injection
from slowcat_memory.tools.functions import NAMES

KEPT = 256  # blocks and answers; an older one is treated as unknown
UNKNOWN = frozenset(("",))  # no scope has this name: nobody may read it
Message = dict[str, Any]
Scopes = tuple[str, ...]  # of the speakers of a turn, or those that may be read for it


class ContextMessages:
    """Tracks messages by ``id()``, and keeps them alive, so that an id is not reused.

    And the one registry of what the memory put there. Use it on the event loop.

    Attributes:
        visible: What the LLM can read of it.
        readable: The scopes for which the context was stripped last; None before the first time.
        is_stale: A head was rendered since, which the application may have placed.
        head_of: The scope whose head the memory placed itself; "" for none.
        late_head: A head that came after the first request, and waits for the next block; or "".
    """

    def __init__(
        self,
        own: Callable[[], Sequence[Any]],
        was_spoken: Callable[[str], bool],
    ) -> None:
        """Start empty.

        Args:
            own: Returns the messages of the aggregators' context; a frame may carry a copy.
            was_spoken: Returns whether these words were heard since the last turn.
        """
        self._own, self._was_spoken, self.visible = own, was_spoken, injection.Visible()
        self._handled: dict[int, Message] = {}  # no longer new: recalled for, or history
        self._turns: dict[int, tuple[Message, Turn | None, Scopes]] = {}
        self._newest: Message | None = None  # the latest handled one
        self._typed: dict[int, Message] = {}  # appended alone, and not yet logged
        self.readable: frozenset[str] | None = None
        self.is_stale = False
        self.head_of = self.late_head = ""
        # By text, the scopes that it is made of.
        self._blocks: dict[str, frozenset[str]] = {}
        self._answers: dict[str, frozenset[str]] = {}
        self._heads: dict[str, frozenset[str]] = {}
        # Calls of tools, by their ids, and messages for one LLM service, by their own.
        self._unspoken: dict[object, tuple[Any, frozenset[str]]] = {}
        self._without_heads: list[tuple[Message, Any, Any]] = []  # content before and after
        self._instruction: Message = {}  # the LLM service's, while heads in it are replaced
        self._warned = False

    def find_new(self, messages: Sequence[Any], *, predicted: bool = False) -> Message | None:
        """Return the last user message if it was not handled yet.

        ``predicted``: the turn is still being spoken, so it cannot be a copy.
        """
        present = {*map(id, messages), *map(id, self._own())}
        self._handled = {key: held for key, held in self._handled.items() if key in present}
        self._turns = {key: held for key, held in self._turns.items() if key in present}
        message = injection.last_user_message(messages)
        if message is None or id(message) in self._handled:
            return None
        copied = self.is_typed(message) and not self.visible.knows(message)
        if injection.block_of(message) and not copied:
            return None
        return None if not predicted and self._is_copy(message, present) else message

    def _is_copy(self, message: Message, present: set[int]) -> bool:
        """Return whether the application replaced the messages by equal copies."""
        newest, text = self._newest, injection.message_text(message)
        if newest is None or id(newest) in present or self.is_typed(message):
            return False
        same = injection.words_of(newest) == text and not self._was_spoken(text)
        if same:
            self._handled[id(message)] = self._newest = message
        return same

    def mark_typed(self, messages: Sequence[Any]) -> None:
        """Treat unanswered user messages that an application appends as new, whatever they say."""
        waiting = messages[injection.answered(messages) :]
        users = (m for m in waiting if isinstance(m, dict) and m.get("role") == "user")
        self._typed |= {id(m): m for m in users if not self.visible.knows(m)}

    def take_typed(self) -> list[Message]:
        """Return the appended messages that are not logged yet, once, in order."""
        waiting, self._typed = self._typed, {}
        return [message for message in waiting.values() if not self.is_logged(message)]

    def is_typed(self, message: Message) -> bool:
        """Return whether a message was appended alone and is not logged yet."""
        return id(message) in self._typed

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
            self.mark_known([first])
            if injection.last_user_message(messages) is first:
                self._newest = first  # what comes next may be a copy of it

    def mark_known(self, messages: Sequence[Any]) -> None:
        """Treat messages as handled; anything but a dict is skipped."""
        self._handled |= {id(m): m for m in messages if isinstance(m, dict)}

    def remove(self, turns: Collection[int], memories: Collection[str]) -> None:
        """Remove forgotten exchanges, and blocks that hold forgotten memories, from the context.

        The messages keep their places, because Pipecat's summariser counts them; only their content
        is removed. That invalidates the LLM's prefix cache once, as "forget that" requires.

        Args:
            turns: Log ids of forgotten turns; a user's message goes with its answers.
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
                self.visible.discard(message)
            elif self.visible.holds(message, memories):
                _without_block(message, self.visible)

    # ---------------------------------------------------------------- what the memory puts there

    def place_block(self, message: Message, packed: Packed) -> None:
        """Write a block in front of the words of a user message."""
        injection.prefix(message, packed.text)
        self.visible.add_block(message, packed.text, (hit.memory.id for hit in packed.hits))
        scopes = {hit.memory.scope for hit in packed.hits}
        if self.late_head and injection.head_lines(self.late_head) in packed.text:
            scopes.add(self.head_of)
            self.late_head = ""
        self._blocks[packed.text] = frozenset(scopes)
        _limit(self._blocks)

    def add_answer(self, text: str, scopes: Iterable[str]) -> None:
        """Add a spoken answer, made of what may be read for some scopes."""
        if words := fingerprint(text):
            self._answers[words] = frozenset(scopes)
        _limit(self._answers)

    def add_head(self, text: str, scope: str) -> None:
        """Add a session head, which the application may place anywhere."""
        if text.strip():
            self._heads[text.strip()] = frozenset((scope,))
            self.is_stale = True

    def add_instruction(self, text: str, llm: Any, messages: list[Any]) -> None:
        """Append a text to the context's own system message, or else to the service's instruction.

        Beside an instruction, most services drop a system message of the context, and strict chat
        templates refuse a second one.

        Args:
            llm: The LLM service; None for none.
            messages: The context's; a system message is replaced, not edited.
        """
        first: Any = messages[0] if messages else None
        content = first.get("content") if isinstance(first, dict) else None
        own = isinstance(content, str) and first.get("role") == "system"
        if own and _instruction_of(llm) == [{"text": None}]:
            messages[0] = {**first, "content": f"{content}\n\n{text}"}
        elif llm is not None:
            llm.append_system_instruction(text)

    def knows_head(self, scope: str) -> bool:
        return {scope} in self._heads.values()

    def place_head(
        self, head: str, scope: str, llm: Any, messages: list[Any], *, late: bool
    ) -> None:
        """Write the head of a scope where the LLM reads it, once; a later one takes its place.

        Args:
            llm: The LLM service; None for none.
            messages: The context's.
            late: A request was sent already: a first head waits for the next block.
        """
        known = [text for text, owner in self._heads.items() if owner == {scope}]
        waits = bool(head) and late and not known
        for old in known:
            if old == head:
                continue
            self.late_head = self.late_head.replace(old, head)
            for message in self._read(messages, llm):
                if injection.head_lines(old) in _block(message):
                    _without_block(message, self.visible)
                    waits = bool(head)
                elif before := message.get("content"):
                    message["content"] = injection.without_texts(before, (old,), head)
            self._write(llm)
            self._without_heads = [
                (message, injection.without_texts(before, (old,), head), after)
                for message, before, after in self._without_heads
            ]
        if head and not known:
            self.head_of = scope
        if waits:
            self.late_head = head
        elif head and not known:
            self.add_instruction(head, llm, messages)
        self.add_head(head, scope)

    def with_late_head(self, packed: Packed) -> Packed:
        """Return a block that begins with the head that waits, if any."""
        if not self.late_head:
            return packed
        lines = f"{OPEN}\n{injection.head_lines(self.late_head)}"
        text = packed.text.replace(OPEN, lines, 1) if packed.text else f"{lines}\n{CLOSE}"
        return replace(packed, text=text)

    def may_enter(self, call: str) -> bool:
        """Return whether the result of a tool's call may enter the context now."""
        _, owner = self._unspoken.get(call, (None, None))
        return owner is None or self.readable is None or owner <= self.readable

    # ---------------------------------------------------------------- another user speaks

    def strip(self, contexts: Sequence[list[Any]], scopes: Iterable[str], llm: Any = None) -> None:
        """Remove, in place, what may not be read for some scopes.

        What is of unknown origin, such as a block that the application added, is removed.
        Messages keep their places, because Pipecat's summariser counts them, but for those in the
        format of one LLM service, which cannot be emptied.

        Args:
            contexts: The messages of contexts, which may share some.
            scopes: What is made of memories of these alone may stay.
            llm: The LLM service, whose system instruction may hold a session head.
        """
        allowed = frozenset(scopes)
        messages = list({id(m): m for context in contexts for m in context}.values())
        self._adopt(messages)
        self.readable, self.is_stale = allowed, False
        self._strip_blocks(messages, allowed)
        self._strip_heads(messages, allowed, llm)
        self._strip_answers(messages, allowed)
        gone = {key for key, (_, owner) in self._unspoken.items() if not owner <= allowed}
        injection.empty_calls(messages, gone)
        for context in contexts:
            context[:] = [
                message
                for message in context
                if not (isinstance(message, LLMSpecificMessage) and id(message) in gone)
            ]

    def _adopt(self, messages: Sequence[Any]) -> None:
        """Record what the LLM wrote for those who could be read until now.

        What was there before the first turn is the application's own, but for calls of ours.
        """
        present: dict[object, Any] = {
            id(message): message for message in messages if isinstance(message, LLMSpecificMessage)
        }
        present |= {
            injection.call_id(call): call for row in messages for call in injection.tool_calls(row)
        }
        self._unspoken = {
            key: self._unspoken.get(key) or (message, self._owner_of(message))
            for key, message in present.items()
        }

    def _owner_of(self, unspoken: Any) -> frozenset[str]:
        if self.readable is not None:
            return self.readable
        ours = isinstance(unspoken, dict) and injection.call_name(unspoken) in NAMES
        return UNKNOWN if ours else frozenset()

    def _strip_blocks(self, messages: Sequence[Any], allowed: frozenset[str]) -> None:
        standing = {id(m): (m, block) for m in messages if (block := _block(m))}
        self._blocks = {block: self._blocks.get(block, UNKNOWN) for _, block in standing.values()}
        for message, block in standing.values():
            if not self._blocks[block] or not self._blocks[block] <= allowed:
                _without_block(message, self.visible)

    def _strip_heads(self, messages: Sequence[Any], allowed: frozenset[str], llm: Any) -> None:
        """Remove the heads that may not be read, and restore the others."""
        holders = self._read(messages, llm)
        for message, before, after in self._without_heads:
            if message.get("content") == after:
                message["content"] = before
        self._without_heads.clear()
        gone = [text for text, owner in self._heads.items() if not owner <= allowed]
        gone.sort(key=len, reverse=True)  # an earlier head may be a part of a later one
        for message in holders:
            before = message.get("content")
            after = injection.without_texts(before, gone)
            if after != before:
                message["content"] = after
                self._without_heads.append((message, before, after))
        self._write(llm)

    def _strip_answers(self, messages: Sequence[Any], allowed: frozenset[str]) -> None:
        foreign = [words for words, owner in self._answers.items() if not owner <= allowed]
        for message in messages if foreign else ():
            if not isinstance(message, dict) or message.get("role") != "assistant":
                continue
            spoken = fingerprint(injection.message_text(message))
            # It may have been interrupted, or joined with what was said next.
            if spoken and any(text.startswith(spoken) or text in spoken for text in foreign):
                message["content"] = injection.FORGOTTEN

    def _read(self, messages: Sequence[Any], llm: Any) -> list[Message]:
        """Return what may hold a head: the messages, and the service's instruction as another."""
        parts = _instruction_of(llm)
        if parts is None and llm is not None and not self._warned:
            self._warned = True
            logger.warning(
                f"the system instruction of {type(llm).__name__} cannot be read: a session "
                "context in it stays there when another person speaks"
            )
        self._instruction["content"] = parts
        return [*(message for message in messages if isinstance(message, dict)), self._instruction]

    def _write(self, llm: Any) -> None:
        """Write the instruction back that was read."""
        parts = self._instruction["content"]
        if parts is not None and parts != _instruction_of(llm):
            base, *added = [
                "" if part["text"] == injection.FORGOTTEN else part["text"] for part in parts
            ]
            llm._base_system_instruction, llm._appended_system_instructions = base, added
            llm._compose_system_instruction()

    # ---------------------------------------------------------------- summaries

    def without_memories(self, messages: Sequence[Any]) -> list[Any]:
        """Copy a context without anything of the memory's, for a summary of what was said."""
        copies = [
            deepcopy(message) if isinstance(message, dict) else message
            for message in injection.strip_memories(messages)
        ]
        ours = {
            injection.call_id(call)
            for message in copies
            for call in injection.tool_calls(message)
            if injection.call_name(call) in NAMES
        }
        injection.empty_calls(copies, ours)
        heads = sorted(self._heads, key=len, reverse=True)
        for message in copies:
            if isinstance(message, dict):
                message["content"] = injection.without_texts(message.get("content"), heads)
        return copies


def _limit(kept: dict[str, Any]) -> None:
    if len(kept) > KEPT:
        del kept[next(iter(kept))]


def _without_block(message: Message, visible: injection.Visible) -> None:
    message["content"] = injection.strip_memories([message])[0]["content"]
    visible.discard(message)


def _block(message: Any) -> str:
    return injection.block_of(message) if isinstance(message, dict) else ""


def _instruction_of(llm: Any) -> list[Message] | None:
    """Return the instruction that the application gave to a service, and its addenda.

    There is no public way to read them, so they are read where Pipecat keeps them; None of a
    service that keeps them elsewhere. An empty text is one of which nothing is left.
    """
    base: Any = getattr(llm, "_base_system_instruction", 0)
    added: Any = getattr(llm, "_appended_system_instructions", None)
    known = isinstance(base, str | None) and isinstance(added, list)
    if not known or not hasattr(llm, "_compose_system_instruction"):
        return None
    texts = (injection.FORGOTTEN if text == "" else text for text in (base, *added))
    return [{"text": text} for text in texts]
