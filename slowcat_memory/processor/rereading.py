"""After idle work has used the conversation's own LLM server, the conversation is read again.

A local server keeps what it read of one prompt, and idle work takes that place. A burst of it may
take it many times; the conversation is read once, when the burst is over, and not at all while
somebody speaks, whose turn reads it anyway.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from slowcat_memory.engine import MemoryEngine


def reread_after(
    engine: MemoryEngine,
    reread: Callable[[], Coroutine[Any, Any, Any]],
    begin: Callable[[Coroutine[Any, Any, Any]], None],
) -> Callable[[], None]:
    """Have a conversation read again after every burst that asked the LLM.

    To be called on the conversation's event loop.

    Args:
        engine: Thinks while nobody speaks.
        reread: Reads, unless somebody speaks.
        begin: Does something on the loop without waiting for it.

    Returns:
        Ends that.
    """
    loop, spent = asyncio.get_running_loop(), _spent(engine)

    def ended() -> None:  # on the idle thread
        nonlocal spent
        before, spent = spent, _spent(engine)
        if spent != before and not loop.is_closed():
            loop.call_soon_threadsafe(lambda: begin(reread()))

    return engine.subscribe(on_pause=ended)


def _spent(engine: MemoryEngine) -> int:
    """Count what idle work had the LLM read: upkeep asks it nothing."""
    return engine.metrics.counts().get("idle_tokens_in", 0)
