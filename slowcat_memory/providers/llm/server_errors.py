"""What a server's error means, whoever wrote the server."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

Meaning = Literal["too long", "counting", "form", "bad answer", "unknown model", "away"]

MAX_RETRY_AFTER_S = 3600.0

# The first that is found in what the server says wins, in this order.
_SAID: tuple[tuple[Meaning, str], ...] = (
    (
        "too long",
        r"exceed_context_size|context_length_exceeded|exceeds the available context"
        r"|context size has been exceeded|maximum context length|exceed context window"
        r"|context the overflows|(?:prompt|input) is too long|too many tokens"
        r"|greater than the context length|longer than the model's context",
    ),
    ("counting", r"stream_options|include_usage"),
    # llama.cpp discards an answer that its own template does not take back.
    ("bad answer", r"produced output that does not match|failed to parse (?:input|output) at pos"),
    ("form", r"response_format|literal_error|grammar|json_schema|json_object|guided|samplers"),
    ("unknown model", r"model\b.{0,200}\b(?:not found|does not exist|not exist)"),
)
_SAID_PATTERNS = tuple((meaning, re.compile(words, re.I | re.S)) for meaning, words in _SAID)


def meaning_of(status: int, text: str) -> Meaning:
    """Find out what an error means.

    Args:
        status: The HTTP status; 0 for an error in the middle of a reply.
        text: What the server said.

    Returns:
        "too long": the prompt. "counting": it does not count tokens in streams. "form": it does
        not know this way of asking for JSON. "bad answer": the LLM's answer is lost.
        "unknown model": it has no such model. "away": whatever else.
    """
    if status in (401, 403, 407, 429):
        return "away"
    for meaning, pattern in _SAID_PATTERNS:
        if pattern.search(text):
            return meaning
    if status in (400, 422):  # most say what they do not know, some do not
        return "form"
    return "unknown model" if status == 404 else "away"


def seconds_to_wait(retry_after: str, now: datetime | None = None) -> float:
    """Read a ``Retry-After`` header.

    Args:
        retry_after: Seconds, or a date; "" without one.
        now: The time, aware; None for this machine's.

    Returns:
        Seconds, 0 when it says nothing that can be read, one hour at most.
    """
    try:
        wait = float(retry_after)
    except ValueError:
        try:
            then = parsedate_to_datetime(retry_after)
            wait = (then - (now or datetime.now(UTC))).total_seconds()
        except (ValueError, TypeError):
            return 0.0
    return min(max(wait, 0.0), MAX_RETRY_AFTER_S) if wait == wait else 0.0
