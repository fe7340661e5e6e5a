"""From what an LLM wrote to a checked value: tolerant of how it is wrapped, never of what it says.

An answer may come in a code fence, amid prose, or after reasoning. What is taken is a whole JSON
object that stands there as written; nothing is completed, corrected or made up. No message of an
error quotes the answer.
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
# What ends reasoning of which the server ate the beginning. No pattern here may begin with "any
# text": it would be tried from every character on, and take minutes for an answer of 64 kB.
_REASONED = re.compile(rf"</(?:{_TAGS})>|<\|channel\|>final[^<>]{{0,40}}<\|message\|>", re.I)
_FENCE = re.compile(r"```[a-zA-Z]{0,10}\s{0,9}(?=\{)")
_OBJECT = re.compile(r'\{\s{0,99}["}]')  # as JSON begins; other braces are prose


class _RefusedError(ValueError):
    pass


def parse(text: str, into: type[T]) -> T:
    """Read an answer.

    Args:
        text: What the LLM wrote.
        into: What it must be, nothing more and nothing less. Give it a field that is required:
            ``{}`` is an answer too.

    Returns:
        The value; lone surrogates are dropped from its strings.

    Raises:
        BadAnswerError: There is no such value in it; the message says why, and quotes nothing.
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
    """Drop what precedes the answer; an answer that begins at once may hold any tag as a string."""
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
        # The first object or none: within one that was cut off, a smaller one may look whole.
        value, _ = _DECODER.raw_decode(text, start.start())
    except _RefusedError as error:
        raise BadAnswerError(str(error)) from None
    except ValueError:
        raise BadAnswerError("its JSON is broken or not complete") from None
    return value


def _clean(value: Any) -> Any:
    """Drop lone surrogates, which no file and no server takes."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "ignore").decode("utf-8")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _why(message: str) -> str:
    """Say what a check found, without the words that it found."""
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
