"""Runs work whose failure or slowness must not affect the conversation.

A failure is logged once and counted; its result is missing, and the agent continues.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from loguru import logger
from pipecat.processors.frame_processor import FrameProcessor

from slowcat_memory.errors import describe_error
from slowcat_memory.metrics import Metrics

T = TypeVar("T")


class FrameGuard:
    """Runs such work for one processor. Use it on the event loop.

    ``metrics`` counts the failures; None while the memory is not open.
    """

    def __init__(
        self, processor: FrameProcessor, call_handlers: Callable[..., Coroutine[Any, Any, None]]
    ) -> None:
        """Start with no task; ``processor`` owns the tasks, and log messages have its name."""
        self.metrics: Metrics | None = None
        self._processor, self._call_handlers = processor, call_handlers
        self._tasks: set[asyncio.Task] = set()

    def __str__(self) -> str:
        return str(self._processor)

    def run(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T | None:
        """Call a function that neither blocks nor waits; return None if it raises."""
        try:
            return work(*arguments, **named)
        except Exception as error:
            self.log_failure(error)
            return None

    def soon(self, work: Callable[..., None], *arguments: Any) -> None:
        """Call a function when the present step of the event loop is over, as ``run`` does."""
        asyncio.get_running_loop().call_soon(self.run, work, *arguments)

    def log_failure(self, error: Exception) -> None:
        """Log and count a failure."""
        self.count("failures")
        logger.error(f"{self}: memory failed: {describe_error(error)}")

    def count(self, name: str) -> None:
        """Increment a counter, if the memory is open."""
        if self.metrics:
            self.metrics.count(name)

    async def report(self, message: str, error: Exception) -> None:
        """Push an error frame. The message must not quote a user."""
        await self._processor.push_error(f"{message}: {describe_error(error)}", error)

    def notify(self, event: str, *arguments: Any) -> None:
        """Call the application's handlers of an event without waiting for them."""
        self.spawn(self.call(event, *arguments))

    async def call(self, event: str, *arguments: Any) -> None:
        await self._call_handlers(event, *arguments)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = self._processor.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def join(self, timeout_s: float) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)
