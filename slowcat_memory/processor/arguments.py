"""The processor's arguments, and the configuration that they override."""

from pathlib import Path

from msgspec.structs import replace

from slowcat_memory import config as configuration
from slowcat_memory.config import Config
from slowcat_memory.errors import ConfigError


def read(config: Config | str | Path | None) -> Config:
    """Read the configuration that an application names.

    Args:
        config: A configuration, the path of a config.toml, or None for the usual one.

    Returns:
        The configuration.

    Raises:
        ConfigError: It is wrong.
    """
    if isinstance(config, Config):
        return config
    return configuration.load(Path(config).expanduser() if config else None)


def override(
    config: Config,
    path: str | Path | None,
    embedding_model: str | None,
    hot_cache_size: int | None,
    memory_token_budget: int | None,
    context_llm_endpoint: str | None,
) -> Config:
    """Let a few arguments win over the configuration.

    Args:
        config: The configuration.
        path: The store's folder, None to leave it.
        embedding_model: Name of a sentence-transformers model, None to leave it.
        hot_cache_size: Latest memories to keep in memory, None to leave it.
        memory_token_budget: Size of a turn's block, None to leave it.
        context_llm_endpoint: URL of the LLM that thinks, None to leave it.

    Returns:
        The configuration with these.

    Raises:
        ConfigError: A negative size.
    """
    if memory_token_budget is not None and memory_token_budget < 0:
        raise ConfigError("memory_token_budget is negative", hint="0 injects nothing")
    memory, pack, embedding = config.memory, config.pack, config.embedding
    thinking = config.thinking
    if path is not None:
        memory = replace(memory, path=str(path))
    if hot_cache_size is not None:
        memory = replace(memory, hot_cache_size=hot_cache_size)
    if memory_token_budget is not None:
        pack = replace(pack, memory_token_budget=memory_token_budget)
    if embedding_model is not None:
        embedding = replace(embedding, model=embedding_model)
    if context_llm_endpoint is not None:
        thinking = replace(thinking, url=context_llm_endpoint)
    return replace(config, memory=memory, pack=pack, embedding=embedding, thinking=thinking)
