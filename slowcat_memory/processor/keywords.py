"""The keywords of a processor: its configuration, and what the parts of its conversation share."""

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from msgspec.structs import replace

from slowcat_memory import config as configuration
from slowcat_memory.config import Config
from slowcat_memory.config.loader import file_to_read
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import ConfigError
from slowcat_memory.processor.context_messages import ContextMessages
from slowcat_memory.processor.neighbours import PipelineNeighbours
from slowcat_memory.processor.reports import FrameGuard, Reports
from slowcat_memory.runtime.conversation.conversation import Audience
from slowcat_memory.runtime.conversation.session_tracker import OffRecord
from slowcat_memory.runtime.recall.query import Recollection

if TYPE_CHECKING:
    from slowcat_memory.fleet import Fleet

_FIELDS = {  # the section and key that each override sets
    "path": ("memory", "path"),
    "hot_cache_size": ("memory", "hot_cache_size"),
    "embedding_model": ("embedding", "model"),
    "memory_token_budget": ("pack", "memory_token_budget"),
    "context_llm_endpoint": ("thinking", "url"),
    "max_context_tokens": ("context", "max_tokens"),
    "use_contextual": ("memory", "use_contextual"),
}


class Overrides(TypedDict, total=False):
    """Keywords of the processor that override its configuration, and Pipecat's own.

    Attributes:
        path: The store's folder.
        embedding_model: Name of a sentence-transformers model.
        hot_cache_size: Latest memories to keep in memory.
        memory_token_budget: Size of a turn's block in tokens; 0 injects nothing.
        context_llm_endpoint: Base URL of the LLM for idle work, "" for none.
        max_context_tokens: Tokens of the LLM's context, memories included; the oldest exchanges
            leave first. 0 for no limit.
        use_contextual: False for a processor without a memory, which passes everything on.
        name: For ``FrameProcessor``.
        enable_direct_mode: For ``FrameProcessor``.
        metrics: For ``FrameProcessor``.
    """

    path: str | Path | None
    embedding_model: str | None
    hot_cache_size: int | None
    memory_token_budget: int | None
    context_llm_endpoint: str | None
    max_context_tokens: int | None
    use_contextual: bool | None
    name: str | None
    enable_direct_mode: bool
    metrics: Any


def frame_processor_arguments(
    overrides: Mapping[str, Any], others: Iterable[str]
) -> dict[str, Any]:
    """Return the keywords meant for ``FrameProcessor``.

    Args:
        others: The processor's other keywords, which one may have been meant.

    Raises:
        TypeError: A keyword is neither Pipecat's nor an override.
    """
    known = Overrides.__annotations__.keys()
    if unknown := overrides.keys() - known:
        name = min(unknown)
        near = difflib.get_close_matches(name, [*known, *others], n=1, cutoff=0.5)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"unexpected keyword argument {name!r}{meant}")
    return {name: value for name, value in overrides.items() if name not in _FIELDS}


def conversation_config(
    engine: MemoryEngine | None,
    fleet: "Fleet | None",
    config: Config | str | Path | None,
    overrides: Mapping[str, Any],
) -> Config:
    """Return the configuration of a conversation.

    Raises:
        ConfigError: It is wrong, or the engine or the fleet would not use all that is given.
    """
    given = sorted(name for name in _FIELDS if overrides.get(name) is not None)
    if engine is not None and fleet is not None:
        raise ConfigError("engine= and fleet= are both given", hint="Give one of them")
    if engine is not None:
        hint = "Give them to the engine: MemoryEngine(config)"
        if given:
            raise ConfigError(f"{', '.join(given)} cannot be set beside engine=", hint=hint)
        if config is not None and load_config(config, {}) != engine.config:
            raise ConfigError("config= differs from the configuration of engine=", hint=hint)
        return engine.config
    if fleet is None:
        return load_config(config, overrides)
    if "path" in given:
        hint = "A fleet's copies are in the folder of [fleet] cache"
        raise ConfigError("path cannot be set beside fleet=", hint=hint)
    config = load_config(fleet.config if config is None else config, overrides)
    return replace(config, memory=replace(config.memory, path=str(fleet.worker.cache)))


def config_source(config: Config | str | Path | None, shared: object | None) -> str:
    """Return where a processor's configuration comes from, for its start line.

    ``shared`` is the engine or the fleet that the application gives.
    """
    if isinstance(config, Config) or (shared is not None and config is None):
        return "given in code"
    file = file_to_read(Path(config).expanduser() if config else None, os.environ)
    return str(file) if file else "defaults"


def load_config(config: Config | str | Path | None, overrides: Mapping[str, Any]) -> Config:
    """Return a configuration with overrides applied; None overrides nothing.

    Args:
        config: A configuration, the path of a config.toml, or None for the default one.

    Raises:
        ConfigError: The configuration is wrong, or a value is out of range.
    """
    if not isinstance(config, Config):
        config = configuration.load(Path(config).expanduser() if config else None)
    for name, (section, key) in _FIELDS.items():
        if (value := overrides.get(name)) is not None:
            given = {key: str(value) if name == "path" else value}
            config = replace(config, **{section: replace(getattr(config, section), **given)})
    config, path = configuration.check_ranges(config), config.memory.path
    try:
        is_named = path.strip() and "\0" not in str(config.folder)
    except RuntimeError:  # the home of an unknown user
        is_named = False
    if not is_named:
        hint = "Name one, for example ~/.slowcat"
        raise ConfigError(f"memory.path: {path!r} names no folder", hint=hint)
    return config


@dataclass(kw_only=True)
class ConversationDeps:
    """What a processor and the parts of its conversation share.

    Attributes:
        config: The processor's, which may differ from the engine's.
        llm_is_local: As the application set it, until the memory is open.
        neighbours: None are known before the pipeline is set up.
        engine: Set once the memory is open, before any part of a conversation is made.
    """

    config: Config
    audience: Audience
    speaker_names: Mapping[str, str]
    off_record: OffRecord
    llm_is_local: bool
    messages: ContextMessages
    guard: FrameGuard
    reports: Reports
    neighbours: PipelineNeighbours = PipelineNeighbours()
    engine: MemoryEngine = field(init=False)

    @property
    def strips(self) -> bool:
        """Whether memories leave the context when another person speaks."""
        return self.audience.apart and self.config.people.strip_on_change

    def pack(self, recall: Recollection) -> Packed:
        """Write a recollection as the block for the LLM. Takes a fraction of a millisecond."""
        return self.engine.blocks.pack(recall, self.engine.clock())
