"""How much of the running conversation the LLM reads: the last exchanges, within a number of tokens.

Off by default, because every cut makes the LLM read its whole prompt again. What is cut stays in the
memory, and is recalled when it matters.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.runtime.injection import Message, message_text

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
    if not (options.exchanges or options.max_tokens):
        return None
    starts = [at for at, one in enumerate(messages) if _role(one) == "user"]
    if not starts:
        return None
    first = starts[-options.exchanges] if 0 < options.exchanges < len(starts) else 0
    if options.max_tokens:
        first = _fitting(messages, [at for at in starts if at > first], first, options, reserved)
    stay = [one for at, one in enumerate(messages) if at >= first or _role(one) in INSTRUCTIONS]
    return stay if len(stay) < len(messages) else None


def _fitting(
    messages: Sequence[Message],
    starts: Sequence[int],
    first: int,
    options: ContextOptions,
    reserved: int,
) -> int:
    """Return the first start from which everything fits; else the last one."""
    sizes = [_tokens(one) for one in messages]
    always = sum(n for at, n in enumerate(sizes[:first]) if _role(messages[at]) in INSTRUCTIONS)
    used = always + sum(sizes[first:]) + reserved
    for start in starts:
        if used <= options.max_tokens:
            break
        between = range(first, start)
        used -= sum(sizes[at] for at in between if _role(messages[at]) not in INSTRUCTIONS)
        first = start
    return first


def _role(message: Message) -> Any:
    return message.get("role") if isinstance(message, dict) else ""


def _tokens(message: Message) -> int:
    if not isinstance(message, dict):
        return estimate_tokens(str(message))
    calls = message.get("tool_calls")
    return estimate_tokens(message_text(message)) + (estimate_tokens(str(calls)) if calls else 0)
