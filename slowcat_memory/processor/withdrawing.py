"""Taking out of the live context what a person had forgotten, so that the LLM cannot say it again.

The messages stay, and keep their places, because summaries count them; their words go. That costs
the LLM's prefix cache once, which whoever says "forget that" has asked for.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from slowcat_memory.records import Turn
from slowcat_memory.runtime.injection import Visible, strip_memories

GONE = "…"  # templates refuse an empty message


def withdraw(
    messages: Sequence[Any],
    turns: Collection[int],
    memories: Collection[str],
    turn_of: Callable[[dict], Turn | None],
    visible: Visible,
) -> None:
    """Take exchanges, and blocks that hold what is forgotten, out of a context.

    Args:
        messages: The context's messages; changed in place.
        turns: Log ids of forgotten turns; a person's message goes with all that answers it.
        memories: Ids of forgotten memories.
        turn_of: Tells which turn a message was logged as.
        visible: What the LLM can read; told of each change.
    """
    going = False
    for message in messages:
        if not isinstance(message, dict):
            continue
        if message.get("role") == "user":
            turn = turn_of(message)
            going = turn is not None and turn.id in turns
        if going and message.get("content"):
            message["content"] = GONE
            visible.changed(message)
        elif visible.holds(message, memories):
            message["content"] = strip_memories([message])[0]["content"]
            visible.changed(message)
