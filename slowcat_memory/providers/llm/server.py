"""A server: its kind, model and context length, how it is asked for JSON, and what its errors mean.

Every server offers ``/v1/models``; other information is optional, and elsewhere on each server. One
that tells no context length is tried with ``ASSUMED`` tokens: assuming the smallest would cost
several times as many prompts on every other server. A prompt that it refuses, or cuts, makes the
length half as long for all further prompts.
"""

import json
import re
from collections.abc import Awaitable, Callable
from enum import StrEnum
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

MAX_RETRY_AFTER_S = 3600.0
LABEL_CHARS = 80
ASSUMED = 8192  # tokens
SMALLEST = 2048  # that a server runs with
# For the prompt; the estimate may be wrong by a third, and the answer is long.
SHARE_OF_CONTEXT = 0.6
TRUNCATED_BELOW = 0.6  # of our estimate: a server that read less has cut the prompt
TRUNCATION_SEEN_FROM = 256  # tokens; the estimate is too rough below
_MOST = 1 << 24
Form = Literal["json_schema", "json_object", "prompt"]
FORMS: tuple[Form, ...] = ("json_schema", "json_object", "prompt")
MAX_LENGTH = 1000  # a grammar repeats a rule that often; llama.cpp refuses more than 2,000
_DROPPED = {"title", "description", "default", "$defs", "discriminator"}
_LIMITS = {"maxLength", "minLength", "maxItems", "minItems"}


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


def seconds_to_wait(retry_after: str) -> float:
    """Return the seconds that a ``Retry-After`` header names, at most one hour; 0 for none."""
    try:
        return min(max(0.0, float(retry_after)), MAX_RETRY_AFTER_S)  # 0 for "nan" as well
    except ValueError:
        return 0.0


Kind = Literal["llama.cpp", "llama-cpp-python", "lm-studio", "ollama", "vllm", "server"]
Get = Callable[[str], Awaitable[Any]]
"""Returns decoded JSON from a link of the base URL, "models" or "/props"; None on failure."""

# By the `owned_by` of a server's models.
_OWNERS: dict[str, Kind] = {
    "llamacpp": "llama.cpp",
    "me": "llama-cpp-python",
    "organization_owner": "lm-studio",
    "library": "ollama",
    "vllm": "vllm",
}


class Server(Struct, frozen=True, kw_only=True):
    """A server; ``model`` is the model's name as requests must have it (see ``label``)."""

    kind: Kind
    model: str
    context: int = 0  # its length in tokens, 0 if unknown


def label(name: str) -> str:
    """Return a server's name of something, for logs and records.

    One line of printable characters, 80 at most, whatever the server sent.
    """
    printable = "".join(sign if sign.isprintable() else " " for sign in name[: 20 * LABEL_CHARS])
    return " ".join(printable.split())[:LABEL_CHARS].rstrip()


async def identify(get: Get, wanted: str) -> Server | None:
    """Return the server's own description; None if it is unreachable, or offers no model.

    Args:
        wanted: Name of the model, "" for the first that the server offers.
    """
    listing = await get("models")
    data = listing.get("data") if isinstance(listing, dict) else None
    entries = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
    entry = next((row for row in entries if not wanted or row.get("id") == wanted), {})
    model = wanted or str(entry.get("id") or "")[:200]
    if listing is None or not model:
        return None
    owner = str((entry or (entries[0] if entries else {})).get("owned_by", ""))
    kind = _OWNERS.get(owner, "server")
    return Server(kind=kind, model=model, context=await _context(get, kind, model, entry))


async def _context(get: Get, kind: Kind, model: str, entry: dict[str, Any]) -> int:
    """Return the context length in effect: as the kind of server tells it, else as listed; 0 for none."""
    for path, read in _CONTEXTS.get(kind, ()):
        if tokens := _tokens(read, await get(path), model):
            return tokens
    listed = (lambda row, _: row["max_model_len"], lambda row, _: row["meta"]["n_ctx"])
    return next((tokens for read in listed if (tokens := _tokens(read, entry, model))), 0)


