"""Options of the LLM for idle work."""

from typing import Annotated

from msgspec import Meta, Struct

Seconds = Annotated[float, Meta(gt=0, le=3600)]


class ThinkingOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The LLM that works on memories while no one is speaking.

    Attributes:
        url: Base URL of an OpenAI-compatible server, up to and including "/v1"; "" works without
            an LLM: indexes and tiers are kept, and memories stay in the user's own words.
        model: Name of the model, "" for the first that the server offers.
        allow_remote: Allow memories to leave this machine for ``url``.
        context_tokens: Context length of the model in tokens; 0 asks the server, and if that does
            not know, prompts have 2,500 at most.
        temperature: 0 to 2, in place of what each job asks for; negative (-1) keeps the job's.
        reasoning_tokens: Tokens (0 to 100,000) that the model may write before an answer, besides
            the answer's own; 1,000 or more for a model whose reasoning cannot be switched off.
        max_answer_chars: Characters of an answer (100 to 1,000,000) beyond which it is rejected as
            runaway output.
        connect_s: Seconds to connect.
        first_token_s: Seconds to the first token, reading of the prompt included; 120 for a
            server that loads its model on demand.
        between_tokens_s: Seconds between two tokens.
        total_s: Seconds for one request in all.
    """

    # Behaviour.
    url: str = ""
    model: str = ""
    allow_remote: bool = False
    context_tokens: Annotated[int, Meta(ge=0, le=1 << 24)] = 0
    temperature: Annotated[float, Meta(ge=-1, le=2)] = -1.0
    reasoning_tokens: Annotated[int, Meta(ge=0, le=100_000)] = 0
    max_answer_chars: Annotated[int, Meta(ge=100, le=1_000_000)] = 20_000
    # Timeouts.
    connect_s: Seconds = 1.0
    first_token_s: Seconds = 30.0
    between_tokens_s: Seconds = 10.0
    total_s: Seconds = 120.0
