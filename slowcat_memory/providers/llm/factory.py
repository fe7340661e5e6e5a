"""Opens the LLM for idle work; another provider is another branch here."""

from loguru import logger

from slowcat_memory.providers.llm.base import ThinkingOptions
from slowcat_memory.providers.llm.breaker import CircuitBreakerLLM


def open_llm(options: ThinkingOptions) -> CircuitBreakerLLM | None:
    """Return the LLM, or None and log a line if no URL is set; nothing is sent yet.

    Raises:
        ConfigError: The URL is malformed.
        EndpointRefusedError: The server is not on this machine, and that is not allowed.
    """
    if not options.url:
        logger.info(
            "No LLM for idle work. To have one, start an OpenAI-compatible server on this "
            'machine and set [idle_llm] url = "http://127.0.0.1:1234/v1"'
        )
        return None
    from slowcat_memory.providers.llm.openai import OpenAILLM  # takes half a second

    llm = OpenAILLM(options)
    return CircuitBreakerLLM(llm, llm.probe, close=llm.close)
