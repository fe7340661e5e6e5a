"""The engine of a processor: one that the application shares, or one of its own."""

import asyncio
from collections.abc import Callable

from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import StoreError

_FLUSH_S = 2.0


class Opening:
    """Opens an engine when it is first asked for, and closes only what it opened.

    Attributes:
        engine: The engine; None before it is open, and when it could not be opened.
    """

    def __init__(
        self, config: Config, engine: MemoryEngine | None, on_trouble: Callable[[StoreError], None]
    ) -> None:
        """Open nothing yet.

        Args:
            config: For an engine of our own.
            engine: One to share; None to open one.
            on_trouble: Told on the event loop when an engine of our own cannot save.
        """
        self.engine = engine
        self._config, self._shared, self._on_trouble = config, engine is not None, on_trouble

    async def opened(self) -> MemoryEngine:
        """Open the engine, if it is not.

        Returns:
            The engine.

        Raises:
            SlowcatError: The store or its files cannot be used.
        """
        if self.engine is None:
            loop = asyncio.get_running_loop()

            def on_trouble(error: StoreError) -> None:
                loop.call_soon_threadsafe(self._on_trouble, error)

            self.engine = await asyncio.to_thread(MemoryEngine.acquire, self._config, on_trouble)
        return self.engine

    async def close(self) -> None:
        """Save, and let go of an engine of our own.

        Raises:
            SlowcatError: It was not saved.
        """
        if self.engine and self._shared:
            await asyncio.to_thread(self.engine.flush, _FLUSH_S)
        elif self.engine:
            await asyncio.to_thread(self.engine.release)
