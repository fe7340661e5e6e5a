"""The one block that we own in the LLM's context, and what is still visible in it.

The block is a prefix inside the new user message and is never edited afterwards. That is the only
placement that keeps the whole key-value prefix of a local LLM valid, needs no extra role (templates
reject a second system message, or two user messages in a row), and cannot shift the indices of
Pipecat's summarizer. Messages are Pipecat's plain dicts; anything else among them is passed over.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from slowcat_memory.core.pack import CLOSE, OPEN
from slowcat_memory.core.text import fingerprint

Message = Any
_BLOCK = re.compile(re.escape(OPEN) + r".*?" + re.escape(CLOSE) + r"\s*", re.S)


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
    return " ".join(part.get("text", "") for part in parts if part.get("type") == "text")


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


def has_block(message: dict) -> bool:
    """Tell whether a message already carries a block."""
    return OPEN in message_text(message)


def without_block(text: str) -> str:
    """Take the blocks out of a text.

    Args:
        text: A message's text.

    Returns:
        What the person said.
    """
    return _BLOCK.sub("", text) if OPEN in text else text


def strip_memories(messages: Iterable[Message]) -> list[Message]:
    """Copy messages without our blocks, for an application that keeps its own history.

    Args:
        messages: The context's messages.

    Returns:
        New messages; those without a block are the same objects.
    """
    return [
        {**message, "content": _stripped(message["content"])}
        if isinstance(message, dict) and has_block(message)
        else message
        for message in messages
    ]


def _stripped(content: Any) -> Any:
    if isinstance(content, str):
        return without_block(content)
    return [part for part in content if OPEN not in part.get("text", "")]


class Visible:
    """What the LLM can still read in its context, so that it is not said to it twice.

    Recomputed from the messages that are there now: what a summary or the application took out of
    the context may be offered again.
    """

    def __init__(self) -> None:
        """Start with nothing visible."""
        self._words: dict[int, tuple[Message, str]] = {}  # by id, holding the message itself
        self._offered: dict[int, tuple[Message, frozenset[str]]] = {}

    def offered(self, message: Message, memories: Iterable[str]) -> None:
        """Note which memories stand in a message's block.

        Args:
            message: The message that was prefixed.
            memories: Their ids.
        """
        self._offered[id(message)] = (message, frozenset(memories))

    def refresh(self, messages: Sequence[Message]) -> None:
        """Look at the context as it is now.

        Args:
            messages: The context's messages.
        """
        present = {id(message): message for message in messages if isinstance(message, dict)}
        self._offered = {key: held for key, held in self._offered.items() if key in present}
        self._words = {
            key: self._words.get(key)
            or (message, fingerprint(without_block(message_text(message))))
            for key, message in present.items()
        }

    @property
    def memories(self) -> frozenset[str]:
        """Ids of the memories that stand in blocks of the context."""
        return frozenset().union(*(ids for _, ids in self._offered.values()))

    @property
    def words(self) -> frozenset[str]:
        """Fingerprints of what stands in the context."""
        return frozenset(words for _, words in self._words.values() if words)
