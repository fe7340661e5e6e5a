"""What must never cost the conversation anything: work that may fail, and handlers that may be slow.

A failure is one log line and one counter; what failed is missing, and the agent goes on.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from loguru import logger
from pipecat.processors.frame_processor import FrameProcessor

from slowcat_memory.metrics import Metrics

T = TypeVar("T")


class Harmless:
    """Does such things for one processor. To be used on the event loop.

    Attributes:
        metrics: Where failures are counted; None while the memory is not open.
    """

    def __init__(
        self, processor: FrameProcessor, call: Callable[..., Coroutine[Any, Any, None]]
    ) -> None:
        """Begin with nothing under way.

        Args:
            processor: Whose tasks these are, and by whose name trouble is told.
            call: Calls the application's handlers of an event: its name, and its arguments.
        """
        self.metrics: Metrics | None = None
        self._processor, self._call = processor, call
        self._telling: set[asyncio.Task] = set()

    def __str__(self) -> str:
        return str(self._processor)

    def guard(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T | None:
        """Do what may fail.

        Args:
            work: Neither blocks nor waits.
            *arguments: For it.
            **named: For it.

        Returns:
            What it returned; None when it failed.
        """
        try:
            return work(*arguments, **named)
        except Exception as error:
            self.count("failures")
            logger.error(f"{self}: memory failed: {type(error).__name__}")
            return None

    def count(self, name: str) -> None:
        """Count something, if the memory is open.

        Args:
            name: Of the counter.
        """
        if self.metrics:
            self.metrics.count(name)

    async def report(self, message: str, error: Exception) -> None:
        """Let the pipeline know what a turn must do without.

        Args:
            message: What; never words of a person.
            error: Why.
        """
        await self._processor.push_error(f"{message}: {type(error).__name__}", error)

    def tell(self, event: str, *arguments: Any) -> None:
        """Call the application's handlers without waiting for them.

        Args:
            event: Of which event.
            *arguments: For them.
        """
        self.begin(self._call(event, *arguments))

    async def call(self, event: str, *arguments: Any) -> None:
        """Call the application's handlers.

        Args:
            event: Of which event.
            *arguments: For them.
        """
        await self._call(event, *arguments)

    def begin(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something without waiting for it.

        Args:
            work: What.
        """
        task = self._processor.create_task(work)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def settle(self, timeout_s: float) -> None:
        """Wait for what was begun.

        Args:
            timeout_s: Seconds, at most.
        """
        if self._telling:
            await asyncio.wait(self._telling, timeout=timeout_s)
