"""The block of memories in the LLM's context, and what of it is still visible.

The block is a prefix inside the new user message and is never edited afterwards. That is the only
placement that keeps the whole key-value prefix of a local LLM valid, needs no extra role (templates
reject a second system message, or two user messages in a row), and cannot shift the indices of
Pipecat's summarizer. Messages are Pipecat's plain dicts; anything else among them is skipped.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, compress
from typing import Annotated, Any

from msgspec import Meta, Struct

from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from slowcat_memory.core.text.normalize import clean, estimate_tokens, fingerprint

Message = Any
FORGOTTEN = "…"  # chat templates refuse an empty message
PENDING = ("IN_PROGRESS", "CANCELLED", "COMPLETED")  # Pipecat's results without content
# Only at the start: further on, the tag is a user's text.
_READ_ALOUD = re.compile(rf"{re.escape(OPEN)}.*?(?:{re.escape(CLOSE)}|\Z)", re.S)
_BLOCK = re.compile(rf"({re.escape(OPEN)}\n.*?\n{re.escape(CLOSE)})\s*", re.S)


def last_user_message(messages: Sequence[Message]) -> dict | None:
    """Return the newest user message itself, if any."""
    return next(_user_messages(messages), None)


def message_saying(messages: Sequence[Message], words: str) -> dict | None:
    """Return the newest user message with exactly these words, ignoring its block."""
    alike = (m for m in _user_messages(messages) if words_of(m).strip() == words.strip())
    return next(alike, None)


def _user_messages(messages: Sequence[Message]) -> Iterator[dict]:
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            yield message


def answered(messages: Sequence[Message]) -> int:
    """Return how many messages are history: those up to the agent's last one."""
    roles = enumerate(map(_role, messages), start=1)
    return max((n for n, role in roles if role == "assistant"), default=0)


