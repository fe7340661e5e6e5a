"""What an error of an OpenAI-compatible server means, whichever server it is."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

MAX_RETRY_AFTER_S = 3600.0


class ServerError(StrEnum):
    """What an error means for the request."""

    TOO_LONG = "too long"  # the prompt
    COUNTING = "counting"  # it cannot count tokens in streams
    JSON_MODE = "json mode"  # it does not know this way of asking for JSON
    BAD_ANSWER = "bad answer"  # the LLM's answer is lost
    UNKNOWN_MODEL = "unknown model"
    AWAY = "away"  # anything else


# The first pattern found in the server's text decides.
_PATTERNS = tuple(
    (error, re.compile(pattern, re.I | re.S))
    for error, pattern in (
        (
            ServerError.TOO_LONG,
            r"exceed_context_size|context_length_exceeded|exceeds the available context"
            r"|context size has been exceeded|maximum context length|exceed context window"
            r"|context the overflows|(?:prompt|input) is too long|too many tokens"
            r"|greater than the context length|longer than the model's context",
        ),
        (ServerError.COUNTING, r"stream_options|include_usage"),
        # llama.cpp discards an answer that its own template does not take back.
        (
            ServerError.BAD_ANSWER,
            r"produced output that does not match|failed to parse (?:input|output) at pos",
        ),
        (
            ServerError.JSON_MODE,
            r"response_format|literal_error|grammar|json_schema|json_object|guided|samplers",
        ),
        (ServerError.UNKNOWN_MODEL, r"model\b.{0,200}\b(?:not found|does not exist|not exist)"),
    )
)


def classify(status: int, text: str) -> ServerError:
    """Return what an error means.

    Args:
        status: The HTTP status; 0 for an error in the middle of a reply.
    """
    if status in (401, 403, 407, 429):
        return ServerError.AWAY
    for error, pattern in _PATTERNS:
        if pattern.search(text):
            return error
    if status in (400, 422):  # most servers name what they do not know, some do not
        return ServerError.JSON_MODE
    return ServerError.UNKNOWN_MODEL if status == 404 else ServerError.AWAY


def seconds_to_wait(retry_after: str, now: datetime | None = None) -> float:
    """Return the seconds that a ``Retry-After`` header asks for, at most one hour.

    Args:
        retry_after: Seconds, or a date; "" without a header.
        now: The time, aware; None for this machine's.

    Returns:
        Seconds; 0 if the header cannot be read.
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
