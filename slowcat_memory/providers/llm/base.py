"""The LLM protocol (a prompt in, a checked value out), and the options of the LLM for idle work."""

from collections.abc import Mapping
from typing import Annotated, Generic, Protocol, TypeVar

from msgspec import Meta, Struct

T = TypeVar("T", bound=Struct)
AUTO = "auto"  # a URL: to be looked for


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt. Memory texts in it are neutralised already (``core.text``)."""

    job: str  # name of the job, for the run log and for recorded answers
    version: int  # version of the job's wording
    system: str  # the instruction, the same for all prompts of a job
    # the content; parts common to several prompts come first, for a local server's prompt cache
    user: str
    max_tokens: int = 512  # of the answer
    temperature: float = 0.1  # 0 to 1
    model: str = ""  # name of the model; "" for the configured one
    job_temperature: float | None = None  # from ``[jobs.NAME]``: in place of both other ones


class Answer(Struct, Generic[T], frozen=True, kw_only=True):
    """An LLM's answer.

    Attributes:
        value: The usable part of it, of the requested type.
        model: The fingerprint of the model, "" before it is known.
        lost: Number of items that could not be used, by reason; the reasons quote nothing.
        whole: Whether it was not cut off: then what it leaves out is missing on purpose.
    """

    value: T
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    lost: Mapping[str, int] = {}
    whole: bool = True


class LLM(Protocol):
    """An LLM behind any kind of server.

    An object of another package may lack ``remote``; it counts as remote then (``is_remote``).
    """

    @property
    def prompt_tokens(self) -> int:
        """Tokens that a prompt may have, instruction included."""

    @property
    def remote(self) -> bool:
        """Whether it runs on another machine; memories marked local-only are not sent there."""

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """Send a prompt. Cancelling closes the connection, so that the server stops at once.

        Args:
            into: Type of the answer: a struct that forbids unknown fields; its JSON schema is sent
                to the LLM. See ``reply_parsing`` for what it may declare.

        Raises:
            EndpointError: The server is unreachable, refuses, or took too long.
            BadAnswerError: The answer is unusable, after one repair.
            PromptTooLongError: The prompt exceeds the server's context.
        """


def is_remote(llm: LLM) -> bool:
    """Return whether an LLM runs on another machine; True if it has no ``remote``."""
    return bool(getattr(llm, "remote", True))


Seconds = Annotated[float, Meta(gt=0, le=3600)]


class ThinkingOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The LLM that works on memories while no one is speaking.

    Attributes:
        url: Base URL of an OpenAI-compatible server, up to and including "/v1". "auto" looks for
            one of this user's on this machine, with a model that is loaded and runs here, until it
            finds one: the conversation's own, LM Studio, Ollama, llama.cpp. "" works without an
            LLM: indexes and tiers are kept, and memories stay in the user's own words.
        first_url: Where "auto" looks first; the processor sets it to the conversation's server.
        model: Name of the model, "" for the first that the server offers.
        allow_remote: Allow memories to leave this machine for ``url``.
        context_tokens: Context length of the model in tokens; 0 asks the server, and if that does
            not know, 8,192 are tried, then fewer.
        temperature: 0 to 2, in place of what each job asks for; negative (-1) keeps the job's.
        reasoning_tokens: Tokens (0 to 100,000) that the model may write before an answer, besides
            the answer's own; 1,000 or more for a model whose reasoning cannot be switched off.
        connect_s: Seconds to connect.
        first_token_s: Seconds to the first token, reading of the prompt included; 120 for a
            server that loads its model on demand.
        between_tokens_s: Seconds between two tokens.
        total_s: Seconds for one request in all.
    """

    # Behaviour.
    url: str = AUTO
    first_url: str = ""
    model: str = ""
    allow_remote: bool = False
    context_tokens: Annotated[int, Meta(ge=0, le=1 << 24)] = 0
    temperature: Annotated[float, Meta(ge=-1, le=2)] = -1.0
    reasoning_tokens: Annotated[int, Meta(ge=0, le=100_000)] = 0
    # Timeouts.
    connect_s: Seconds = 1.0
    first_token_s: Seconds = 30.0
    between_tokens_s: Seconds = 10.0
    total_s: Seconds = 120.0