def message_text(message: dict) -> str:
    """Return the text of a message; several text parts are joined by spaces."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(text for part in parts if (text := _part_text(part)))


def _part_text(part: Any) -> str:
    return (part.get("text") or "") if isinstance(part, dict) and part.get("type") == "text" else ""


def words_of(message: dict) -> str:
    """Return the text of a message behind its block, which may be a copied one."""
    return without_block(message_text(message))


def without_blocks(text: str) -> str:
    """Return a text without any block in it, such as one that the agent reads aloud."""
    return " ".join(_READ_ALOUD.sub(" ", text).split()) if OPEN in text else text


def prefix(message: dict, block: str) -> None:
    """Write a block in front of the words of a user message without one, in place."""
    content = message.get("content")
    if isinstance(content, list):
        content.insert(0, {"type": "text", "text": block})
    else:
        message["content"] = f"{block}\n\n{content or ''}"


def block_of(message: dict) -> str:
    match = _BLOCK.match(message_text(message))
    return match[1] if match else ""


def without_block(text: str) -> str:
    """Return a message's text without its block: the user's own words."""
    return _BLOCK.sub("", text, count=1) if text.startswith(OPEN) else text


def strip_memories(messages: Iterable[Message]) -> list[Message]:
    """Copy messages without their blocks, for an application that keeps its own history.

    Messages without a block are returned as the same objects.
    """
    return [_stripped(message) for message in messages]


def _stripped(message: Message) -> Message:
    if not (isinstance(message, dict) and block_of(message)):
        return message
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": without_block(content)}
    first = next(n for n, part in enumerate(content) if _part_text(part))
    words = without_block(content[first]["text"])
    rest = [{**content[first], "text": words}] if words else []
    return {**message, "content": [*content[:first], *rest, *content[first + 1 :]]}


class Visible:
    """Memories and words that the LLM can still read in its context, so that they are not repeated.

    Recomputed from the present messages: what a summary or the application removed may be offered
    again, and what it restored as an equal copy may not.
    """

    def __init__(self) -> None:
        # By a message's id, holding the message itself, so that the id is not reused.
        self._read: dict[int, tuple[Message, str, str]] = {}  # its fingerprint and its block
        self._logged: dict[int, tuple[Message, frozenset[str]]] = {}
        self._blocks: dict[str, frozenset[str]] = {}  # memory ids, by block

    def add_block(self, message: Message, block: str, memories: Iterable[str]) -> None:
        """Record the memories, by id, in the block of a message."""
        before = self._read.get(id(message))
        self._read[id(message)] = (message, before[1], block) if before else _read(message)
        self._blocks[block] = frozenset(memories)

    def add_logged(self, message: Message, memories: Iterable[str]) -> None:
        """Record the memories, by id, that a user message was logged as."""
        self._logged[id(message)] = (message, frozenset(memories))

    def holds(self, message: Message, memories: Iterable[str]) -> bool:
        """Return whether a message's block holds one of some memories, given by id."""
        block = block_of(message)
        return bool(block) and not self._blocks.get(block, frozenset()).isdisjoint(memories)

    def knows(self, message: Message) -> bool:
        """Return whether the block of a message is one of the memory's, not a user's copy."""
        return block_of(message) in self._blocks

    def discard(self, message: Message) -> None:
        """Drop the record of a message whose content was removed."""
        self._read.pop(id(message), None)
        self._logged.pop(id(message), None)

    def refresh(self, messages: Sequence[Message]) -> None:
        """Read what came since the last time, and drop what has left the context.

        Dictionaries are replaced and never changed, so that a shallow copy can be refreshed alone.
        """
        present = {id(message): message for message in messages if isinstance(message, dict)}
        read = self._read
        self._read = {key: read.get(key) or _read(message) for key, message in present.items()}
        self._logged = {key: held for key, held in self._logged.items() if key in present}
        blocks = {block for _, _, block in self._read.values()}
        self._blocks = {block: ids for block, ids in self._blocks.items() if block in blocks}

    @property
    def said(self) -> frozenset[str]:
        """Ids of the memories that user messages in the context were logged as."""
        return frozenset().union(*(ids for _, ids in self._logged.values()))

    @property
    def memories(self) -> frozenset[str]:
        """Ids of the memories in the context, in blocks or as user messages."""
        return self.said.union(*self._blocks.values())

    @property
    def words(self) -> frozenset[str]:
        """Fingerprints of the words in the context."""
        return frozenset(words for _, words, _ in self._read.values() if words)


def _read(message: Message) -> tuple[Message, str, str]:
    words = clean(words_of(message))[0]  # as the log has them
    return message, fingerprint(words), block_of(message)


# ------------------------------------------------------------------- what leaves the context


def head_lines(head: str) -> str:
    """Return a session head without its fence, as a part of a block."""
    return "\n".join(head.splitlines()[2:-1])


def without_texts(content: Any, texts: Iterable[str], new: str = "") -> Any:
    """Return a message's content without some texts; a content of which nothing is left, as "…"."""
    if isinstance(content, list):
        return [
            {**part, "text": without_texts(part["text"], texts, new)}
            if isinstance(part, dict) and isinstance(part.get("text"), str)
            else part
            for part in content
        ]
    if not isinstance(content, str):
        return content
    rest = content
    for text in texts:
        rest = rest.replace(text, new)
    return content if rest == content else rest.strip() or FORGOTTEN


# ------------------------------------------------------------------- tools' messages


def tool_calls(message: Any) -> list[dict[str, Any]]:
    """Return the calls in a message: of OpenAI's shape, or parts of its content."""
    if not isinstance(message, dict):
        return []
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    used = [p for p in parts if isinstance(p, dict) and p.get("type") == "tool_use"]
    return [call for call in (*(message.get("tool_calls") or ()), *used) if isinstance(call, dict)]


def call_id(call: dict[str, Any]) -> str:
    return str(call.get("id", ""))


def call_name(call: dict[str, Any]) -> str:
    return str((call.get("function") or call).get("name", ""))


