"""What idle work changes, told to the application: ids and kinds, on the conversation's event loop."""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.idle.events import MemoryEvent

MEMORY_EVENTS = ("on_memory_created", "on_memory_updated", "on_memory_retired")


def hear(
    engine: MemoryEngine, scopes: Collection[str], tell: Callable[[str, MemoryEvent], None]
) -> Callable[[], None]:
    """Have the application told of memories that idle work creates, updates or retires.

    To be called on the conversation's event loop. The idle thread hands an event over and goes on.

    Args:
        engine: Thinks while nobody speaks, for others too.
        scopes: Whose memories this conversation is about.
        tell: Calls an event's handlers without waiting for them: its name, and what happened.

    Returns:
        Ends that.
    """
    loop, ended = asyncio.get_running_loop(), False

    def heard(event: MemoryEvent) -> None:  # on the idle thread
        if event.scope in scopes and not ended:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(say, event)

    def say(event: MemoryEvent) -> None:
        if not ended:  # it may have ended since this was handed over
            tell(f"on_memory_{event.what}", event)

    stop = engine.subscribe(on_memory=heard)

    def end() -> None:
        nonlocal ended
        ended = True
        stop()

    return end
