"""Which LLM thinks while nobody speaks, and how patient one is with it."""

from loguru import logger
from msgspec import Struct

from slowcat_memory.providers.llm.breaker import CircuitBreakerLLM


class ThinkingOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The LLM that thinks while nobody speaks.

    Attributes:
        url: Base URL of an OpenAI-compatible server, up to and including "/v1"; "" thinks without
            an LLM: indexes and tiers are kept, and no memory is put into other words.
        model: Name of the model, "" for the first that the server offers.
        allow_remote: Let memories leave this machine for ``url``.
        context_tokens: Tokens that the model reads and writes in all; 0 asks the server, and
            where that does not tell, prompts have 2,500 at most.
        temperature: 0 to 1; instead of what each job asks for. Negative: what each job asks for.
        reasoning_tokens: Tokens that the model may write before an answer, beside the answer's own;
            1,000 or more for a model that reasons and cannot be told not to.
        max_answer_chars: Characters of an answer, beyond which the LLM runs wild.
        connect_s: Seconds to connect.
        first_token_s: Seconds until the first token, the prompt's reading included; 120 where a
            server loads its model when it is asked.
        between_tokens_s: Seconds between two tokens.
        total_s: Seconds for one request in all.
    """

    # Behaviour.
    url: str = ""
    model: str = ""
    allow_remote: bool = False
    context_tokens: int = 0
    temperature: float = -1.0
    reasoning_tokens: int = 0
    max_answer_chars: int = 20_000
    # Patience.
    connect_s: float = 1.0
    first_token_s: float = 30.0
    between_tokens_s: float = 10.0
    total_s: float = 120.0


def open_llm(options: ThinkingOptions) -> CircuitBreakerLLM | None:
    """Prepare the LLM; nothing is sent yet, and the server may be away.

    Args:
        options: Which server.

    Returns:
        The LLM; None when none is named, which is said in the log.

    Raises:
        ConfigError: The URL is malformed.
        EndpointRefusedError: The server is not on this machine, and that is not allowed.
    """
    if not options.url:
        logger.info(
            "No LLM thinks about memories. To have one, start an OpenAI-compatible server on this "
            'machine and set [thinking] url = "http://127.0.0.1:1234/v1"'
        )
        return None
    from slowcat_memory.providers.llm.openai import OpenAILLM  # takes half a second

    llm = OpenAILLM(options)
    return CircuitBreakerLLM(llm, llm.probe, close=llm.close)
