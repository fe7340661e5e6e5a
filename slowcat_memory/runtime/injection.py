"""The one block that we own in the LLM's context, and what is still visible in it.

The block is a prefix inside the new user message and is never edited afterwards. That is the only
placement that keeps the whole key-value prefix of a local LLM valid, needs no extra role (templates
reject a second system message, or two user messages in a row), and cannot shift the indices of
Pipecat's summarizer. Messages are Pipecat's plain dicts; anything else among them is passed over.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from slowcat_memory.core.text.normalize import clean, fingerprint

Message = Any
# Only in front: further on, the tag is something that a person wrote.
_BLOCK = re.compile(rf"({re.escape(OPEN)}\n.*?\n{re.escape(CLOSE)})\s*", re.S)


def last_user_message(messages: Sequence[Message]) -> dict | None:
    """Find the newest message of a person.

    Args:
        messages: The context's messages.

    Returns:
        The message itself, or None.
    """
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            return message
    return None


def message_saying(messages: Sequence[Message], words: str) -> dict | None:
    """Find the newest message of a person that says this, with or without a block.

    Args:
        messages: The context's messages.
        words: All of its words.

    Returns:
        The message itself, or None.
    """
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            if without_block(message_text(message)).strip() == words.strip():
                return message
    return None


def answered(messages: Sequence[Message]) -> int:
    """Count the messages that are history: those up to the agent's last one.

    Args:
        messages: Messages in order.

    Returns:
        How many; what comes after them waits for an answer.
    """
    roles = [message.get("role") if isinstance(message, dict) else "" for message in messages]
    return max((n for n, role in enumerate(roles, start=1) if role == "assistant"), default=0)


def message_text(message: dict) -> str:
    """Read the words of a message.

    Args:
        message: One message.

    Returns:
        Its text; the text parts joined when it has several.
    """
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(text for part in parts if (text := _part_text(part)))


def _part_text(part: Any) -> str:
    known = isinstance(part, dict) and part.get("type") == "text"
    return (part.get("text") or "") if known else ""


def prefix(message: dict, block: str) -> None:
    """Write a block in front of a message's words, in place.

    Args:
        message: A user message without a block.
        block: From ``core.pack``.
    """
    content = message.get("content")
    if isinstance(content, list):
        content.insert(0, {"type": "text", "text": block})
    else:
        message["content"] = f"{block}\n\n{content or ''}"


def block_of(message: dict) -> str:
    """Read the block in front of a message, "" when there is none."""
    found = _BLOCK.match(message_text(message))
    return found[1] if found else ""


def without_block(text: str) -> str:
    """Take the block off a text.

    Args:
        text: A message's text.

    Returns:
        What the person said.
    """
    return _BLOCK.sub("", text, count=1) if text.startswith(OPEN) else text


def strip_memories(messages: Iterable[Message]) -> list[Message]:
    """Copy messages without our blocks, for an application that keeps its own history.

    Args:
        messages: The context's messages.

    Returns:
        New messages; those without a block are the same objects.
    """
    return [
        {**message, "content": _stripped(message["content"])}
        if isinstance(message, dict) and block_of(message)
        else message
        for message in messages
    ]


def _stripped(content: Any) -> Any:
    if isinstance(content, str):
        return without_block(content)
    first = next(n for n, part in enumerate(content) if _part_text(part))
    words = without_block(content[first]["text"])
    rest = [{**content[first], "text": words}] if words else []
    return [*content[:first], *rest, *content[first + 1 :]]


class Visible:
    """What the LLM can still read in its context, so that it is not said to it twice.

    Recomputed from the messages that are there now: what a summary or the application took out of
    the context may be offered again, and what it put back as an equal copy may not.
    """

    def __init__(self) -> None:
        """Start with nothing visible."""
        # By a message's id, holding the message itself, so that the id stays its own.
        self._read: dict[int, tuple[Message, str, str]] = {}  # its words and its block
        self._logged: dict[int, tuple[Message, frozenset[str]]] = {}
        self._offers: dict[str, frozenset[str]] = {}  # memories, by the block that holds them

    def offered(self, message: Message, block: str, memories: Iterable[str]) -> None:
        """Note which memories stand in a message's block.

        Args:
            message: The message that was prefixed.
            block: The block.
            memories: Their ids.
        """
        self._offers[block] = frozenset(memories)
        self._read.pop(id(message), None)

    def logged(self, message: Message, memories: Iterable[str]) -> None:
        """Note which memories a message's own words have become.

        Args:
            message: A message of a person.
            memories: Their ids.
        """
        self._logged[id(message)] = (message, frozenset(memories))

    def holds(self, message: Message, memories: Iterable[str]) -> bool:
        """Tell whether a message's block holds one of some memories.

        Args:
            message: The message.
            memories: Their ids.
        """
        block = block_of(message)
        return bool(block) and not self._offers.get(block, frozenset()).isdisjoint(memories)

    def changed(self, message: Message) -> None:
        """Note that a message's words were taken out.

        Args:
            message: The message.
        """
        self._read.pop(id(message), None)
        self._logged.pop(id(message), None)

    def refresh(self, messages: Sequence[Message]) -> None:
        """Look at the context as it is now.

        Args:
            messages: The context's messages.
        """
        present = {id(message): message for message in messages if isinstance(message, dict)}
        self._read = {
            key: self._read.get(key) or _read(message) for key, message in present.items()
        }
        self._logged = {key: held for key, held in self._logged.items() if key in present}
        blocks = {block for _, _, block in self._read.values()}
        self._offers = {block: ids for block, ids in self._offers.items() if block in blocks}

    @property
    def said(self) -> frozenset[str]:
        """Ids of the memories that people's messages in the context have become."""
        return frozenset().union(*(ids for _, ids in self._logged.values()))

    @property
    def memories(self) -> frozenset[str]:
        """Ids of the memories that stand in the context, in blocks or as they were said."""
        return self.said.union(*self._offers.values())

    @property
    def words(self) -> frozenset[str]:
        """Fingerprints of what stands in the context."""
        return frozenset(words for _, words, _ in self._read.values() if words)


def _read(message: Message) -> tuple[Message, str, str]:
    words = clean(without_block(message_text(message)))[0]  # as the log has them
    return message, fingerprint(words), block_of(message)
