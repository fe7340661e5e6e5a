"""The LLM protocol: a prompt in, a checked value out."""

from typing import Generic, Protocol, TypeVar

from msgspec import Struct

T = TypeVar("T", bound=Struct)


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt. Memory texts in it are neutralised already (``core.text``).

    Attributes:
        job: The job that asks, for the run log and for recorded answers.
        version: Version of the job's wording.
        system: The instruction, the same for all prompts of a job.
        user: The content. What several prompts share comes first, so that a local server's prompt
            cache can be used.
        max_tokens: Of the answer.
        temperature: 0 to 1.
        model: Name of the model; "" for the configured one.
    """

    job: str
    version: int
    system: str
    user: str
    max_tokens: int = 512
    temperature: float = 0.1
    model: str = ""


class Answer(Struct, Generic[T], frozen=True, kw_only=True):
    """An LLM's answer.

    Attributes:
        value: Of the requested type, checked.
        model: Fingerprint of the model that answered.
        tokens_in: Prompt tokens.
        tokens_out: Tokens of the answer.
    """

    value: T
    model: str
    tokens_in: int = 0
    tokens_out: int = 0


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
            prompt: The prompt.
            into: Type of the answer: a struct that forbids unknown fields; its JSON schema is sent
                to the LLM.

        Returns:
            The answer.

        Raises:
            EndpointError: The server is away, refuses, or took too long.
            BadAnswerError: The answer cannot be used, after one repair.
            PromptTooLongError: The prompt is longer than the server reads.
        """


def is_remote(llm: LLM) -> bool:
    """Return whether an LLM runs on another machine; True for an object that does not say."""
    return bool(getattr(llm, "remote", True))
