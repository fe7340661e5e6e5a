"""The processor's engine: its configuration, opening, closing, and events on the event loop."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict

from msgspec.structs import replace

from slowcat_memory import config as configuration
from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import ConfigError, StoreError
from slowcat_memory.idle.events import MemoryEvent

MEMORY_EVENTS = ("on_memory_created", "on_memory_updated", "on_memory_retired")
_FLUSH_S = 2.0
_FIELDS = {  # the section and key that each override sets
    "path": ("memory", "path"),
    "hot_cache_size": ("memory", "hot_cache_size"),
    "embedding_model": ("embedding", "model"),
    "memory_token_budget": ("pack", "memory_token_budget"),
    "context_llm_endpoint": ("thinking", "url"),
}


class Overrides(TypedDict, total=False):
    """Keywords of the processor that override its configuration, and Pipecat's own.

    Attributes:
        path: The store's folder.
        embedding_model: Name of a sentence-transformers model.
        hot_cache_size: Latest memories to keep in memory.
        memory_token_budget: Size of a turn's block in tokens; 0 injects nothing.
        context_llm_endpoint: Base URL of the LLM for idle work, "" for none.
        name: For ``FrameProcessor``.
        enable_direct_mode: For ``FrameProcessor``.
        metrics: For ``FrameProcessor``.
    """

    path: str | Path | None
    embedding_model: str | None
    hot_cache_size: int | None
    memory_token_budget: int | None
    context_llm_endpoint: str | None
    name: str | None
    enable_direct_mode: bool
    metrics: Any


def frame_processor_arguments(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords meant for ``FrameProcessor``.

    Raises:
        TypeError: A keyword is neither Pipecat's nor an override.
    """
    if unknown := overrides.keys() - Overrides.__annotations__.keys():
        raise TypeError(f"unexpected keyword argument {min(unknown)!r}")
    return {name: value for name, value in overrides.items() if name not in _FIELDS}


def load_config(config: Config | str | Path | None, overrides: Mapping[str, Any]) -> Config:
    """Return a configuration with overrides applied; None overrides nothing.

    Args:
        config: A configuration, the path of a config.toml, or None for the default one.

    Raises:
        ConfigError: The configuration is wrong, or a size is negative.
    """
    if not isinstance(config, Config):
        config = configuration.load(Path(config).expanduser() if config else None)
    sections: dict[str, Any] = {}
    for name, (section, field) in _FIELDS.items():
        value = overrides.get(name)
        if value is None:
            continue
        if isinstance(value, int) and value < 0:
            raise ConfigError(f"{name} is negative", hint="0 is the least")
        old = sections.get(section, getattr(config, section))
        sections[section] = replace(old, **{field: str(value) if name == "path" else value})
    return replace(config, **sections)


class EngineHandle:
    """Opens an engine when it is first needed, and closes it only if it opened it.

    ``engine`` is None before it is open, and if it could not be opened.
    """

    def __init__(
        self, config: Config, engine: MemoryEngine | None, on_trouble: Callable[[StoreError], None]
    ) -> None:
        """Store the arguments; nothing is opened yet.

        ``on_trouble`` is called on the event loop when an engine opened here cannot save.
        """
        self.engine = engine
        self._config, self._shared, self._on_trouble = config, engine is not None, on_trouble

    async def open(self) -> MemoryEngine:
        """Return the engine, opening it if necessary.

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
        """Save, and release the engine if it was opened here.

        Raises:
            SlowcatError: It was not saved.
        """
        if self.engine and self._shared:
            await asyncio.to_thread(self.engine.flush, _FLUSH_S)
        elif self.engine:
            await asyncio.to_thread(self.engine.release)


def forward_memory_events(
    engine: MemoryEngine, scopes: Collection[str], notify: Callable[[str, MemoryEvent], None]
) -> Callable[[], None]:
    """Notify the application of memories that idle work creates, updates or retires.

    Call it on the conversation's event loop. ``notify`` must not wait for the handlers.
    """
    loop, ended = asyncio.get_running_loop(), False

    def on_idle_thread(event: MemoryEvent) -> None:
        if event.scope in scopes and not ended:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(on_loop, event)

    def on_loop(event: MemoryEvent) -> None:
        if not ended:  # it may have ended since the event was posted
            notify(f"on_memory_{event.what}", event)

    unsubscribe = engine.subscribe(on_memory=on_idle_thread)

    def end() -> None:
        nonlocal ended
        ended = True
        unsubscribe()

    return end
