"""Parses an LLM's text into a checked value: tolerant of the wrapping, strict about the content.

An answer may come in a code fence, amid prose, or after reasoning. Only a whole JSON object is
accepted, as written; nothing is completed, corrected or invented. No error message quotes the
answer.
"""

import json
import math
import re
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec import Struct

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


class _RefusedError(ValueError):
    pass


def parse(text: str, into: type[T]) -> T:
    """Return the value in an LLM's text; lone surrogates are removed from its strings.

    Args:
        into: The exact type. It needs a required field: ``{}`` is an answer too.

    Raises:
        BadAnswerError: The text holds no such value; the message says why, and quotes nothing.
    """
    if len(text) > MAX_CHARS:
        raise BadAnswerError(f"it is longer than {MAX_CHARS} characters")
    try:
        return msgspec.convert(_clean(_object(_without_reasoning(text))), into, strict=True)
    except msgspec.ValidationError as error:
        raise BadAnswerError(_why(str(error))) from None
    except RecursionError:
        raise BadAnswerError("it is nested too deeply") from None


def _without_reasoning(text: str) -> str:
    """Remove what precedes the answer; an answer at the very beginning may hold tags as text."""
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
        # The first object only: inside one that was cut off, a smaller one may look whole.
        value, _ = _DECODER.raw_decode(text, start.start())
    except _RefusedError as error:
        raise BadAnswerError(str(error)) from None
    except ValueError:
        raise BadAnswerError("its JSON is broken or not complete") from None
    return value


def _clean(value: Any) -> Any:
    """Remove lone surrogates, which no file and no server accepts."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "ignore").decode("utf-8")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _why(message: str) -> str:
    """Return why a check failed, without the text that it found."""
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
