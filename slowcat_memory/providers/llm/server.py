"""A server: its kind and models, how it is asked for JSON, and what its errors mean.

Every server offers ``/v1/models``; other information is optional, and elsewhere on each kind of server.
One that tells no context length is tried with ``ASSUMED`` tokens: assuming the smallest would cost
several times as many prompts on every other server. A prompt that it refuses, or cuts, makes the
length half as long for all further prompts.
"""

import http.client
import json
import re
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from enum import StrEnum
from functools import cache
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.errors import EndpointError

MAX_RETRY_AFTER_S = 3600.0
LABEL_CHARS = 80
ASSUMED = 8192  # tokens
SMALLEST = 2048  # that a server runs with
# For the prompt; the estimate may be wrong by a third, and the answer is long.
SHARE_OF_CONTEXT = 0.6
TRUNCATED_BELOW = 0.6  # of our estimate: a server that read less has cut the prompt
TRUNCATION_SEEN_FROM = 256  # tokens; the estimate is too rough below
_MOST = 1 << 24
_MOST_BYTES = 1 << 20  # of a list of models
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


# ------------------------------------------------------------------- reading a server

Fetch = Callable[[str], Any]
"""Returns the JSON at a link of the base URL, "models" or "/props"; raises ``EndpointError``."""

Models = dict[str, int | None]
"""LLMs that run on a server's machine: the context length in tokens, 0 if it is not told, None while
they are not loaded."""


def _listed_models(fetch: Fetch) -> Models:
    return {
        str(row["id"]): _tokens(row, "max_model_len") or _tokens(row, "meta", "n_ctx")
        for row in fetch("models")["data"] or ()
        if row["id"]
    }


def _lm_studio_models(fetch: Fetch) -> Models:
    return {
        row["id"]: _tokens(row, "loaded_context_length") if row["state"] == "loaded" else None
        for row in fetch("/api/v0/models")["data"]
        if row["type"] in ("llm", "vlm")
    }


def _ollama_models(fetch: Fetch) -> Models:
    """Leave out models that Ollama passes on to another machine, and those that only embed."""
    running = {row["name"]: _tokens(row, "context_length") for row in fetch("/api/ps")["models"]}
    return {
        row["name"]: running.get(row["name"])
        for row in fetch("/api/tags")["models"]
        if not (row.get("remote_host") or row.get("remote_model"))
        and "bert" not in row.get("details", {}).get("family", "")
    }


def _llama_cpp_models(fetch: Fetch) -> Models:
    """Raise ``LookupError`` for a server of another kind."""
    rows, props = fetch("models")["data"], None
    if any(row["owned_by"] != "llamacpp" for row in rows):
        raise LookupError
    with suppress(EndpointError):
        props = fetch("/props")
    told = _tokens(props, "default_generation_settings", "n_ctx")
    return {
        row["id"]: told or _tokens(row, "meta", "n_ctx")
        if row.get("status", {}).get("value", "loaded") == "loaded"
        else None
        for row in rows
    }


def _tokens(reply: Any, *path: str) -> int:
    """Return the context length at a path into a reply; 0 if there is none."""
    try:
        for step in path:
            reply = reply[step]
    except (LookupError, TypeError):
        return 0
    return reply if type(reply) is int and 0 < reply <= _MOST else 0


class ServerKind(Struct, frozen=True):
    """A kind of model server: its default port, and commands that start it with a small model.

    ``models`` reads its models.
    """

    name: str
    port: int
    start: tuple[str, ...]
    models: Callable[[Fetch], Models] = _listed_models


KNOWN = (
    ServerKind(
        "LM Studio",
        1234,
        ("lms get qwen3-4b", "lms load qwen3-4b", "lms server start"),
        _lm_studio_models,
    ),
    ServerKind("Ollama", 11434, ("ollama serve", "ollama pull llama3.2"), _ollama_models),
    ServerKind(
        "llama.cpp",
        8080,
        ("llama-server -hf ggml-org/gemma-3-4b-it-GGUF --port 8080",),
        _llama_cpp_models,
    ),
)
ANY = ServerKind("server", 0, ())


class Server(Struct, frozen=True):
    """A model server that answers; ``url`` ends with ``/v1``, and ``models`` are those that chat."""

    kind: str
    url: str
    models: Models

    def model(self, wanted: str = "") -> str:
        """Return ``wanted``, or the first model, a loaded one if there is any.

        Raises:
            EndpointError: The server offers none.
        """
        if wanted or self.models:
            return wanted or min(self.models, key=lambda name: self.models[name] is None)
        raise EndpointError(f"{self.kind} at {self.url} has no model loaded", hint="Load one")


def read_server(url: str, timeout_s: float, kinds: Sequence[ServerKind] = (*KNOWN, ANY)) -> Server:
    """Return the server at a URL, as the first of some kinds that it can be.

    Without proxy or redirects; blocks.

    Raises:
        EndpointError: It does not answer, or is of none of them.
    """
    url = url.rstrip("/")
    fetch = cache(lambda link: _fetch(urljoin(f"{url}/", link), timeout_s))
    fetch("models")  # every kind has it: a server that is away is asked once
    for kind in kinds:
        with suppress(EndpointError, LookupError, TypeError, AttributeError):
            models = kind.models(fetch).items()
            # Of models elsewhere, Ollama ends the names with "cloud".
            chat = {
                name: context
                for name, context in models
                if "embed" not in name.casefold() and not name.endswith("cloud")
            }
            return Server(kind.name, url, chat)
    raise _no_server(url)


def _fetch(url: str, timeout_s: float) -> Any:
    """Return the JSON at a URL.

    Raises:
        EndpointError: There is none.
    """
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    try:
        with closing(kind(parts.hostname or "", parts.port, timeout=timeout_s)) as connection:
            connection.request("GET", parts.path)
            response = connection.getresponse()
            body = response.read(_MOST_BYTES)
        if response.status != 200:
            hint = "Does the URL end in /v1?"
            raise EndpointError(f"{url} answers with status {response.status}", hint=hint)
        return json.loads(body)
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        raise _no_server(url) from error


def _no_server(url: str) -> EndpointError:
    hint = "Is the server running, and does the URL end in /v1?"
    return EndpointError(f"no model server answers at {url}", hint=hint)


def label(name: str) -> str:
    """Return a server's name of something, for logs and records.

    One line of printable characters, 80 at most, whatever the server sent.
    """
    printable = "".join(sign if sign.isprintable() else " " for sign in name[: 20 * LABEL_CHARS])
    return " ".join(printable.split())[:LABEL_CHARS].rstrip()


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
