"""A server's kind, model and context length, and the meaning of its errors.

Every server offers ``/v1/models``; other information is optional, and elsewhere on each server.
"""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, Literal

from msgspec import Struct

from slowcat_memory.errors import EndpointError

MAX_RETRY_AFTER_S = 3600.0
LABEL_CHARS = 80


class ServerError(StrEnum):
    """The meaning of an error for the request."""

    TOO_LONG = "too long"  # the prompt
    COUNTING = "counting"  # it cannot count tokens in streams
    JSON_MODE = "json mode"  # it does not support this JSON mode
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
            r"|greater than the context length|longer than the model's context"
            r"|exceeds? (?:the |max |maximum )*context length|prompt too long"
            r"|context length of only|`inputs` tokens .{0,60}must be <=",
        ),
        (ServerError.COUNTING, r"stream_options|include_usage"),
        # llama.cpp discards an answer that its own template cannot parse.
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
    """Return the meaning of an error; ``status`` is 0 for one in the middle of a reply."""
    if status in (401, 403, 407, 429):
        return ServerError.AWAY
    for error, pattern in _PATTERNS:
        if pattern.search(text):
            return error
    if status in (400, 422):  # most servers name the unsupported argument, some do not
        return ServerError.JSON_MODE
    return ServerError.UNKNOWN_MODEL if status == 404 else ServerError.AWAY


def seconds_to_wait(retry_after: str, now: datetime | None = None) -> float:
    """Return the seconds that a ``Retry-After`` header asks for, at most one hour, 0 if unreadable.

    Args:
        retry_after: Seconds, or a date; "" without a header.
        now: Aware; None for this machine's time.
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


Kind = Literal["llama.cpp", "llama-cpp-python", "lm-studio", "ollama", "vllm", "server"]
Get = Callable[[str], Awaitable[Any]]
"""Returns decoded JSON from a path of the server, for example "/v1/models"; None on failure."""

# By the `owned_by` of a server's models.
_OWNERS: dict[str, Kind] = {
    "llamacpp": "llama.cpp",
    "me": "llama-cpp-python",
    "organization_owner": "lm-studio",
    "library": "ollama",
    "vllm": "vllm",
}
# Path and keys of the context length in effect, by kind of server.
_CONTEXT_PATHS: dict[Kind, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "llama.cpp": (
        ("/props", ("default_generation_settings", "n_ctx")),
        ("/slots", ("0", "n_ctx")),
    ),
    "lm-studio": (("/api/v0/models", ("data", "id={model}", "loaded_context_length")),),
    "ollama": (("/api/ps", ("models", "model={model}", "context_length")),),
}
# Keys of the context length in an entry of /v1/models.
_CONTEXT_KEYS: tuple[tuple[str, ...], ...] = (("max_model_len",), ("meta", "n_ctx"))
_MAX_CONTEXT = 1 << 24


class Server(Struct, frozen=True, kw_only=True):
    """A server; ``context`` is its context length in tokens, 0 if unknown.

    ``model`` is the model's name as requests must have it; ``name`` is for people, see ``label``.
    """

    kind: Kind
    model: str
    context: int = 0

    @property
    def name(self) -> str:
        return label(self.model)


def label(name: str) -> str:
    """Return a server's name of something, for logs and records.

    One line of printable characters, 80 at most, whatever the server sent.
    """
    printable = "".join(sign if sign.isprintable() else " " for sign in name[: 20 * LABEL_CHARS])
    return " ".join(printable.split())[:LABEL_CHARS].rstrip()


async def identify(get: Get, wanted: str) -> Server | None:
    """Return the server's own description; None if it is unreachable.

    Args:
        wanted: Name of the model, "" for the first that the server offers.

    Raises:
        EndpointError: It offers no model.
    """
    listing = await get("/v1/models")
    if listing is None:
        return None
    entries = [entry for entry in _list(listing) if isinstance(entry, dict)]
    entry = next((e for e in entries if e.get("id") == wanted or not wanted), {})
    model = wanted or str(entry.get("id") or "")[:200]
    if not model:
        raise EndpointError("the LLM server offers no model", hint="Load one, or name it")
    owner = str((entry or (entries[0] if entries else {})).get("owned_by", ""))
    kind = _OWNERS.get(owner, "server")
    return Server(kind=kind, model=model, context=await _context(get, kind, model, entry))


async def _context(get: Get, kind: Kind, model: str, entry: dict[str, Any]) -> int:
    for path, keys in _CONTEXT_PATHS.get(kind, ()):
        if tokens := _tokens(await get(path), keys, model):
            return tokens
    return next((found for keys in _CONTEXT_KEYS if (found := _tokens(entry, keys, model))), 0)


def _tokens(value: Any, keys: tuple[str, ...], model: str) -> int:
    """Follow keys into a reply: a name, a position, or "name={model}" within a list."""
    for key in keys:
        name, chosen, _ = key.partition("=")
        if chosen:
            items = value if isinstance(value, list) else []
            value = next((i for i in items if isinstance(i, dict) and i.get(name) == model), None)
        elif isinstance(value, list):
            value = value[int(key)] if key.isdigit() and int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    real = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MAX_CONTEXT
    return value if real else 0


def _list(listing: Any) -> list[Any]:
    data = listing.get("data") if isinstance(listing, dict) else None
    return data if isinstance(data, list) else []
