"""Finds the JSON values in an LLM's text: fenced, amid prose, after reasoning, cut off, or broken.

Correct JSON is read by the standard library. What it refuses is read by ``_TolerantReader``, which
accepts what has only one meaning (comments, a trailing comma, ``True``, keys without quotes) and
otherwise leaves out the smallest item around the fault. Nothing is completed: a string that does
not end is no string. Every function here takes time linear in the text.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from slowcat_memory.errors import BadAnswerError

MAX_VALUES = 500  # of one text
MAX_DIGITS = 20
MAX_DEPTH = 60
_TAGS = "think|thinking|thought|reasoning|seed:think"
_REASONING = re.compile(rf"<({_TAGS})\b[^<>]{{0,40}}>.*?(?:</\1>|\Z)", re.S | re.I)
# Ends reasoning whose beginning the server removed. No pattern here may begin with "any text": it
# would be tried from every character on, and take minutes for an answer of 64 kB.
_REASONED = re.compile(rf"</(?:{_TAGS})>|<\|channel\|>final[^<>]{{0,40}}<\|message\|>", re.I)
_FENCE = re.compile(r"```[a-zA-Z]{0,10}\s{0,9}(?=[{\[])")
# The beginning of JSON; other braces and brackets are prose.
_BEGINNING = re.compile(r"\{\s*+(?:[\"'}]|[A-Za-z_]\w*+\s*+:|/[/*])|\[\s*+[{\"'\]]")
_SPACE = re.compile(r"(?:\s++|//[^\n]*+|/\*(?:.*?\*/|.*\Z))*+", re.S)
_STRING = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.S)
_APOSTROPHES = re.compile(r"'([^'\"\\\n]*+)'(?=\s*+(?:[,:}\]]|\Z))")
_ESCAPE = re.compile(r"\\(.)", re.S)
_KEY = re.compile(r"([A-Za-z_]\w*+)(?=\s*+:)")
_WORD = re.compile(r"[^\s,:{}\[\]\"']++")
_WORDS = {"true": True, "false": False, "null": None, "none": None, "nan": math.nan}
# Ends of an item after which the next one begins, for lists of objects and of strings.
_END_OF_OBJECT = re.compile(r"\}\s*+(?=,\s*+\{|\{|\])")
_END_OF_STRING = re.compile(r"\"\s*+(?=,\s*+\"|\])")
_INCOMPLETE = object()


class NoNumber:
    """In place of a number that is none, or has no end: it fits no field."""


class FieldTwice:
    """In place of two different values of a field: it fits no field."""


class Found(Struct, frozen=True):
    """A list or object of a text.

    Attributes:
        whole: Whether it is complete; otherwise items are missing where it was cut off or broken.
        lost: Number of items left out because their JSON is broken.
    """

    value: Any
    whole: bool = True
    lost: int = 0


def without_reasoning(text: str) -> str:
    """Remove reasoning before the answer; an answer at the very start may contain tags as text."""
    text = text.strip()
    if text.startswith(("{", "[", "```")):
        return text
    text = _REASONING.sub("", text)
    ends = [found.end() for found in _REASONED.finditer(text)]
    return text[ends[-1] if ends else 0 :].strip()


def has_json(text: str) -> bool:
    """Return whether a text holds the beginning of a JSON list or object."""
    return _BEGINNING.search(text) is not None


def json_values(text: str) -> Iterator[Found]:
    """Yield the outermost lists and objects of a text, those of the first fence on if it has one.

    Raises:
        BadAnswerError: One is nested too deeply.
    """
    reader = _TolerantReader(text)
    fence = None if text.startswith(("{", "[")) else _FENCE.search(text)
    at = fence.end() if fence else 0
    for _ in range(MAX_VALUES):
        start = _BEGINNING.search(text, at)
        if start is None:
            return
        found, at = _value_at(text, start.start(), reader)
        if found.whole or found.value:
            yield found


def _value_at(text: str, start: int, reader: "_TolerantReader") -> tuple[Found, int]:
    try:
        value, end = _DECODER.raw_decode(text, start)
        return Found(value), end
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        found = reader.read(start)
        return found, max(reader.at, start + 1)


class _TolerantReader:
    """Reads JSON with faults. ``at`` is the position; ``_over`` ends all that is open there."""

    def __init__(self, text: str) -> None:
        self.at = 0
        self._text, self._over, self._lost = text, False, 0
        self._without_end = set[re.Pattern[str]]()  # they do not occur from here on

    def read(self, start: int) -> Found:
        """Read the list or object that begins at a position."""
        self.at, self._over, self._lost = start, False, 0
        value = self._value(0)
        return Found(value, whole=not self._over, lost=self._lost)

    def _value(self, depth: int) -> Any:
        """Return a value; a list or object lacks its rest, others are ``_INCOMPLETE``, if over."""
        if depth > MAX_DEPTH:
            raise _too_deep()
        sign = self._sign()
        if sign == "{":
            return self._object(depth)
        if sign == "[":
            return self._list(depth)
        return self._string() if sign in ('"', "'") else self._word()

    def _object(self, depth: int) -> dict[str, Any]:
        pairs = list[tuple[str, Any]]()
        self.at += 1
        while (sign := self._sign()) != "}":
            key = self._key(sign)
            value = _INCOMPLETE if self._over else self._value(depth + 1)
            if self._ends("}", value) or isinstance(value, dict | list):
                pairs.append((key, value))
            if self._over:
                return _joined(pairs)
        self.at += 1
        return _joined(pairs)

    def _list(self, depth: int) -> list[Any]:
        items, ending = list[Any](), _END_OF_STRING
        self.at += 1
        while (sign := self._sign()) != "]":
            ending = _END_OF_OBJECT if sign == "{" else ending
            item = self._value(depth + 1)
            complete = self._ends("]", item)
            if complete:
                items.append(item)
            if self._over and not self._skip_to(ending, complete):
                return items
        self.at += 1
        return items

    def _skip_to(self, ending: re.Pattern[str], complete: bool) -> bool:
        """Continue after the item that is broken here, if its end can be found."""
        end = None if ending in self._without_end else ending.search(self._text, self.at)
        if end is None:
            self._without_end.add(ending)
            return False
        self.at, self._over = end.end(), False
        self.at += self._text[self.at] == ","
        self._lost += not complete
        return True

    def _key(self, sign: str) -> str:
        bare = _KEY.match(self._text, self.at)
        if bare:
            self.at = bare.end()
            key: Any = bare[1]
        else:
            key = self._string() if sign in ('"', "'") else _INCOMPLETE
        self._skip_space()
        if key is _INCOMPLETE or self._text[self.at : self.at + 1] != ":":
            self._over = True
            return ""
        self.at += 1
        return str(key)

    def _string(self) -> Any:
        pattern = _STRING if self._text[self.at] == '"' else _APOSTROPHES
        found = pattern.match(self._text, self.at)
        if found is None:
            self._over = True
            if pattern is _STRING:  # it has no end
                self.at = len(self._text)
            return _INCOMPLETE
        self.at = found.end()
        try:
            return json.loads('"' + _ESCAPE.sub(_escape, found[1]) + '"', strict=False)
        except ValueError:
            self._over = True
            return _INCOMPLETE

    def _word(self) -> Any:
        """Return a number, or a constant of JSON or Python."""
        found = _WORD.match(self._text, self.at)
        word = found[0] if found else ""
        self.at = found.end() if found else self.at
        try:
            whole = self.at < len(self._text)  # a number at the end of the text may lack digits
            value = _WORDS[word.lower()] if word.lower() in _WORDS else _DECODER.decode(word)
        except ValueError:
            whole = False
        self._over = self._over or not whole
        if not whole:
            return _INCOMPLETE
        return NoNumber() if isinstance(value, float) and math.isnan(value) else value

    def _ends(self, closing: str, value: Any) -> bool:
        """Skip the comma after a value; return whether the value is complete.

        Over if neither a comma nor an end follows: then a string may go on after a quotation mark.
        """
        if self._over:
            return False
        before = self.at
        self._skip_space()
        sign = self._text[self.at : self.at + 1]
        new_line = "\n" in self._text[before : self.at]
        self.at += sign == ","
        ends = sign in (",", closing) or new_line or (isinstance(value, dict) and sign == "{")
        self._over = not (sign and ends)
        return ends or not sign or isinstance(value, dict | list)

    def _sign(self) -> str:
        """Return the next sign that is neither space nor comment; "" and over at the end."""
        self._skip_space()
        if self.at >= len(self._text):
            self._over = True
        return self._text[self.at : self.at + 1]

    def _skip_space(self) -> None:
        found = _SPACE.match(self._text, self.at)
        self.at = found.end() if found else self.at


def _joined(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of some pairs; lists of one name become one."""
    value = dict[str, Any]()
    for name, one in pairs:
        if name not in value or value[name] == one:
            value[name] = one
        elif isinstance(value[name], list) and isinstance(one, list):
            value[name].extend(one)
        else:
            value[name] = FieldTwice()
    return value


def _escape(found: re.Match[str]) -> str:
    """Return an escape of JSON as it is, of any other the character alone."""
    return found[0] if found[1] in '"\\/bfnrtu' else found[1]


def _integer(digits: str) -> Any:
    return int(digits) if len(digits) <= MAX_DIGITS else NoNumber()


def _number(digits: str) -> Any:
    value = float(digits)
    return value if math.isfinite(value) else NoNumber()


def _too_deep() -> BadAnswerError:
    return BadAnswerError("it is nested too deeply")


_DECODER = json.JSONDecoder(
    strict=False,  # line breaks within strings
    parse_constant=lambda name: NoNumber(),
    parse_int=_integer,
    parse_float=_number,
    object_pairs_hook=_joined,
)
