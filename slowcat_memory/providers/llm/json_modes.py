"""Requests JSON in the strictest mode that a server accepts, and parses it into a checked value.

Parsing is tolerant of the wrapping and strict about the content: an answer may come in a code
fence, amid prose, or after reasoning, but only a whole JSON object is accepted; a comma before a
closing bracket is dropped, and nothing else is completed, corrected or invented. Where the wanted
type names a field for it (``PROSE``), an answer without any JSON can be taken as that field's text.
No error message quotes the answer.
"""

import json
import math
import re
from functools import cache
from typing import Any, Literal, NoReturn, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.errors import BadAnswerError

T = TypeVar("T", bound=Struct)

MAX_CHARS = 64 << 10
MAX_DIGITS = 20
_TAGS = "think|thinking|thought|reasoning|seed:think"
_REASONING = re.compile(rf"<({_TAGS})\b[^<>]{{0,40}}>.*?(?:</\1>|\Z)", re.S | re.I)
# Ends reasoning whose beginning the server removed. No pattern here may begin with "any text": it
# would be tried from every character on, and take minutes for an answer of 64 kB.
_REASONED = re.compile(rf"</(?:{_TAGS})>|<\|channel\|>final[^<>]{{0,40}}<\|message\|>", re.I)
_FENCE = re.compile(r"```[a-zA-Z]{0,10}\s{0,9}(?=\{)")
_OBJECT = re.compile(r'\{\s{0,99}["}]')  # the beginning of JSON; other braces are prose
# A string, whole or cut off, or a comma that no item follows. Each character is looked at once.
_COMMA = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))|,(?=\s{0,99}[}\]])', re.S)


class _RefusedError(ValueError):
    pass


def parse(text: str, into: type[T], *, prose: bool = False) -> T:
    """Return the value in an LLM's text; lone surrogates are removed from its strings.

    Args:
        into: The exact type. It needs a required field, since ``{}`` is an answer too.
        prose: Take a text without JSON for the field that ``into.PROSE`` names, if it names one.

    Raises:
        BadAnswerError: The text has no such value; the message gives the reason without quotes.
    """
    if len(text) > MAX_CHARS:
        raise BadAnswerError(f"it is longer than {MAX_CHARS} characters")
    try:
        answer = _without_reasoning(text)
        field = getattr(into, "PROSE", "") if prose and not _OBJECT.search(answer) else ""
        value = {field: answer} if field and answer else _object(answer)
        return msgspec.convert(_clean(value), into, strict=True)
    except msgspec.ValidationError as error:
        raise BadAnswerError(_why(str(error))) from None
    except RecursionError:
        raise BadAnswerError("it is nested too deeply") from None


def _without_reasoning(text: str) -> str:
    """Remove reasoning before the answer; an answer at the very start may contain tags as text."""
    text = text.strip()
    if text.startswith(("{", "```")):
        return text
    text = _REASONING.sub("", text)
    ends = [found.end() for found in _REASONED.finditer(text)]
    return text[ends[-1] if ends else 0 :].strip()


def _object(text: str) -> dict[str, Any]:
    if not text:
        raise BadAnswerError("it is empty")
    fence = None if text.startswith("{") else _FENCE.search(text)
    start = _OBJECT.search(text, fence.end() if fence else 0)
    if not start:
        raise BadAnswerError("there is no JSON object in it")
    try:
        return _first_object(text, start.start())
    except _RefusedError as error:
        raise BadAnswerError(str(error)) from None
    except ValueError:
        raise BadAnswerError("its JSON is broken or not complete") from None


def _first_object(text: str, start: int) -> dict[str, Any]:
    """Decode the first object only: a truncated one may contain a smaller complete one."""
    value: dict[str, Any]
    try:
        value, _ = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError:
        value, _ = _DECODER.raw_decode(_COMMA.sub(lambda found: found[1] or "", text[start:]))
    return value


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "ignore").decode("utf-8")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _why(message: str) -> str:
    """Return msgspec's reason without the quoted text."""
    what, _, where = message.partition(" - at `$")
    if "unknown field" in what:
        what = "a field that was not asked for"
    elif "enum value" in what:
        what = "a value that is not in the list"
    return f"{what}, at {where.strip('.`')}" if where else what


def _no_constant(name: str) -> NoReturn:
    raise _RefusedError("it has a number that is none")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _RefusedError("it has a number without end")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _RefusedError("it has a number without end")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _RefusedError("it has a field twice")
    return value


_DECODER = json.JSONDecoder(
    strict=False,  # line breaks within strings
    parse_constant=_no_constant,
    parse_int=_integer,
    parse_float=_number,
    object_pairs_hook=_unique,
)


Form = Literal["json_schema", "json_object", "prompt"]
FORMS: tuple[Form, ...] = ("json_schema", "json_object", "prompt")
MAX_LENGTH = 1000  # a grammar repeats a rule that often; llama.cpp refuses more than 2,000
_DROPPED = {"title", "description", "default", "$defs", "discriminator"}
_LIMITS = {"maxLength", "minLength", "maxItems", "minItems"}


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


class JsonModes:
    """Remembers for each server (base URL, model, kind) the mode it accepted last."""

    def __init__(self) -> None:
        self._modes: dict[tuple[str, ...], JsonMode] = {}

    def mode_of(self, server: tuple[str, ...]) -> JsonMode:
        return self._modes.get(server, JsonMode())

    def remember(self, server: tuple[str, ...], mode: JsonMode) -> None:
        self._modes[server] = mode


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