def _async_payload(message: Any) -> dict[str, Any]:
    """Return the payload by which Pipecat reports on a tool that keeps running; {} for others."""
    content = message.get("content")
    if not isinstance(content, str) or '"async_tool"' not in content:
        return {}
    try:
        payload = json.loads(content)
    except ValueError:
        return {}
    return payload if isinstance(payload, dict) and payload.get("type") == "async_tool" else {}


def empty_calls(messages: Sequence[Any], calls: Collection[object]) -> None:
    """Empty calls, by id, and their results, in place."""
    for message in messages if calls else ():
        for call in tool_calls(message):
            if call_id(call) in calls:
                _empty_call(call)
        if isinstance(message, dict):
            _empty_results(message, calls)


def _empty_call(call: dict[str, Any]) -> None:
    if isinstance(call.get("function"), dict):
        call["function"]["arguments"] = "{}"
    if "input" in call:
        call["input"] = {}


def _empty_results(message: dict[str, Any], calls: Collection[object]) -> None:
    content, call = message.get("content"), str(message.get("tool_call_id", ""))
    if payload := _async_payload(message):
        if str(payload.get("tool_call_id", call)) in calls and "result" in payload:
            message["content"] = json.dumps({**payload, "result": FORGOTTEN}, ensure_ascii=False)
    elif message.get("role") == "tool":
        if call in calls and content not in PENDING:
            message["content"] = FORGOTTEN
    else:
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and str(part.get("tool_use_id", "")) in calls:
                part["content"] = FORGOTTEN


# ------------------------------------------------------------------- how much of it stays
# The last exchanges, within a number of tokens. Off by default, because every cut makes the LLM read
# its whole prompt again. What is cut stays in the memory, and is recalled when it matters.

INSTRUCTIONS = frozenset({"system", "developer"})


class ContextOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of the conversation stays in the LLM's context.

    Attributes:
        exchanges: Exchanges that stay, the user's new one included; 0 for all. Do not combine it
            with Pipecat's context summaries, which count messages.
        max_tokens: Estimated tokens of all messages, with room for a memory block of
            ``pack.memory_token_budget``; the oldest exchanges leave first. 0 for no limit.
    """

    exchanges: Annotated[int, Meta(ge=0, le=10_000)] = 0
    max_tokens: Annotated[int, Meta(ge=0, le=10_000_000)] = 0


def trimmed(
    messages: Sequence[Message], options: ContextOptions, reserved: int = 0
) -> list[Message] | None:
    """Return the messages that stay; None if all do.

    Instructions stay, and so does the last exchange, whatever its size. An exchange begins with a
    user's message and has everything up to the next, so a tool's call and result stay together.

    Args:
        messages: Oldest first, the user's new message among the last.
        reserved: Tokens to leave free.
    """
    starts = [at for at, message in enumerate(messages) if _role(message) == "user"]
    if not starts or not (options.exchanges or options.max_tokens):
        return None
    starts[0] = 0
    starts = starts[-options.exchanges :]  # all, for 0
    lasting = [_role(message) in INSTRUCTIONS for message in messages]
    if options.max_tokens:
        sizes = [*map(_tokens, messages)]
        room = options.max_tokens - reserved - sum(compress(sizes, lasting))
        passing = [0 if lasts else size for size, lasts in zip(sizes, lasting, strict=True)]
        behind = [*accumulate(reversed(passing))][::-1]
        starts = [at for at in starts if behind[at] <= room] or starts[-1:]
    stay = [message for at, message in enumerate(messages) if at >= starts[0] or lasting[at]]
    return stay if len(stay) < len(messages) else None


def _role(message: Message) -> Any:
    return message.get("role") if isinstance(message, dict) else ""


def _tokens(message: Message) -> int:
    if not isinstance(message, dict):
        return estimate_tokens(str(message))
    calls = message.get("tool_calls")
    return estimate_tokens(message_text(message)) + (estimate_tokens(str(calls)) if calls else 0)