def _entry(rows: Any, key: str, model: str) -> Any:
    return next(row for row in rows if row.get(key) == model)


Reader = Callable[[Any, str], Any]
"""Returns the context length from a reply and the name of the model; raises if it is not there."""

_CONTEXTS: dict[Kind, tuple[tuple[str, Reader], ...]] = {
    "llama.cpp": (
        ("/props", lambda told, _: told["default_generation_settings"]["n_ctx"]),
        ("/slots", lambda told, _: told[0]["n_ctx"]),
    ),
    "lm-studio": (
        ("/api/v0/models", lambda told, m: _entry(told["data"], "id", m)["loaded_context_length"]),
    ),
    "ollama": (("/api/ps", lambda told, m: _entry(told["models"], "model", m)["context_length"]),),
}


def _tokens(read: Reader, told: Any, model: str) -> int:
    try:
        value = read(told, model)
    except (LookupError, TypeError, AttributeError, StopIteration):
        return 0
    real = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST
    return value if real else 0


# ------------------------------------------------------------------- context length


def was_cut(estimate: int, tokens_read: int, *, known: bool) -> bool:
    """Return whether a server read only a part of a prompt.

    A cut prompt fills the context, whose length is a multiple of 1,024 tokens. If no length is told
    (``known``), this is a sign as well, and so is a long prompt whose tokens are not counted.
    """
    if estimate < TRUNCATION_SEEN_FROM:
        return False
    if not known and tokens_read <= 0:
        return estimate > ASSUMED // 2 * SHARE_OF_CONTEXT
    fills = not known and estimate > tokens_read and -tokens_read % 1024 <= 1
    return 0 < tokens_read < TRUNCATED_BELOW * estimate or (tokens_read > 0 and fills)


# ------------------------------------------------------------------- JSON


class JsonMode(Struct, frozen=True):
    """One way to request JSON."""

    # "json_schema": the server's grammar allows nothing else. "json_object": any JSON, with the
    # schema in the prompt too. "prompt": the prompt alone
    form: Form = "json_schema"
    usage: bool = True  # ask the server to count tokens

    def arguments(self, name: str, into: type[Struct]) -> dict[str, Any]:
        more: dict[str, Any] = {"stream_options": {"include_usage": True}} if self.usage else {}
        schema = schema_of(into)
        if self.form == "json_schema":
            body = {"name": name, "schema": schema, "strict": True}
            more["response_format"] = {"type": "json_schema", "json_schema": body}
        elif self.form == "json_object":
            more["response_format"] = {"type": "json_object", "schema": schema}
        return more

    def system(self, instruction: str, into: type[Struct]) -> str:
        if self.form == "json_schema":
            return instruction
        return f"{instruction}\n\nAnswer with one JSON object of this schema:\n{schema_text(into)}"

    def weaker(self, counting: bool = False) -> "JsonMode | None":
        """Return the next mode to try, None after the last.

        Args:
            counting: The server refuses to count tokens; then only that is dropped.
        """
        lower = FORMS[FORMS.index(self.form) + 1 :]
        if self.usage and (counting or not lower):
            return replace(self, usage=False)
        return replace(self, form=lower[0]) if lower else None


@cache
def schema_of(into: type[Struct]) -> dict[str, Any]:
    """Return a type's JSON schema in the subset that the grammars of local servers understand.

    References are resolved; limits are kept if grammars can count that far. Do not change the
    result.

    Args:
        into: A struct that does not contain itself.
    """
    (schema,), parts = msgspec.json.schema_components([into], ref_template="{name}")
    return _simplified(schema, parts)


@cache
def schema_text(into: type[Struct]) -> str:
    return json.dumps(schema_of(into), ensure_ascii=False)


def _simplified(part: Any, parts: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_simplified(item, parts) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _simplified(parts[part["$ref"]], parts)
    kept = {}
    for name, value in part.items():
        if name == "properties":
            kept[name] = {field: _simplified(rule, parts) for field, rule in value.items()}
        elif name not in _DROPPED and not (name in _LIMITS and value > MAX_LENGTH):
            kept[name] = _simplified(value, parts)
    return kept
