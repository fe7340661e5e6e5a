"""The context length of servers: configured, told by the server, or assumed and learned from errors.

A server that tells no length is tried with ``ASSUMED`` tokens: assuming the smallest would cost
several times as many prompts on every other server. A prompt that it refuses, or cuts, makes the
length smaller for all further prompts: to what its error names, or by a step.
"""

import re

ASSUMED = 8192  # tokens
SMALLER = (4096, 2048)  # lengths that servers run with, tried one after the other
# For the prompt; the estimate may be wrong by a third, and the answer is long.
SHARE_OF_CONTEXT = 0.6
TRUNCATED_BELOW = 0.6  # of our estimate: a server that read less has cut the prompt
TRUNCATION_SEEN_FROM = 256  # tokens; the estimate is too rough below
_LEAST, _MOST = 512, 1 << 24
# How servers name their context length in an error: llama.cpp, llama-cpp-python, vLLM, LM Studio,
# Ollama, text-generation-inference.
_NAMED = re.compile(
    r"\"?n_ctx\"?\s{0,3}[:=]\s{0,3}(\d{1,9})"
    r"|context (?:size|length|window)(?: is| of| limit)?(?: only)?\s?[:(]?\s?(\d{1,9})"
    r"|must be <= (\d{1,9})",
    re.I,
)
Server = tuple[str, ...]


class ContextSizes:
    """Remembers the lengths learned, for each server (base URL, model)."""

    def __init__(self) -> None:
        self._learned: dict[Server, int] = {}

    def known(self, server: Server, told: int) -> int:
        """Return the context length in tokens, 0 if unknown; ``told`` is configured, or 0."""
        learned = self._learned.get(server, 0)
        return min(told, learned) if told and learned else told or learned

    def prompt_tokens(self, server: Server, told: int) -> int:
        """Return how many tokens a prompt may have."""
        return int((self.known(server, told) or ASSUMED) * SHARE_OF_CONTEXT)

    def refused(self, server: Server, told: int, prompt_tokens: int, error: str = "") -> None:
        """Learn from a prompt that was too long, or was cut.

        Args:
            prompt_tokens: Estimate of its length.
            error: The server's words, "" without any.
        """
        before = self.known(server, told)
        if named := named_length(error):
            self._learned[server] = min(named, before or named)
        elif not told:
            self._learned[server] = _smaller(before or ASSUMED, prompt_tokens)


def named_length(error: str) -> int:
    """Return the context length that an error names, 0 if it names none."""
    lengths = (int(next(filter(None, found.groups()))) for found in _NAMED.finditer(error))
    return next((tokens for tokens in lengths if _LEAST <= tokens <= _MOST), 0)


def was_cut(estimate: int, tokens_read: int, *, known: bool) -> bool:
    """Return whether a server read only a part of a prompt.

    A cut prompt fills the context, whose length is a multiple of 1,024 tokens. If no length is told
    (``known``), this is a sign as well, and so is a long prompt whose tokens are not counted.
    """
    if estimate < TRUNCATION_SEEN_FROM:
        return False
    if not known and tokens_read <= 0:
        return estimate > SMALLER[0] * SHARE_OF_CONTEXT
    fills = not known and estimate > tokens_read and -tokens_read % 1024 <= 1
    return 0 < tokens_read < TRUNCATED_BELOW * estimate or (tokens_read > 0 and fills)


def _smaller(context: int, prompt_tokens: int) -> int:
    """Return the next smaller length for which a prompt of this size is too long."""
    fitting = (one for one in SMALLER if one < context and one * SHARE_OF_CONTEXT < prompt_tokens)
    return next(fitting, SMALLER[-1])
