"""After idle work has used the conversation's own LLM server, the conversation is read again.

A local server keeps what it read of one prompt, and idle work takes that place. A burst of it may
take it many times; the conversation is read once, when the burst is over, and not at all while
somebody speaks, whose turn reads it anyway.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol


class Bursts(Protocol):
    """Idle thinking, which works in bursts."""

    def on_burst_end(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Have somebody told when a burst is over.

        Args:
            tell: Called on the idle thread; returns at once.

        Returns:
            Ends that.
        """
        ...


def reread_after(
    bursts: Bursts,
    reread: Callable[[], Coroutine[Any, Any, Any]],
    begin: Callable[[Coroutine[Any, Any, Any]], None],
) -> Callable[[], None]:
    """Have a conversation read again after every burst. To be called on its event loop.

    Args:
        bursts: Idle thinking.
        reread: Reads, unless somebody speaks.
        begin: Does something on the loop without waiting for it.

    Returns:
        Ends that.
    """
    loop = asyncio.get_running_loop()
    return bursts.on_burst_end(lambda: _tell(loop, lambda: begin(reread())))


def _tell(loop: asyncio.AbstractEventLoop, tell: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(tell)
