"""JSON that is read piece by piece: one element of a list at a time, never a whole file."""

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Step = TypeVar("Step")

MOST_CHARS = 64_000_000  # characters of one value
_CHUNK = 64_000
_decode = json.JSONDecoder().raw_decode


class JsonReader:
    """Reads values, lists and objects from a text, in order.

    Each method raises ``ValueError`` where the text is not JSON, and where it ends too soon.
    """

    def __init__(self, read: Callable[[int], str]) -> None:
        """Read from a function that returns at most so many characters; "" at the end."""
        self._read = read
        self._text, self._at = "", 0

    def peek(self) -> str:
        """Return the next character that is no white space; "" at the end."""
        while True:
            while self._at < len(self._text):
                if not self._text[self._at].isspace():
                    return self._text[self._at]
                self._at += 1
            if not self._fill():
                return ""

    def value(self) -> Any:
        """Return the next value, whatever it is."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._fill():
                    continue
                raise ValueError(f"not JSON: {error.msg}") from None
            except RecursionError:
                raise ValueError("not JSON that can be read: it is nested too deeply") from None
            if end == len(self._text) and self._fill():
                continue  # a number may go on
            self._at = end
            return value

    def elements(self) -> Iterator[None]:
        """Step through a list: each element must be consumed before the next step."""
        yield from self._steps("[", "]", lambda: None)

    def members(self) -> Iterator[str]:
        """Step through an object by its keys; each value must be consumed before the next step."""
        yield from self._steps("{", "}", self._key)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield every object of the outermost lists, and every outermost object."""
        while start := self.peek():
            if start == "[":
                for _ in self.elements():
                    row = self.value()
                    if isinstance(row, dict):
                        yield row
            else:
                row = self.value()
                if isinstance(row, dict):
                    yield row

    def _steps(self, opening: str, closing: str, step: Callable[[], Step]) -> Iterator[Step]:
        self._take(opening)
        if self.peek() == closing:
            return self._take(closing)
        while True:
            yield step()
            if self.peek() != ",":
                return self._take(closing)
            self._take(",")

    def _key(self) -> str:
        key = self.value()
        self._take(":")
        return str(key)

    def _take(self, sign: str) -> None:
        if (found := self.peek()) != sign:
            raise ValueError(f"not JSON: {sign!r} is missing" + ("" if found else " at the end"))
        self._at += 1

    def _fill(self) -> bool:
        """Read more, at least as much as is still unread; return False at the end."""
        left = len(self._text) - self._at
        if left > MOST_CHARS:
            raise ValueError(f"one value is longer than {MOST_CHARS:,} characters")
        more = self._read(max(_CHUNK, left))
        if more:
            self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)
